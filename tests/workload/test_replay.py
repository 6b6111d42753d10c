"""What a replay counts, and what it finds."""

from typing import Any

import pytest

from examples.own_manager import OwnManager
from pagedkv.conformance.loop import LoopState, apply_move
from pagedkv.conformance.own import subject_of_factory
from pagedkv.conformance.scheduling.service import Service
from pagedkv.conformance.subject_names import subject_named
from pagedkv.conformance.subjects import Subject, make_reference, reference
from pagedkv.conformance.workload.arrivals import serve_all
from pagedkv.conformance.workload.figures import Counting
from pagedkv.conformance.workload.replay import Replay, replay_requests
from pagedkv.conformance.workload.sample import Sample
from pagedkv.invariants.view import Transition
from pagedkv.reference import KVCacheBlocks, KVCacheManager
from pagedkv.spec import KVCacheBlockCopy, Request, World
from pagedkv.spec.clauses import allocation, freeing, hit, worker
from pagedkv.spec.moves import Admit, EndPass, Finish, Move, Schedule, Submit
from pagedkv.spec.outcomes import Allocated, Outcome
from tests.conformance.planted import Blind, planted

from .build import asking, hits_of_one_after_the_other, made, world

HYBRID = {"groups": "full:256,mamba:512", "unit": 64}
TIGHT: tuple[dict[str, Any], ...] = (
    {"groups": "full:512", "unit": 512, "blocks": 20},
    {"groups": "full:128", "unit": 64, "blocks": 90, "budget": 1000},
    {**HYBRID, "blocks": 45, "budget": 2048},
    {"groups": "full:64,full:128,mamba:256", "unit": 64, "blocks": 180, "budget": 700},
    {"groups": "mamba:512", "unit": 512, "blocks": 16},
)


def replayed(
    subject: Subject, made_for: World, every: int | None, max_running: int = 6, **options: Any
) -> Replay:
    """A replay in which requests arrive as soon as they may run."""
    return replay_requests(made_for, subject, None, max_running, every, **options)


@pytest.mark.parametrize("seed", range(3))
def test_one_after_the_other_hits_what_the_ids_say(seed: int) -> None:
    requests = made(40, seed)
    replay = replayed(reference(), world(requests), None, max_running=1)
    expected = hits_of_one_after_the_other(requests)
    assert expected > 10_000
    assert replay.figures.hit_tokens == expected
    assert replay.figures.prompt_tokens == sum(request.input_length for request in requests)
    assert replay.figures.output_tokens == sum(request.output_length for request in requests)
    assert (replay.figures.requests, replay.figures.evictions, replay.figures.preemptions) == (40, 0, 0)


@pytest.mark.parametrize("deployment", TIGHT, ids=lambda d: d["groups"])
def test_the_figures_are_what_snapshots_of_every_move_show(deployment: dict[str, Any]) -> None:
    small = world(made(20), **deployment)
    state = LoopState.start(small, make_reference(small), has_worker=False)
    counting = Counting(state)
    evicted = peak = copies = partial = 0

    def play(move: Move) -> Outcome:
        nonlocal evicted, peak, copies, partial
        before = state.instance.snapshot()
        outcome, _ = apply_move(state, move)
        counting.count(move, outcome)
        after = state.instance.snapshot()
        assert before is not None
        assert after is not None
        if isinstance(outcome, Allocated) and outcome.rows is not None:
            hits = {block for row in outcome.found.rows for block in row} if outcome.found else set()
            taken = {*before.queue} - {*after.queue} - hits
            evicted += sum(bool(before.keys[block]) for block in taken)
            peak = max(peak, small.num_blocks - 1 - len(after.queue))
            copies += len(after.copies) - len(before.copies)
            partial += bool(
                isinstance(move, Admit) and len(after.copies) > len(before.copies) and outcome.found
            )
        return outcome

    serve_all(Service(state, play, 6), len(small.prompts), None, 6)
    figures = counting.figures
    assert (figures.evictions, figures.peak_blocks) == (evicted, peak)
    assert (figures.copies, figures.partial_hits) == (copies, partial)
    assert evicted > 0


def test_partial_hits_preemptions_and_hand_offs_are_counted() -> None:
    figures = replayed(reference(), world(made(40), **TIGHT[2]), None, max_running=20).figures
    assert figures.partial_hits > 0
    assert figures.preemptions > 0
    assert figures.hand_offs > 0
    assert figures.copies >= figures.partial_hits + figures.hand_offs


def test_no_clause_breaks_and_judging_changes_no_figure() -> None:
    small = world(made(12), **TIGHT[2])
    counted = replayed(reference(), small, None)
    judged = replayed(reference(), small, 1)
    assert counted.breaches == judged.breaches == ()
    assert counted.figures == judged.figures
    assert (counted.checked, judged.checked) == (0, judged.figures.moves)


def test_the_torch_manager_has_the_same_figures() -> None:
    pytest.importorskip("torch")
    small = world(made(5), **TIGHT[2])
    one, other = (replayed(subject_named(name), small, 50) for name in ("reference", "impl"))
    assert one.breaches == other.breaches == ()
    assert one.figures == other.figures


