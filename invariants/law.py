"""What a law is."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from pagedkv.spec.clauses import Clause

Judged = TypeVar("Judged")


@dataclass(frozen=True)
class Law(Generic[Judged]):
    """One way in which a clause can be seen to hold, or not, from outside."""

    clause: Clause
    reasons: Callable[[Judged], Iterator[str]]
    """What speaks against the clause: one sentence with the values for each breach."""
    moves: tuple[type, ...] = ()
    """The moves after which it is asked; none means all."""

    @property
    def meaning(self) -> str:
        """What the law says, in one line."""
        return (self.reasons.__doc__ or "").partition("\n")[0]


def law(clause: Clause, *moves: type) -> Callable[[Callable[[Judged], Iterator[str]]], Law[Judged]]:
    """Make a law of ``clause`` out of a function whose first line of documentation is its meaning."""
    return lambda reasons: Law(clause, reasons, moves)
