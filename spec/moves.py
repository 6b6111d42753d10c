"""What can happen to a manager, as data. One move is one step of a trace."""

from dataclasses import dataclass
from typing import Literal

Lookup = Literal["common", "divergent", "none", "skip"]


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
    for a connector, which is taken only where no group lags or the connector supplies what lags; none
    although there may be one; or what is answered to a request that must not read the cache. ``available``
    is the length of the prefix that a connector has; where that is longer than the hit, it is loaded in
    the step, or behind it if ``asynchronous``: then nothing is computed before the load has ended.
    ``reserved`` blocks stay free. ``valid``: the load in the step fails, and only what lies before so many
    tokens turns out right, if anything of it; None: all.
    """

    request: str
    limit: int
    lookup: Lookup = "common"
    available: int = 0
    asynchronous: bool = False
    reserved: int = 0
    valid: int | None = None


@dataclass(frozen=True)
class Schedule:
    """A running request asks for slots for its next tokens.

    ``drafts`` tokens are guesses, which its step verifies: the first ``accepted`` are right.
    """

    request: str
    limit: int
    drafts: int = 0
    accepted: int = 0


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
    """Copies and hand-offs are drained, the step is dispatched; where none may be in flight it is processed
    at once and the ends of its copies are released.

    ``release_first``: the ends are released before the hand-offs are drained.
    """

    release_first: bool = False


@dataclass(frozen=True)
class Settle:
    """The oldest step in flight is processed: its tokens are known, and what waited for it is freed."""


@dataclass(frozen=True)
class Loaded:
    """An asynchronous load has ended: the first ``valid`` tokens are there, all if it did not fail."""

    request: str
    valid: int


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
    | Settle
    | Loaded
    | Evict
    | Reset
    | Truncate
    | CommonPrefix
)
