"""A check as a whole: what was asked for, what was found, and how it ends."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pagedkv.conformance.campaign.campaign import Exit, Finding, Verdict
from pagedkv.conformance.campaign.expectations import Expectation
from pagedkv.conformance.campaign.faults import Fault
from pagedkv.conformance.subjects import Subject


@dataclass(frozen=True)
class Asked:
    """What a check was asked for."""

    profile: str
    operations: int
    """Calls on the subject, at least."""
    seed: int
    mixes: tuple[str, ...]
    expectations: tuple[Expectation, ...]
    jobs: int
    seconds_per_operation: float


@dataclass(frozen=True)
class Report:
    """A check that has ended."""

    subject: Subject
    asked: Asked
    verdict: Verdict
    seconds: float
    must_show: tuple[str, ...]
    """Behaviours without which the check has not judged the subject."""
    refused: Mapping[str, int]
    """Why worlds were left out for this subject, and how many."""
    traces: Mapping[Fault, Path]
    """Where the trace of each fault is or will be."""
    stopped: str = ""
    """Why no further run could be played before the operations were done."""

    @property
    def expected(self) -> list[Finding]:
        """Faults that a line expects."""
        return [finding for finding in self.verdict.findings.values() if finding.expected]

    @property
    def not_shown(self) -> tuple[str, ...]:
        """Behaviours that had to be shown and were not. A check that did not come to its end owes nothing."""
        if self.verdict.was_interrupted or self.stopped:
            return ()
        return tuple(behaviour for behaviour in self.must_show if not self.verdict.shown[behaviour])

    @property
    def is_mostly_masked(self) -> bool:
        """Whether known faults have ended more than half of the runs."""
        return 2 * self.verdict.masked_runs > self.verdict.runs

    @property
    def exit_code(self) -> Exit:
        """What the process answers."""
        if self.stopped:
            return Exit.COULD_NOT_RUN
        code = self.verdict.exit_code
        return Exit.FOUND_FAULTS if code is Exit.FOUND_NOTHING and self.not_shown else code
