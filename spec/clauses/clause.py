"""What a clause is."""

from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class Clause:
    """One rule of the specification. Checks, refusals, faults and reports refer to the object."""

    id: str
    """``Family/case``: permanent, never used again for another rule."""
    text: str
    """The rule in one sentence."""
    since: str
    """The version of the specification that first had it."""

    def __str__(self) -> str:
        return self.id
