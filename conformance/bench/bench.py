"""All that one run measures."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from .candidate import Candidate, WrongAnswer
from .candidates import Against
from .cases import ALL_CASES, Case
from .memory import Memory, memory_of
from .timing import WARM_UP, CaseResult, measure

MEMORY = "memory"
"""The name of the case that takes no time but bytes."""
MEMORY_EFFORT = 200_000
"""About as many units as are timed while the memory of one candidate is measured."""

Progress = Callable[[str, int], None]
"""Told what is being measured, and how many units of effort were just spent."""
Found = Callable[[CaseResult | tuple[Memory, ...]], None]
"""Told each part of the result when it is there."""


@dataclass(frozen=True)
class Asked:
    """What is to be measured."""

    against: Against
    device: str
    rounds: int
    cases: tuple[Case, ...]
    with_memory: bool

    def effort(self, candidates: Sequence[Candidate]) -> int:
        """Units of effort that it takes, about."""
        units = sum(case.units for case in self.cases) * (WARM_UP + self.rounds)
        return units + len(_unlike(candidates)) * MEMORY_EFFORT * self.with_memory


@dataclass
class Result:
    """What was measured until the end, or until it stopped."""

    cases: list[CaseResult] = field(default_factory=list)
    memory: tuple[Memory, ...] = ()
    stopped: Literal["interrupted", "wrong answer"] | None = None
    wrong_answer: str = ""
    """Where candidates disagree."""


def names_of_cases() -> tuple[str, ...]:
    """All that `--case` can name: cases, and families such as ``decode`` for ``decode-64`` and its like."""
    names = [case.name for case in ALL_CASES]
    return tuple(dict.fromkeys([*(name.partition("-")[0] for name in names), *names, MEMORY]))


def cases_named(names: Sequence[str]) -> tuple[Case, ...]:
    """The timed cases that go by one of these names, in their own order; all without any name."""
    return tuple(
        case for case in ALL_CASES if not names or {case.name, case.name.partition("-")[0]} & {*names}
    )


def bench(asked: Asked, candidates: Sequence[Candidate], progress: Progress, found: Found) -> Result:
    """Measure what is asked on the candidates, of which the first is the base.

    Ends early, and says so in the result, at an interrupt and where candidates answer different blocks.
    """
    result = Result()
    try:
        for case in asked.cases:
            result.cases.append(_timed(case, candidates, asked.rounds, progress))
            found(result.cases[-1])
        if asked.with_memory:
            result.memory = _footprints(candidates, asked.device, progress)
            found(result.memory)
    except KeyboardInterrupt:
        result.stopped = "interrupted"
    except WrongAnswer as error:
        result.stopped, result.wrong_answer = "wrong answer", str(error)
    return result


def _timed(case: Case, candidates: Sequence[Candidate], rounds: int, progress: Progress) -> CaseResult:
    progress(case.name, 0)
    fitting = [candidate for candidate in candidates if case.has_batch or not candidate.is_batched]
    return measure(case, fitting, rounds, lambda: progress(case.name, case.units))


def _footprints(candidates: Sequence[Candidate], device: str, progress: Progress) -> tuple[Memory, ...]:
    memory: tuple[Memory, ...] = ()
    for candidate in _unlike(candidates):
        progress(f"{MEMORY} of {candidate.name}", 0)
        memory += (memory_of(candidate.name, device),)
        progress(f"{MEMORY} of {candidate.name}", MEMORY_EFFORT)
    return memory


def _unlike(candidates: Sequence[Candidate]) -> list[Candidate]:
    """One candidate for each manager: how it is called makes no difference to what it holds."""
    return [candidate for candidate in candidates if not candidate.is_batched]
