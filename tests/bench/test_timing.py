"""Ratios point the right way, candidates take turns, and only the operation itself is timed."""

import gc
from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import pairwise
from time import sleep
from typing import Any

import pytest

from pagedkv.conformance.bench import timing as timing_module
from pagedkv.conformance.bench.candidate import Candidate
from pagedkv.conformance.bench.cases import Answer, Case
from pagedkv.conformance.bench.timing import WARM_UP, measure
from pagedkv.reference import KVCacheManager

from .sides import DECODE, MODEL, Batched, variant

SLOW = 0.002


class Slow(KVCacheManager):
    """Takes its time for every pass."""

    def new_step_starts(self) -> None:
        sleep(20 * SLOW)
        super().new_step_starts()


class Probe:
    """A load that does what it is told, where it is told."""

    def __init__(self, candidate: Candidate, rounds: int, seen: list[tuple[str, str]]) -> None:
        self.name, self.seen, self.rounds = candidate.name, seen, rounds

    def settled(self) -> Answer:
        return {}

    def prepare(self, number: int) -> None:
        sleep(SLOW)
        self.seen.append(("prepare", self.name))

    def run(self) -> Any:
        self.seen.append(("run", self.name))
        return gc.isenabled()

    def answer(self, result: Any) -> Answer:
        sleep(SLOW)
        return {"garbage is collected": (int(result),)}


def probe(seen: list[tuple[str, str]]) -> Case:
    return Case("probe", "nothing", "thing", 1, partial(Probe, seen=seen))


def test_a_slower_candidate_has_a_ratio_below_one() -> None:
    base, slow = measure(DECODE, [MODEL, variant("slow", Slow)], 5).timings
    assert (base.candidate, slow.candidate) == (MODEL.name, "slow")
    assert base.ratio.median == base.ratio.lower_quartile == base.ratio.upper_quartile == 1
    assert slow.ratio.lower_quartile <= slow.ratio.median <= slow.ratio.upper_quartile < 1
    assert slow.microseconds.median > 20 * SLOW * 1e6


def test_a_faster_candidate_has_a_ratio_above_one() -> None:
    _, fast = measure(DECODE, [variant("slow", Slow), MODEL], 5).timings
    assert fast.ratio.lower_quartile > 1


def test_all_candidates_are_measured_by_pairs_of_one_round() -> None:
    result = measure(DECODE, [MODEL, variant("batch", Batched, is_batched=True)], 3)
    assert [timing.candidate for timing in result.timings] == [MODEL.name, "batch"]
    assert result.case is DECODE


def test_candidates_take_turns() -> None:
    seen: list[tuple[str, str]] = []
    names = ["a", "b", "c"]
    rounds = 2 * len(names) * 2 - WARM_UP
    measure(probe(seen), [replace(MODEL, name=name) for name in names], rounds)
    order = [name for what, name in seen if what == "run"]
    by_round = [order[i : i + 3] for i in range(0, len(order), 3)]
    assert len(by_round) == WARM_UP + rounds
    assert all(sorted(names_of_round) == names for names_of_round in by_round)
    assert set(Counter(names_of_round[0] for names_of_round in by_round).values()) == {4}
    followers = Counter(pair for names_of_round in by_round for pair in pairwise(names_of_round))
    assert set(followers) == {(x, y) for x in names for y in names if x != y}
    assert set(followers.values()) == {4}


def test_preparation_and_comparison_are_not_timed() -> None:
    seen: list[tuple[str, str]] = []
    (timing,) = measure(probe(seen), [MODEL], 5).timings
    assert timing.microseconds.median < SLOW * 1e6 / 4
    assert [what for what, _ in seen] == ["prepare", "run"] * (WARM_UP + 5)


def test_what_is_pending_after_the_operation_is_timed() -> None:
    (timing,) = measure(probe([]), [replace(MODEL, synchronise=lambda: sleep(SLOW))], 5).timings
    assert SLOW * 1e6 <= timing.microseconds.lower_quartile < 2 * SLOW * 1e6


def test_warm_up_does_not_count() -> None:
    left = 2 * WARM_UP * [20 * SLOW]  # it is asked before and after an operation
    candidate = replace(MODEL, synchronise=lambda: sleep(left.pop() if left else 0))
    (timing,) = measure(probe([]), [candidate], 3).timings
    assert timing.microseconds.upper_quartile < SLOW * 1e6


@pytest.mark.parametrize("enabled", [True, False])
def test_garbage_is_not_collected_meanwhile_and_as_before_afterwards(enabled: bool) -> None:
    collected: list[int] = []

    class Asking(Probe):
        def answer(self, result: Any) -> Answer:
            collected.append(result)
            return {}

    case = Case("asking", "nothing", "thing", 1, partial(Asking, seen=[]))
    was_enabled = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        measure(case, [MODEL], 3)
        assert gc.isenabled() is enabled
    finally:
        (gc.enable if was_enabled else gc.disable)()
    assert set(collected) == {False}
    assert gc.get_freeze_count() == 0


def test_a_case_that_takes_long_is_content_with_few_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing_module, "PATIENCE", 0.0)
    seen: list[tuple[str, str]] = []
    assert measure(probe(seen), [MODEL], 10).rounds == timing_module.FEWEST
    assert len(seen) == 2 * (WARM_UP + timing_module.FEWEST)
    monkeypatch.setattr(timing_module, "PATIENCE", 60.0)
    assert measure(probe([]), [MODEL], 10).rounds == 10


def test_progress_is_told_of_every_round() -> None:
    told: list[None] = []
    measure(probe([]), [MODEL], 4, lambda: told.append(None))
    assert len(told) == WARM_UP + 4
