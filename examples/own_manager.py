"""A manager of one's own, in the least interface: full attention, one group, prefix caching.

`pagedkv check examples.own_manager:make` holds it to the clauses.
"""

from collections import deque
from collections.abc import Sequence

from pagedkv.spec import Request, World


class OwnManager:
    """Blocks in one queue, keys in one dict."""

    def __init__(self, world: World) -> None:
        self.size = world.groups[0].block_size
        self.caches = world.enable_caching
        self.holders = [0] * world.num_blocks
        self.queue = deque(range(1, world.num_blocks))
        self.block_of: dict[bytes, int] = {}
        self.key_of: dict[int, bytes] = {}
        self.tables: dict[str, list[int]] = {}

    def lookup(self, request: Request) -> tuple[int, Sequence[Sequence[int]]]:
        """The cached blocks of the prefix; the last token is always computed."""
        blocks = []
        for key in request.block_hashes[: (request.num_tokens - 1) // self.size]:
            if key not in self.block_of:
                break
            blocks.append(self.block_of[key])
        return len(blocks) * self.size, [blocks]

    def allocate(self, request: Request, num_new_tokens: int) -> Sequence[Sequence[int]] | None:
        """The hit's blocks, for a request without a table, and new ones; None when they do not fit."""
        table = self.tables.get(request.request_id, [])
        computed, end = request.num_computed_tokens, request.num_computed_tokens + num_new_tokens
        hit = [] if table else self.lookup(request)[1][0][: computed // self.size]
        num_new = -(-end // self.size) - len(table) - len(hit)
        if num_new + sum(self.holders[block] == 0 for block in hit) > len(self.queue):
            return None
        for block in hit:
            if self.holders[block] == 0:
                self.queue.remove(block)
            self.holders[block] += 1
        added = [*hit, *(self._take() for _ in range(num_new))]
        table = self.tables[request.request_id] = [*table, *added]
        for key, block in zip(request.block_hashes[: end // self.size], table, strict=False):
            if self.caches and key not in self.block_of:
                self.block_of[key], self.key_of[block] = block, key
        return [added]

    def _take(self) -> int:
        block = self.queue.popleft()
        self.holders[block] = 1
        if block in self.key_of:
            del self.block_of[self.key_of.pop(block)]
        return block

    def free(self, request: Request) -> None:
        """Give back what nobody else holds, the last block first."""
        for block in reversed(self.tables.pop(request.request_id, [])):
            self.holders[block] -= 1
            if self.holders[block] == 0:
                self.queue.append(block)

    def step(self) -> None:
        """Nothing is kept per pass."""


make = OwnManager
