"""Who frees which blocks when: the scheduler what it took from its manager, the loop what really is freed."""

from collections.abc import Sequence

from pagedkv.conformance.loop import LoopState
from pagedkv.conformance.stepping import due


class LoopPool:
    """What the scheduler is given in place of a pool. It frees nothing: the loop does."""

    def __init__(self, state: LoopState) -> None:
        self._state = state
        self._freed: list[tuple[int, ...]] = []
        self._due: list[tuple[int, ...]] = []

    def free_blocks(self, blocks: Sequence[int]) -> None:
        """Note a call of the scheduler."""
        self._freed.append(tuple(blocks))

    def is_due(self, *freed: tuple[int, ...]) -> None:
        """The loop frees these, one call after the other."""
        self._due += freed

    def is_settled(self) -> None:
        """The oldest step in flight is settled now."""
        processed = self._state.dispatched - len(self._state.flight) + 1
        self.is_due(*(entry.blocks for entry in due(self._state.held, processed)))

    def take_calls(self) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
        """What the scheduler has freed since the last time, and what the loop. Of none is no call."""
        here, there = ([blocks for blocks in calls if blocks] for calls in (self._freed, self._due))
        self._freed, self._due = [], []
        return here, there
