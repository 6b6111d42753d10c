"""How an operation says no.

A refusal names the clause it enforces and the values that broke it; when it is raised, nothing has changed.
Refusals are raised explicitly, so that `python -O` keeps them although they are `AssertionError`s.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class NamedClause(Protocol):
    """What a refusal needs to know of a clause."""

    @property
    def id(self) -> str:
        """``Family/case``."""


class PreconditionError(AssertionError):
    """The caller broke a rule; `clause` is the rule, the message names the argument and its value."""

    def __init__(self, clause: NamedClause, message: str) -> None:
        # Both go to `args`, from which pickle builds the error again on the other side of a process boundary.
        super().__init__(clause, message)
        self.clause = clause
        self.message = message

    def __str__(self) -> str:
        return f"{self.clause.id}: {self.message}"


class ValuePreconditionError(PreconditionError, ValueError):
    """A refusal that callers may also catch as a `ValueError`."""


class UnsupportedError(PreconditionError, NotImplementedError):
    """A refusal of something that this kind of group or this configuration does not have."""


def require(
    condition: bool,
    clause: NamedClause,
    message: Callable[[], str] | str,
    kind: type[PreconditionError] = PreconditionError,
) -> None:
    """Raise `kind(clause, message)` unless `condition` holds; changes nothing.

    A message given as a function is only built when it is needed.
    """
    if not condition:
        raise kind(clause, message if isinstance(message, str) else message())
