"""What a move answers, as data."""

from dataclasses import dataclass

from .snapshot import HandOffName, Rows


@dataclass(frozen=True)
class Nothing:
    """The move has no answer."""


@dataclass(frozen=True)
class Found:
    """What a lookup answered."""

    hit: int
    rows: Rows
    junction: int = 0
    diverged: bool = False


@dataclass(frozen=True)
class Allocated:
    """A request asked for ``num_new_tokens`` tokens after ``found`` and got ``rows``, or None.

    Where a connector has more, the hit is cut where blocks of all groups end, and ``external`` tokens follow.
    """

    num_new_tokens: int
    rows: Rows | None
    found: Found | None = None
    external: int = 0


@dataclass(frozen=True)
class Waits:
    """The scheduler asks for no slots now: the chunk rule wants more room, or a group lags."""

    found: Found | None = None


@dataclass(frozen=True)
class Stepped:
    """A pass ended."""

    copies: tuple[tuple[int, int], ...]
    """Source and destination block of each."""
    hand_offs: tuple[HandOffName, ...]
    zeroed: tuple[int, ...] = ()
    """Blocks that the worker zeroes before anything else."""


@dataclass(frozen=True)
class Answered:
    """A plain answer: of a reset, of a count of blocks."""

    value: bool | tuple[int, ...]


@dataclass(frozen=True)
class Viewed:
    """A truncated hit, or None where the cut was refused."""

    found: Found
    rows: Rows | None


@dataclass(frozen=True)
class Raised:
    """The manager raised: a refusal by its clause, or anything else by its type."""

    error: str
    message: str


Outcome = Nothing | Found | Allocated | Waits | Stepped | Answered | Viewed | Raised
