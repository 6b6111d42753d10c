"""One group's tables, copies and marks: what every kind has in common."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, NamedTuple, Self

from pagedkv.spec import BlockHash, KVCacheSpec, Request, require
from pagedkv.spec.blocks import BlockList, Key, KVCacheBlock, ids_of
from pagedkv.spec.clauses import config
from pagedkv.spec.deployment import refuse_uncovered
from pagedkv.spec.rules.caching import is_kept, partial_boundary
from pagedkv.spec.rules.hits import Kind, longest_hit
from pagedkv.spec.rules.reach import Reads, first_read, skipped_entries
from pagedkv.spec.rules.rows import Growth, attention_growth
from pagedkv.spec.rules.sizes import blocks_for

from .pool import BlockPool


class Published(NamedTuple):
    """A key that was first registered in this pass."""

    request_id: str
    block_id: int
    key: Key


def cached_boundaries(
    pool: BlockPool, block_hashes: Sequence[BlockHash], group_ids: Sequence[int]
) -> tuple[bool, ...]:
    """By unit boundary, whether every one of these groups holds the prefix."""
    return tuple(pool.get_cached_block(block_hash, group_ids) is not None for block_hash in block_hashes)


def hit_row(
    pool: BlockPool, block_hashes: Sequence[BlockHash], named_by: Sequence[int], width: int, group_id: int
) -> list[KVCacheBlock]:
    """The ``width`` blocks of a hit in one group: the longest holders of its keys, null before them."""
    found: list[KVCacheBlock] = []
    for num_tokens in named_by:
        holders = pool.get_cached_block(block_hashes[num_tokens // pool.hash_block_size - 1], [group_id])
        assert holders is not None
        found += holders
    return [pool.null_block] * (width - len(found)) + found


class SingleTypeKVCacheManager(ABC):
    """The state of one group. Its subclasses say what differs by kind."""

    keeps_keys: ClassVar[bool]
    """Whether blocks only grow, so that keys stay true while they are written on."""
    reads: ClassVar[Reads]
    """Which part of a prefix its steps read."""
    supports_fine_grained_hash_lookup: ClassVar[bool] = True

    def __init__(
        self,
        kv_cache_spec: KVCacheSpec,
        block_pool: BlockPool,
        enable_caching: bool,
        kv_cache_group_id: int,
        scheduler_block_size: int,
        dcp_world_size: int = 1,
        pcp_world_size: int = 1,
        needs_kv_cache_zeroing: bool = False,
        max_admission_blocks_per_request: int | None = None,
    ) -> None:
        refuse_uncovered(
            dcp_world_size=(dcp_world_size, 1),
            pcp_world_size=(pcp_world_size, 1),
            needs_kv_cache_zeroing=(needs_kv_cache_zeroing, False),
            max_admission_blocks_per_request=(max_admission_blocks_per_request, None),
        )
        self.kv_cache_spec = kv_cache_spec
        self.block_pool = block_pool
        self.enable_caching = enable_caching
        self.kv_cache_group_id = kv_cache_group_id
        self.alignment_tokens = scheduler_block_size
        self.use_eagle = False
        self.rows: dict[str, list[int]] = {}
        self.num_cached_block: dict[str, int] = {}
        self.copies: list[tuple[int, int]] = []
        self.published: list[Published] = []
        # What the open pass fills: by which request's forward, or by a copy (None).
        self.filled: dict[int, str | None] = {}
        self.named_partial: dict[str, int] = {}

    def copy(self, pool: BlockPool) -> Self:
        """An independent manager in the same state over ``pool``, a copy of this one's."""
        twin = type(self).__new__(type(self))
        vars(twin).update(vars(self))
        twin.block_pool = pool
        twin.rows = {request_id: row.copy() for request_id, row in self.rows.items()}
        twin.num_cached_block = self.num_cached_block.copy()
        twin.copies = self.copies.copy()
        twin.published = self.published.copy()
        twin.filled = self.filled.copy()
        twin.named_partial = self.named_partial.copy()
        return twin

    # What differs by kind

    @classmethod
    def reach(cls, kv_cache_spec: KVCacheSpec) -> int:
        """The length of the spec's windows or chunks, 0 where it has none."""
        return 0

    def growth(self, row_length: int, end: int, is_first: bool) -> Growth:
        """What a row of ``row_length`` entries appends for ``end`` tokens: one entry per started block."""
        return attention_growth(row_length, end, self.block_size)

    @abstractmethod
    def reads_before_forward(self, row: Sequence[int], hit: int) -> list[int]:
        """Blocks of a hit whose content must be there before the step writes anything."""

    @abstractmethod
    def names_partial(self, request_id: str, boundary: int, end: int, length: int) -> bool:
        """Whether a call that computes up to ``end`` and caches up to ``length`` names ``boundary``."""

    def moves_own_entry(self, request_id: str) -> bool:
        """Whether the request's next allocation moves its own partial entry away."""
        return False

    def move_own_entry(self, request_id: str) -> None:  # noqa: B027  Most kinds have nothing to move.
        """Move the request's own partial entry to a private block, where that is due."""

    def get_num_common_prefix_blocks(self, running_request_id: str) -> int:
        """Leading blocks that every request with a row holds (clause Cache/common_prefix)."""
        return 0

    # Standard names

    @property
    def block_size(self) -> int:
        """Tokens per block."""
        return self.kv_cache_spec.block_size

    @property
    def req_to_blocks(self) -> dict[str, BlockList]:
        """The rows of all requests, as blocks."""
        return {request_id: BlockList(self.block_pool, row) for request_id, row in self.rows.items()}

    @classmethod
    def find_longest_cache_hit(
        cls,
        block_hashes: Sequence[BlockHash],
        max_length: int,
        kv_cache_group_ids: Sequence[int],
        block_pool: BlockPool,
        kv_cache_spec: KVCacheSpec,
        drop_eagle_block: bool,
        alignment_tokens: int,
        dcp_world_size: int = 1,
        pcp_world_size: int = 1,
    ) -> tuple[tuple[list[KVCacheBlock], ...], int]:
        """The hit of these groups, asked alone: blocks per group and length in tokens. Changes nothing."""
        refuse_uncovered(dcp_world_size=(dcp_world_size, 1), pcp_world_size=(pcp_world_size, 1))
        unit, size = block_pool.hash_block_size, kv_cache_spec.block_size
        require(
            alignment_tokens == unit or alignment_tokens % size == 0,
            config.SIZES_DIVIDE,
            f"alignment_tokens is {alignment_tokens}, the unit {unit}, the block size {size}",
        )
        cached = cached_boundaries(block_pool, block_hashes, kv_cache_group_ids)
        kind = Kind(cls.reads, cls.reach(kv_cache_spec), size, drop_eagle_block, cached)
        found = longest_hit([kind], max_length, unit, alignment_tokens)
        width, (names,) = blocks_for(found.length, size), found.named_by
        rows = (hit_row(block_pool, block_hashes, names, width, g) for g in kv_cache_group_ids)
        return tuple(rows), found.length

    # Operations

    def get_num_skipped_tokens(self, num_computed_tokens: int) -> int:
        """Leading tokens that no step after ``num_computed_tokens`` tokens reads."""
        return first_read(self.reads, num_computed_tokens, self.reach(self.kv_cache_spec))

    def num_skipped(self, num_processed_tokens: int) -> int:
        """Leading entries that no later step reads."""
        return skipped_entries(
            self.reads, num_processed_tokens, self.reach(self.kv_cache_spec), self.block_size
        )

    def remove_skipped_blocks(self, request_id: str, num_processed_tokens: int) -> None:
        """Let go of entries that no later step reads (clause Allocate/skipped_are_freed)."""
        row = self.rows.get(request_id, [])
        dead = range(min(len(row), self.num_skipped(num_processed_tokens)))
        skipped = [row[i] for i in reversed(dead)]
        for i in dead:
            row[i] = 0
        self.block_pool.free_blocks(BlockList(self.block_pool, skipped))

    def blocks_to_take(self, request_id: str, hit_blocks: Sequence[KVCacheBlock], hit: int, end: int) -> int:
        """How many blocks this call takes from the free queue (clause Allocate/prediction_is_exact)."""
        row_length = len(self.rows.get(request_id, hit_blocks))
        queued = sum(not block.is_null and block.ref_cnt == 0 for block in hit_blocks)
        copied = hit % self.block_size != 0 or self.moves_own_entry(request_id)
        return self.growth(row_length, end, request_id not in self.rows).taken + queued + copied

    def waits_for_pass(self, hit_blocks: Sequence[KVCacheBlock], hit: int) -> bool:
        """Whether the hit starts from a block that this pass still fills (clause Copy/same_pass_waits)."""
        return any(block_id in self.filled for block_id in self.reads_before_forward(ids_of(hit_blocks), hit))

    def add_hit(self, request_id: str, hit_blocks: Sequence[KVCacheBlock], hit: int) -> None:
        """Start the request's row with the blocks of its hit, as their holder."""
        self.block_pool.touch(hit_blocks)
        self.rows[request_id] = ids_of(hit_blocks)
        self.num_cached_block[request_id] = hit // self.block_size

    def allocate_new_blocks(
        self, request_id: str, hit: int, start: int, end: int, is_first: bool
    ) -> list[int]:
        """Give the row a place for tokens ``start`` to ``end``; ``hit`` is the hit just added, or 0.

        Answers the ids of the private block of that hit, then of every entry appended.
        """
        row = self.rows[request_id]
        num_old = len(row)
        growth = self.growth(num_old, end, is_first)
        answered: list[int] = []
        if hit % self.block_size:
            (private,) = self.block_pool.get_new_blocks(1)
            self.block_pool.touch([private])
            self.copies.append((row[-1], private.block_id))
            row[-1] = private.block_id
            answered.append(private.block_id)
        self.move_own_entry(request_id)
        row += [0] * growth.padding
        for i in range(growth.moved_from, growth.moved_to):
            row.append(row[i])
            row[i] = 0
        row += ids_of(self.block_pool.get_new_blocks(growth.taken))
        written = row[start // self.block_size : blocks_for(end, self.block_size)]
        self.filled.update({block_id: request_id for block_id in written if block_id})
        return answered + row[num_old:]

    def cache_blocks(self, request: Request, end: int, length: int) -> None:
        """Name the blocks filled by a call that computes up to ``end`` and caches up to ``length``."""
        pool, request_id = self.block_pool, request.request_id
        row = self.rows[request_id]
        before = {block_id: pool.keys[block_id] for block_id in row}
        blocks = BlockList(pool, row)
        num_cached, num_full = self.num_cached_block[request_id], length // self.block_size
        pool.cache_full_blocks(
            request,
            blocks,
            num_cached,
            num_full,
            self.block_size,
            self.kv_cache_group_id,
            [self._is_kept(i) for i in range(num_cached, num_full)],
            self.keeps_keys,
        )
        self.num_cached_block[request_id] = max(num_cached, num_full)
        is_fine_grained = self.alignment_tokens < self.block_size
        boundary = partial_boundary(request.num_prompt_tokens, pool.hash_block_size, self.block_size)
        if is_fine_grained and boundary and self.names_partial(request_id, boundary, end, length):
            pool.cache_partial_block(
                request,
                blocks[boundary // self.block_size],
                boundary,
                self.kv_cache_group_id,
                self.block_size,
                keep_keys=self.keeps_keys,
            )
            self.named_partial[request_id] = boundary
        self.published += [
            Published(request_id, block_id, key)
            for block_id, keys in before.items()
            for key in pool.keys[block_id]
            if key not in keys
        ]

    def _is_kept(self, i: int) -> bool:
        reach = self.reach(self.kv_cache_spec)
        return is_kept(self.reads, i, self.block_size, reach, self.alignment_tokens, self.use_eagle)

    def holds_what_others_took(self, request_id: str) -> bool:
        """Whether another request holds a block that this pass publishes and fills for this one."""
        published = {p.block_id for p in self.published if p.request_id == request_id}
        mine = {block_id for block_id in published if self.filled.get(block_id) == request_id}
        return any(not mine.isdisjoint(row) for other, row in self.rows.items() if other != request_id)

    def withdraw(self, request_id: str) -> None:
        """Take back the keys published for the request in this pass: its forward will fill nothing."""
        for entry in self.published:
            if entry.request_id == request_id:
                self.block_pool.withdraw_key(entry.block_id, entry.key)
        self.published = [entry for entry in self.published if entry.request_id != request_id]
        self.filled = {block_id: filler for block_id, filler in self.filled.items() if filler != request_id}

    def pop_blocks_for_free(self, request_id: str) -> list[int]:
        """Forget the request; answers its row, whose blocks stay held."""
        self.num_cached_block.pop(request_id, None)
        self.named_partial.pop(request_id, None)
        return self.rows.pop(request_id, [])

    def new_step_starts(self) -> None:
        """Forget what the last pass published and filled."""
        self.published = []
        self.filled = {}
