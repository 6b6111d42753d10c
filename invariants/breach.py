"""What a law finds."""

from dataclasses import dataclass

from pagedkv.spec.clauses import Clause


@dataclass(frozen=True)
class Breach:
    """A clause that does not hold, and because of which values."""

    clause: Clause
    because: str

    def __str__(self) -> str:
        return f"{self.clause.id}: {self.because}"
