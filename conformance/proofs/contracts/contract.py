"""What a contract is."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from pagedkv.spec.clauses import Clause


@dataclass(frozen=True, eq=False)
class Contract:
    """A statement about one rule, for every argument in its domain."""

    check: Callable[..., None]
    """Raises `AssertionError` where the rule breaks the statement. Its first asserts are the domain."""
    rule: Callable[..., object]
    """The rule that is judged."""
    clauses: tuple[Clause, ...]
    """What the statement says in arithmetic."""
    cases: Callable[[], Iterable[tuple[Any, ...]]]
    """A small part of the domain, to be gone through one by one: arguments of ``check``."""
    searched: str = ""
    """Why CrossHair only searches it. Empty where it has to confirm it for all arguments."""

    @property
    def name(self) -> str:
        """Where the check is: ``module.function`` below this package."""
        return f"{self.module}.{self.check.__name__}"

    @property
    def module(self) -> str:
        """The subject: the last part of the module's name."""
        return self.check.__module__.rpartition(".")[2]
