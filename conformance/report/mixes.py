"""What each mix of groups has shown, in rows for a table and in a line for whoever wants no table."""

from collections.abc import Iterator, Mapping, Sequence

from pagedkv.conformance.campaign.campaign import Verdict
from pagedkv.conformance.campaign.mixes import COUNTED, OWED, OfMix
from pagedkv.conformance.subjects import Subject

from .behaviours import are_counted

COLUMNS = ("lives", "operations", *(counted.name for counted in COUNTED))
MOST_NAMED = 3
"""Mixes of a list that are named before the rest is only counted."""

Row = Mapping[str, int | None]
"""The numbers of a mix by column; None: none of its lives could have that, or it was not to be seen."""


def rows(subject: Subject, verdict: Verdict) -> dict[str, Row]:
    """The numbers of every mix that took turns."""
    return {mix: _row(subject, seen) for mix, seen in verdict.mixes.items()}


def _row(subject: Subject, seen: OfMix) -> Row:
    row: dict[str, int | None] = {"lives": seen.lives, "operations": seen.operations}
    for counted in COUNTED:
        is_seen = are_counted(subject) or not counted.needs_state
        row[counted.name] = seen.times(counted) if is_seen else None
    return row


def at_zero(table: Mapping[str, Row], columns: Sequence[str] = OWED) -> dict[str, list[str]]:
    """For each of the columns that has a 0 the mixes with it."""
    zeros = {column: [mix for mix, row in table.items() if row[column] == 0] for column in columns}
    return {column: mixes for column, mixes in zeros.items() if mixes}


def in_words(table: Mapping[str, Row]) -> Iterator[str]:
    """The least number of each column, and who has a 0."""
    least = {column: [n for row in table.values() if (n := row[column]) is not None] for column in COLUMNS}
    told = ", ".join(f"{column} {min(numbers):,}" for column, numbers in least.items() if numbers)
    yield f"{len(table)}, and the least that any has: {told}; --table shows all"
    for column, mixes in at_zero(table).items():
        yield f"no {column} with {some(mixes)}"


def some(mixes: Sequence[str]) -> str:
    """The first of the mixes, and how many more there are."""
    more = len(mixes) - MOST_NAMED
    return ", ".join(mixes[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
