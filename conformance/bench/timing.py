"""Rounds in which candidates take turns."""

import gc
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from statistics import quantiles
from time import monotonic, perf_counter_ns
from typing import Self

from .candidate import Candidate, WrongAnswer
from .cases import Answer, Case, Load
from .workload import Ids

WARM_UP = 3
"""Rounds before those that count."""
FEWEST = 3
"""Rounds that count however long they take."""
PATIENCE = 20.0
"""Seconds of rounds after which a case is content with those it has."""


@dataclass(frozen=True)
class Spread:
    """The middle of some values, and the middle of the halves below and above."""

    median: float
    lower_quartile: float
    upper_quartile: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Self:
        """The spread of two values or more."""
        lower, median, upper = quantiles(values, n=4, method="inclusive")
        return cls(median, lower, upper)


@dataclass(frozen=True)
class Timing:
    """What one candidate took for the operation of a case."""

    candidate: str
    microseconds: Spread
    """Of one operation, all units of it together."""
    ratio: Spread
    """Time of the base divided by its own, round by round: above 1 where it is faster than the base."""


@dataclass(frozen=True)
class CaseResult:
    """A case, with the base first."""

    case: Case
    rounds: int
    """How many counted."""
    timings: tuple[Timing, ...]


def measure(
    case: Case, candidates: Sequence[Candidate], rounds: int, progress: Callable[[], None] = lambda: None
) -> CaseResult:
    """Time a case on all candidates in turn, the first being the base; ``progress`` is told of each round.

    At most ``rounds`` count; where they take long, fewer do. Raises ``WrongAnswer`` where one answers other
    blocks than the base.
    """
    number_of_rounds = WARM_UP + rounds
    loads = [case.set_up(candidate, number_of_rounds) for candidate in candidates]
    _compare(case, "before the first round", candidates, [load.settled() for load in loads])
    times: list[list[int]] = []
    with _quiet():
        began = monotonic()
        for number in range(number_of_rounds):
            spent = [0] * len(loads)
            answers: list[Answer] = [{}] * len(loads)
            for i in _order(len(loads), number):
                spent[i], answers[i] = _timed(candidates[i], loads[i], number)
            _compare(case, f"round {number + 1}", candidates, answers)
            times.append(spent)
            progress()
            if monotonic() - began > PATIENCE and len(times) >= WARM_UP + FEWEST:
                break
    return CaseResult(case, len(times) - WARM_UP, _timings(candidates, times[WARM_UP:]))


def _timed(candidate: Candidate, load: Load, number: int) -> tuple[int, Answer]:
    """Nanoseconds of one round, and its answer."""
    load.prepare(number)
    candidate.synchronise()
    start = perf_counter_ns()
    result = load.run()
    candidate.synchronise()
    end = perf_counter_ns()
    return end - start, load.answer(result)


def _order(count: int, number: int) -> list[int]:
    """Each is first as often as the others, and comes after its neighbour as often as before it."""
    turned = [(i + number) % count for i in range(count)]
    return turned[::-1] if number // count % 2 else turned


@contextmanager
def _quiet() -> Iterator[None]:
    """Nothing runs in here but what is timed: no collection of garbage, no second thread of torch."""
    was_enabled = gc.isenabled()
    gc.collect()
    gc.freeze()
    gc.disable()
    torch = sys.modules.get("torch")
    threads = torch.get_num_threads() if torch else 1
    if torch:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        if torch:
            torch.set_num_threads(threads)
        gc.unfreeze()
        if was_enabled:
            gc.enable()


def _timings(candidates: Sequence[Candidate], times: Sequence[Sequence[int]]) -> tuple[Timing, ...]:
    return tuple(
        Timing(
            candidate.name,
            Spread.of([spent[i] / 1000 for spent in times]),
            Spread.of([spent[0] / spent[i] for spent in times]),
        )
        for i, candidate in enumerate(candidates)
    )


def _compare(case: Case, when: str, candidates: Sequence[Candidate], answers: Sequence[Answer]) -> None:
    base, expected = candidates[0], answers[0]
    for candidate, answer in zip(candidates[1:], answers[1:], strict=True):
        for name in {**expected, **answer} if answer != expected else ():
            where, left, right = _first_difference(expected.get(name), answer.get(name))
            if left != right:
                sides = f"{candidate.name} has {right} and {base.name} {left}"
                raise WrongAnswer(f"{case.name}, {when}: at {name}{where} {sides}")


def _first_difference(expected: Ids, got: Ids) -> tuple[str, str, str]:
    """Where two answers first differ, and what is there in each; the same twice if they do not."""
    if expected is None or got is None:
        return "", _in_words(expected), _in_words(got)
    pairs = zip_longest(map(str, expected), map(str, got), fillvalue="no more")
    for i, (left, right) in enumerate(pairs):
        if left != right:
            return f"[{i}]", left, right
    return "", "", ""


def _in_words(ids: Ids) -> str:
    return "no answer" if ids is None else f"blocks {list(ids)}"
