"""A check as a whole: what was asked for, what was found, and how it ends."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pagedkv.conformance.campaign.campaign import Exit, Finding, Verdict
from pagedkv.conformance.campaign.expectations import Expectation
from pagedkv.conformance.campaign.faults import Fault
from pagedkv.conformance.subjects import Subject

from .mixes import Row, at_zero, rows


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
    each_mix_must_show: tuple[str, ...] = ()
    """Columns of the table of mixes that may not be 0 in any."""

    @property
    def expected(self) -> list[Finding]:
        """Faults that a line expects."""
        return [finding for finding in self.verdict.findings.values() if finding.expected]

    @property
    def mixes(self) -> Mapping[str, Row]:
        """The table of mixes."""
        return rows(self.subject, self.verdict)

    @property
    def came_to_its_end(self) -> bool:
        """Whether all operations were done; a check that stopped before owes nothing."""
        return not (self.verdict.was_interrupted or self.stopped)

    @property
    def behaviours_not_shown(self) -> tuple[str, ...]:
        """Behaviours that had to be shown and were not."""
        owed = self.must_show if self.came_to_its_end else ()
        return tuple(behaviour for behaviour in owed if not self.verdict.shown[behaviour])

    @property
    def mixes_not_shown(self) -> Mapping[str, Sequence[str]]:
        """By column of the table the mixes that had to show it and have not."""
        return at_zero(self.mixes, self.each_mix_must_show if self.came_to_its_end else ())

    @property
    def not_shown(self) -> tuple[str, ...]:
        """All that had to be shown and was not."""
        of_mixes = (f"{column} with {mix}" for column, mixes in self.mixes_not_shown.items() for mix in mixes)
        return (*self.behaviours_not_shown, *of_mixes)

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
