"""A manager with a classic silent fault: it serves one request the text of another, and no error is raised.

`pagedkv check examples.leaky_manager:make` finds it.
"""

from examples.own_manager import OwnManager


class LeakyManager(OwnManager):
    """Forgets that a block which is used again is no longer what its key says."""

    def _take(self) -> int:
        block = self.queue.popleft()
        self.holders[block] = 1
        # The fault: the key goes off the block, and `block_of` still leads from the key to the block.
        self.key_of.pop(block, None)
        return block


make = LeakyManager
