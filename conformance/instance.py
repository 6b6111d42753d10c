"""One life of one manager, as the engine loop drives it."""

from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol, Self

from pagedkv.spec import Snapshot
from pagedkv.spec.event_names import EventName
from pagedkv.spec.life import Life
from pagedkv.spec.outcomes import Found
from pagedkv.spec.snapshot import HandOffName, KeyName, Rows


class Ask(NamedTuple):
    """What is asked of a manager for a request."""

    num_new_tokens: int
    hit: int = 0
    """How much of the last hit is taken."""
    external: int = 0
    """Tokens after that, which others have computed."""
    delays: bool = False
    """Whether nothing becomes a key yet: the load is under way when the step runs."""
    is_admission: bool = False
    reserved: int = 0
    """Blocks that stay free."""
    has_scheduled: bool = False
    """Whether others are scheduled in this pass already."""


class Instance(Protocol):
    """What the loop asks of a manager. Every method may raise; that is judged, not caught, here.

    A method that a manager does not have is declared in its subject's capabilities, and the loop
    does not call it.
    """

    def go_on(self, life: Life, prompt: int) -> None:
        """Let the request go on with another prompt of the world from what is computed on."""
        ...

    def lookup(self, life: Life, divergent: bool, skip: bool = False) -> Found:
        """The request's hit; the blocks are kept for ``allocate`` and ``truncate``.

        ``skip``: the request must not read the cache.
        """
        ...

    def truncate(self, life: Life, num_tokens: int) -> Rows:
        """The last hit looked up, cut at ``num_tokens``."""
        ...

    def allocate(self, life: Life, ask: Ask) -> Rows | None:
        """Slots for what is asked, after the computed tokens."""
        ...

    def publish(self, life: Life) -> None:
        """Make keys of what a connector has loaded."""
        ...

    def zero_again(self, life: Life) -> None:
        """List the blocks behind the computed tokens for zeroing: a load has not filled them."""
        ...

    def take_zeroed(self) -> list[int]:
        """Drain the blocks to zero."""
        ...

    def table(self, life: Life) -> Rows:
        """The request's whole table."""
        ...

    def free(self, life: Life, withdraw: bool, pop: bool) -> None:
        """Let the request go. ``pop``: its blocks are popped, and freed in one call after that."""
        ...

    def pop(self, life: Life, withdraw: bool) -> list[int]:
        """Forget the request; its blocks stay held until ``free_popped``. Answers them."""
        ...

    def free_popped(self) -> None:
        """Free what the oldest ``pop`` left held."""
        ...

    def forget(self, life: Life) -> None:
        """The request has ended: what was made for it can go."""
        ...

    def begin_pass(self) -> None:
        """Open a pass."""
        ...

    def take_copies(self) -> list[tuple[int, int]]:
        """Drain the copies; their ends stay held until ``release``."""
        ...

    def release(self) -> None:
        """Free the ends of the copies that the oldest step drained and that are held still."""
        ...

    def take_hand_offs(self) -> list[HandOffName]:
        """Drain the hand-offs."""
        ...

    def evict(self, blocks: Sequence[int]) -> None:
        """Take the keys off blocks."""
        ...

    def reset(self) -> bool:
        """Reset the cache."""
        ...

    def common_prefix(self, life: Life) -> list[int]:
        """Common prefix blocks per group."""
        ...

    def snapshot(self) -> Snapshot[KeyName] | None:
        """The state, or None if the manager does not tell."""
        ...

    def keyed(self, blocks: Collection[int]) -> Collection[int] | None:
        """Those of ``blocks`` that have a key, or None if the manager does not tell."""
        ...

    def num_free_blocks(self) -> int | None:
        """How many blocks nobody holds, or None if the manager does not tell."""
        ...

    def take_events(self) -> tuple[EventName, ...] | None:
        """Drain the events, or None if the manager announces none."""
        ...

    def copy(self) -> Self:
        """An independent instance in the same state."""
        ...
