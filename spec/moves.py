"""What can happen to a manager, as data. One move is one step of a trace."""

from dataclasses import dataclass
from typing import Literal

Lookup = Literal["common", "divergent", "none"]


@dataclass(frozen=True)
class Submit:
    """A request for ``prompt`` arrives."""

    request: str
    prompt: int


@dataclass(frozen=True)
class Continue:
    """A running request that waits for its next token goes on with ``prompt`` instead.

    Its last token, which was sampled and not computed, is replaced by what ``prompt`` has from there on.
    """

    request: str
    prompt: int


@dataclass(frozen=True)
class BeginPass:
    """The scheduler opens a pass."""


@dataclass(frozen=True)
class Admit:
    """A waiting or preempted request is looked up and asks for slots.

    ``limit`` is the most tokens it may get. ``lookup`` says what it takes: the common hit; the one
    for a connector, which is taken only where no group lags; or none although there may be one.
    """

    request: str
    limit: int
    lookup: Lookup = "common"


@dataclass(frozen=True)
class Schedule:
    """A running request asks for slots for its next tokens."""

    request: str
    limit: int


@dataclass(frozen=True)
class Preempt:
    """A running request loses its blocks and waits again.

    ``withdraw``: this pass had scheduled it. ``pop``: its blocks are popped first and freed after.
    """

    request: str
    withdraw: bool
    pop: bool = False


@dataclass(frozen=True)
class Finish:
    """A request ends between passes; waiting ones too (an abort)."""

    request: str
    pop: bool = False


@dataclass(frozen=True)
class EndPass:
    """Copies and hand-offs are drained, the step runs, the ends of the copies are released.

    ``release_first``: the ends are released before the hand-offs are drained.
    """

    release_first: bool = False


@dataclass(frozen=True)
class Evict:
    """Keys are taken off blocks."""

    blocks: tuple[int, ...]


@dataclass(frozen=True)
class Reset:
    """The cache is reset."""


@dataclass(frozen=True)
class Truncate:
    """A waiting request's common hit is looked up and cut at ``num_tokens``: a view."""

    request: str
    num_tokens: int


@dataclass(frozen=True)
class CommonPrefix:
    """The blocks that a running request shares with all others are counted."""

    request: str


Move = (
    Submit
    | Continue
    | BeginPass
    | Admit
    | Schedule
    | Preempt
    | Finish
    | EndPass
    | Evict
    | Reset
    | Truncate
    | CommonPrefix
)
