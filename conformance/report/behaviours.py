"""Which behaviours a check must have shown before it may say that it found nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pagedkv.conformance import coverage
from pagedkv.conformance.campaign.expectations import Avoided
from pagedkv.conformance.campaign.mixes import OWED
from pagedkv.conformance.subjects import FIRST_FOUR, Subject
from pagedkv.conformance.worlds import MIXES
from pagedkv.spec.world import PLAIN, Options

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
    coverage.LOAD_INVALID: "evict",
    coverage.STORED_AND_REMOVED: "events",
}
"""The capability without which a behaviour cannot occur."""

_OPTIONS: Mapping[str, Options] = {
    coverage.LOADED_IN_STEP: Options(has_connector=True),
    coverage.LOADED_BEHIND: Options(has_connector=True),
    coverage.LOAD_INVALID: Options(has_connector=True),
    coverage.LOAD_FAILED: Options(has_connector=True),
    coverage.LOAD_FAILED_IN_PART: Options(has_connector=True),
    coverage.PASS_IN_FLIGHT: Options(max_in_flight=1),
    coverage.FREE_WAITED: Options(max_in_flight=1),
    coverage.DRAFT_ACCEPTED: Options(max_drafts=1),
    coverage.DRAFT_REJECTED: Options(max_drafts=1),
    coverage.TOO_LONG: Options(full_sequence_must_fit=True),
    coverage.ZEROED: Options(needs_zeroing=True),
    coverage.LEFT_OUT: Options(retention_interval=0),
    coverage.SENT_AGAIN: Options(resend_boundaries=True),
}
"""What a world has to have for it."""


def must_be_shown(subject: Subject, mixes: Sequence[str], avoided: Avoided) -> tuple[str, ...]:
    """The behaviours that runs over all mixes must show of a subject that is to be equal to the reference.

    None where mixes are left out: which behaviours another choice can show is not known here.
    """
    if not _owes(subject, mixes):
        return ()
    off = {*subject.missing, *avoided.names}
    return tuple(
        behaviour
        for behaviour in coverage.ALL
        if _NEEDS.get(behaviour) not in off
        and not subject.refuses(replace(FIRST_FOUR, options=_OPTIONS.get(behaviour, PLAIN)))
    )


def each_mix_must_show(subject: Subject, mixes: Sequence[str], profile: str) -> tuple[str, ...]:
    """What no mix may have 0 of in runs over all mixes, as columns of the table of mixes.

    All that it can have where there are a million operations; where there are few, only lives: of a handful
    of lives one may well meet no eviction.
    """
    if profile == "quick" or not _owes(subject, mixes):
        return ()
    return OWED if profile == "deep" else ("lives",)


def _owes(subject: Subject, mixes: Sequence[str]) -> bool:
    return subject.strictness == "exact" and set(mixes) == set(MIXES)


def are_counted(subject: Subject) -> bool:
    """Whether behaviours can be seen at all: they are read off the states that a subject tells."""
    return "state" not in subject.missing
