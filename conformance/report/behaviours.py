"""Which behaviours a check must have shown before it may say that it found nothing."""

from collections.abc import Mapping, Sequence

from pagedkv.conformance import coverage
from pagedkv.conformance.campaign.expectations import Avoided
from pagedkv.conformance.subjects import Subject
from pagedkv.conformance.worlds import MIXES

_NEEDS: Mapping[str, str] = {
    coverage.WITHDRAWN: "withdraw",
    coverage.WITHDRAWN_KEYS: "withdraw",
    coverage.CONTINUED: "continue",
    coverage.DIVERGENT: "divergent lookup",
    coverage.TRUNCATION: "truncate",
    coverage.TRUNCATION_REFUSED: "truncate",
    coverage.EVICT: "evict",
    coverage.RESET: "reset",
    coverage.RESET_REFUSED: "reset",
    coverage.STORED_AND_REMOVED: "events",
}
"""The capability without which a behaviour cannot occur."""


def must_be_shown(subject: Subject, mixes: Sequence[str], avoided: Avoided) -> tuple[str, ...]:
    """The behaviours that runs over all mixes must show of a subject that is to be equal to the reference.

    None where mixes are left out: which behaviours another choice can show is not known here.
    """
    if subject.strictness != "exact" or set(mixes) != set(MIXES):
        return ()
    off = {*subject.missing, *avoided.names}
    return tuple(behaviour for behaviour in coverage.ALL if _NEEDS.get(behaviour) not in off)


def are_counted(subject: Subject) -> bool:
    """Whether behaviours can be seen at all: they are read off the states that a subject tells."""
    return "state" not in subject.missing
