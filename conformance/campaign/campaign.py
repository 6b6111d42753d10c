"""A check of a subject: runs until the budget is spent, and a verdict."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from random import SystemRandom

from pagedkv.conformance.subjects import Subject
from pagedkv.conformance.worlds import mix_of

from .children import ChildFailed, Plan, play_in_children
from .expectations import Avoided, Expectation
from .faults import Fault, fault_of
from .mixes import OfMix
from .runs import Run
from .shrinker import Shrinker
from .turns import untaken


class Exit(IntEnum):
    """How a check ends."""

    FOUND_NOTHING = 0
    FOUND_FAULTS = 1
    COULD_NOT_RUN = 2
    INTERRUPTED = 130


PROFILES = {"quick": 5_000, "ci": 60_000, "deep": 1_000_000}
"""Operations, which are calls on the subject, per profile."""


@dataclass
class Finding:
    """A distinct fault and its smallest run."""

    fault: Fault
    run: Run
    number: int
    """The run of the campaign that this one was made from."""
    found_in: int
    """Moves of the shortest run that has shown it, before it was made smaller."""
    times: int = 1
    expected: Expectation | None = None
    is_minimal: bool = False
    """Whether the run was made smaller; one that ends its process is kept as it was."""


@dataclass
class Verdict:
    """What a check found."""

    operations: int = 0
    runs: int = 0
    findings: dict[Fault, Finding] = field(default_factory=dict)
    shown: Counter[str] = field(default_factory=Counter)
    mixes: dict[str, OfMix] = field(default_factory=dict)
    """What was seen of each mix that took turns."""
    untaken: dict[str, str] = field(default_factory=dict)
    """Mixes of which no world is for the subject, each with a reason."""
    unmatched: tuple[Expectation, ...] = ()
    """Expectations that no run has met, and whose fault was not left out either."""
    was_interrupted: bool = False

    @property
    def unexpected(self) -> list[Finding]:
        """Faults that no line expects."""
        return [finding for finding in self.findings.values() if finding.expected is None]

    @property
    def masked_runs(self) -> int:
        """Runs that a known fault has ended."""
        return sum(finding.times for finding in self.findings.values() if finding.expected)

    @property
    def exit_code(self) -> Exit:
        """What the process answers."""
        if self.was_interrupted:
            return Exit.INTERRUPTED
        return Exit.FOUND_FAULTS if self.unexpected else Exit.FOUND_NOTHING


def check(
    subject: Subject,
    budget: int,
    seed: int,
    mixes: Sequence[str],
    expectations: Sequence[Expectation] = (),
    jobs: int = 2,
    seconds_per_move: float = 10.0,
    progress: Callable[[Verdict], None] = lambda verdict: None,
) -> Verdict:
    """Judge the subject over at least ``budget`` operations.

    The runs are a function of seed, mixes and what is left out; ``jobs`` changes nothing but the time. Mixes
    take turns. An interrupt ends it with what was found. Raises ``ChildFailed`` when no run can be played.
    """
    avoided = Avoided.by(expectations)
    verdict = Verdict(untaken=untaken(subject, mixes, avoided))
    verdict.mixes = {mix: OfMix() for mix in mixes if mix not in verdict.untaken}
    if not verdict.mixes:
        told = "; ".join(f"{mix}: {reason}" for mix, reason in verdict.untaken.items())
        raise ChildFailed(f"{subject.name} takes no world of {told}")
    plan = Plan(subject.name, seed, tuple(verdict.mixes), avoided, seconds_per_move)
    runs = play_in_children(plan, jobs)
    # It is started anew after a run that took it down; importing an engine takes its time.
    shrinker = Shrinker(subject.name, 30 * seconds_per_move)
    try:
        for number, run in runs:
            verdict.runs += 1
            verdict.operations += run.operations
            verdict.shown.update(run.shown)
            verdict.mixes[mix_of(run.world)].add(run)
            if run.breaches:
                _add(verdict, shrinker, run, number, expectations)
            progress(verdict)
            if verdict.operations >= budget:
                break
    except KeyboardInterrupt:
        verdict.was_interrupted = True
    finally:
        runs.close()
        shrinker.stop()
    matched = {finding.expected for finding in verdict.findings.values()}
    verdict.unmatched = tuple(line for line in expectations if line not in matched and not line.avoid)
    return verdict


def random_seed() -> int:
    """A seed nobody chose."""
    return SystemRandom().randrange(2**32)


def _add(
    verdict: Verdict, shrinker: Shrinker, run: Run, number: int, expectations: Sequence[Expectation]
) -> None:
    fault = fault_of(run)
    known = verdict.findings.get(fault)
    if known:
        known.times += 1
        if not run.outcomes or len(run.moves) >= known.found_in:
            return
    else:
        expected = next((line for line in expectations if line.matches(fault)), None)
        # First as it is: whoever interrupts the search for a smaller one keeps it.
        known = verdict.findings[fault] = Finding(fault, run, number, len(run.moves), expected=expected)
    # A run that ended its process would do so again.
    if run.outcomes:
        smaller = shrinker.smallest(run)
        known.found_in = len(run.moves)
        if smaller and (not known.is_minimal or len(smaller.moves) < len(known.run.moves)):
            known.run, known.number, known.is_minimal = smaller, number, True