def test_every_nth_move_is_judged_as_if_all_were() -> None:
    small = world(made(8), **TIGHT[2])

    def sampled(every: int) -> list[Transition | None]:
        state = LoopState.start(small, make_reference(small))
        sample = Sample(state, every)
        taken = []

        def play(move: Move) -> Outcome:
            sample.before(move)
            outcome, _ = apply_move(state, move)
            taken.append(sample.after(move, outcome))
            return outcome

        serve_all(Service(state, play, 4), len(small.prompts), None, 4)
        return taken

    everything = sampled(1)
    for t in everything:
        assert t is not None
        assert (t.pass_began is None) == isinstance(t.move, (Submit, Finish))
    for every in (7, 29):
        expected = [t if i % every == 0 else None for i, t in enumerate(everything, 1)]
        assert sampled(every) == expected


def test_claims_are_checked_after_passes_with_a_judged_move_only() -> None:
    small = world(made(4), **TIGHT[2])
    state = LoopState.start(small, make_reference(small))
    sample = Sample(state, 11)
    number, is_due, checked = 0, False, []

    def play(move: Move) -> Outcome:
        nonlocal number, is_due
        number += 1
        is_due |= number % 11 == 0
        sample.before(move)
        if isinstance(move, EndPass):
            checked.append(state.checks_claims)
            assert state.checks_claims == is_due
            is_due = False
        outcome, _ = apply_move(state, move)
        sample.after(move, outcome)
        return outcome

    serve_all(Service(state, play, 4), len(small.prompts), None, 4)
    assert 0 < sum(checked) < len(checked)


class TurnsCopiesRound(KVCacheManager):
    """Has the worker copy from the private block."""

    def take_kv_cache_block_copies(self) -> tuple[list[KVCacheBlockCopy], list[Any]]:
        """Drain the copies, and name the destinations as sources."""
        copies, retained = super().take_kv_cache_block_copies()
        return [KVCacheBlockCopy(copy.dst_block_id, copy.src_block_id) for copy in copies], retained


class NeverServes(KVCacheManager):
    """Has no room."""

    def allocate_slots(self, *args: Any, **kwargs: Any) -> KVCacheBlocks | None:
        """Answer None."""
        return None


class NoRoomToGoOn(KVCacheManager):
    """Has no room for those that run."""

    def allocate_slots(self, request: Request, *args: Any, **kwargs: Any) -> KVCacheBlocks | None:
        """Answer None but to the first call of a request."""
        return None if request.num_computed_tokens else super().allocate_slots(request, *args, **kwargs)


class Raises(KVCacheManager):
    """Cannot free."""

    def free(self, request: Request, withdraw: bool = False) -> None:
        """Raise."""
        raise RuntimeError("no free today")


class Unseen(KVCacheManager):
    """Cannot be looked into."""

    def snapshot(self) -> Any:
        """Raise."""
        raise AssertionError("a snapshot was taken")


def test_a_broken_law_ends_the_replay_with_its_move() -> None:
    replay = replayed(planted(Blind), world(made(20), blocks=200), 1, max_running=1)
    assert replay.breaches[0].clause == hit.LONGEST
    assert isinstance(replay.move, Admit)
    assert replay.figures.moves == replay.checked > 10
    assert replay.figures.requests < 20


def test_the_worker_reads_in_every_pass_however_rarely_the_laws_are_asked() -> None:
    small = world(made(40), **TIGHT[2])
    replay = replayed(planted(TurnsCopiesRound), small, 10**6)
    assert replay.breaches[0].clause == worker.READS_ITS_PREFIX
    assert isinstance(replay.move, EndPass)
    assert replay.checked == 0
    assert replayed(planted(TurnsCopiesRound), small, None).breaches == ()


def test_without_laws_no_snapshot_is_taken() -> None:
    small = world(made(5), **TIGHT[2])
    assert replayed(planted(Unseen), small, None).breaches == ()
    assert replayed(planted(Unseen), small, 1).breaches[0].because.endswith("a snapshot was taken")


@pytest.mark.parametrize(("manager", "move"), [(NeverServes, Admit), (NoRoomToGoOn, Schedule)])
def test_whoever_refuses_one_that_is_alone_is_wrong(
    manager: type[KVCacheManager], move: type[Admit | Schedule]
) -> None:
    replay = replayed(planted(manager), world(made(5)), None)
    assert replay.breaches[0].clause == allocation.PREDICTION_IS_EXACT
    assert isinstance(replay.move, move)


def test_a_hit_that_does_not_fit_beside_its_copy_may_be_refused() -> None:
    requests = (asking(1000, 2, 1, 2), asking(1000, 2, 1, 2))
    full_pool = world(requests, "full:512,full:512,mamba:512", 8, 64)
    replay = replayed(reference(), full_pool, 1, max_running=1)
    assert (replay.breaches, replay.figures.refused, replay.figures.requests) == ((), 1, 2)


def test_an_error_is_a_breach() -> None:
    replay = replayed(planted(Raises), world(made(5)), None)
    assert (replay.breaches[0].clause, replay.breaches[0].because) == (
        freeing.FORGETS_THE_REQUEST,
        "raised RuntimeError: no free today",
    )
    assert isinstance(replay.move, Finish)


def test_an_interrupt_keeps_what_was_counted() -> None:
    def interrupt(replay: Replay) -> None:
        if replay.figures.moves == 100:
            raise KeyboardInterrupt

    replay = replayed(reference(), world(made(20)), None, progress=interrupt)
    assert replay.was_interrupted
    assert replay.figures.moves == 100


def test_what_a_manager_does_not_tell_is_not_counted() -> None:
    replay = replayed(subject_of_factory("own", OwnManager), world(made(20), blocks=60), 50)
    assert replay.breaches == ()
    assert (replay.figures.evictions, replay.figures.peak_blocks) == (None, None)
    assert replay.figures.hit_tokens > 0
