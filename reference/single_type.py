"""One group's tables, copies and marks: what every kind has in common."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Self

from pagedkv.spec import KVCacheSpec, Request
from pagedkv.spec.blocks import BlockList, KVCacheBlock, ids_of
from pagedkv.spec.deployment import check_ranks
from pagedkv.spec.rules.caching import resend_length
from pagedkv.spec.rules.reach import first_read, skipped_entries
from pagedkv.spec.rules.rows import Growth, attention_growth
from pagedkv.spec.rules.sizes import blocks_for, floor_to

from .call import Call, Published
from .lookup import FindsHits
from .pool import BlockPool


class SingleTypeKVCacheManager(FindsHits):
    """The state of one group. Its subclasses say what differs by kind."""

    takes_hits: ClassVar[bool] = True
    """Whether a row can begin with the blocks of a prefix."""
    keeps_keys: ClassVar[bool]
    """Whether blocks only grow, so that keys stay true while they are written on."""

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
        check_ranks([kv_cache_spec], dcp_world_size, pcp_world_size)
        self.block_size = kv_cache_spec.tokens_per_block(dcp_world_size * pcp_world_size)
        self.kv_cache_spec = kv_cache_spec
        self.block_pool = block_pool
        self.enable_caching = enable_caching
        self.kv_cache_group_id = kv_cache_group_id
        self.alignment_tokens = scheduler_block_size
        self.use_eagle = False
        self.retention_interval: int | None = None
        self.resend_margin: int | None = None
        self.admission_cap = max_admission_blocks_per_request
        self.lists_new_blocks = needs_kv_cache_zeroing and self.reads != "state"
        self.new_block_ids: list[int] = []
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
        twin.new_block_ids = self.new_block_ids.copy()
        twin.published = self.published.copy()
        twin.filled = self.filled.copy()
        twin.named_partial = self.named_partial.copy()
        return twin

    def take_new_block_ids(self) -> list[int]:
        """Drain the blocks to zero before the step."""
        taken, self.new_block_ids = self.new_block_ids, []
        return taken

    # What differs by kind

    def growth(self, row_length: int, call: Call) -> Growth:
        """What a row of ``row_length`` entries appends for the call: one entry per started block."""
        return attention_growth(row_length, call.slots, self.block_size)

    def written(self, call: Call, row: Sequence[int]) -> Sequence[int]:
        """The entries of the grown row that the step fills."""
        return row[call.local // self.block_size : blocks_for(call.end, self.block_size)]

    @abstractmethod
    def reads_before_forward(self, row: Sequence[int], hit: int) -> list[int]:
        """Blocks of a hit whose content must be there before the step writes anything."""

    @abstractmethod
    def names_partial(self, request_id: str, boundary: int, end: int, length: int) -> bool:
        """Whether a call that computes up to ``end`` and caches up to ``length`` names ``boundary``."""

    def moves_own_entry(self, request_id: str) -> bool:
        """Whether the request's next allocation moves its own partial entry away."""
        return False

    def move_own_entry(self, request_id: str) -> None:
        """Move the request's own partial entry to a private block, where that is due."""

    def get_num_common_prefix_blocks(self, running_request_id: str) -> int:
        """Leading blocks that every request with a row holds (clause Cache/common_prefix)."""
        return 0

    # Standard names

    @property
    def req_to_blocks(self) -> dict[str, BlockList]:
        """The rows of all requests, as blocks."""
        return {request_id: BlockList(self.block_pool, row) for request_id, row in self.rows.items()}

    # Operations

    def get_num_skipped_tokens(self, num_computed_tokens: int) -> int:
        """Leading tokens that no step after ``num_computed_tokens`` tokens reads."""
        return first_read(self.reads, num_computed_tokens, self.reach(self.kv_cache_spec))

    def num_skipped(self, num_processed_tokens: int) -> int:
        """Leading entries that no later step reads."""
        return skipped_entries(
            self.reads, num_processed_tokens, self.reach(self.kv_cache_spec), self.block_size
        )

    def dead_entries(self, num_processed_tokens: int, num_prompt_tokens: int | None) -> range:
        """Entries that no later step reads; without the prompt's length as far as that is known."""
        return range(self.num_skipped(num_processed_tokens))

    def remove_skipped_blocks(
        self, request_id: str, num_processed_tokens: int, num_prompt_tokens: int | None = None
    ) -> None:
        """Let go of entries that no later step reads (clause Allocate/skipped_are_freed)."""
        row = self.rows.get(request_id, [])
        dead = self.dead_entries(num_processed_tokens, num_prompt_tokens)[: len(row)]
        skipped = [row[i] for i in reversed(dead)]
        for i in dead:
            row[i] = 0
        self.block_pool.free_blocks(BlockList(self.block_pool, skipped))

    def row_before(self, call: Call, hit_blocks: Sequence[KVCacheBlock]) -> list[int]:
        """What the row has before the call: of a hit the blocks that a step from ``call.start`` on reads."""
        if not call.is_first:
            return self.rows[call.request_id]
        skipped = self.num_skipped(call.start)
        return [0] * skipped + ids_of(hit_blocks[skipped:])

    def num_external(self, call: Call, row: Sequence[int]) -> int:
        """How many blocks the row lacks for what others have computed."""
        return max(0, blocks_for(call.start, self.block_size) - len(row)) if call.is_first else 0

    def blocks_to_take(self, call: Call, hit_blocks: Sequence[KVCacheBlock], is_capped: bool = False) -> int:
        """How many blocks the call takes from the free queue (clause Allocate/prediction_is_exact).

        ``is_capped``: no more than lets the request hold what it ever holds at a time.
        """
        row = self.row_before(call, hit_blocks)
        external = self.num_external(call, row)
        taken = external + self.growth(len(row) + external, call).taken
        if is_capped and self.admission_cap is not None:
            taken = min(taken, max(0, self.admission_cap - len(row) + row.count(0)))
        queued = sum(block_id != 0 and self.block_pool.ref_counts[block_id] == 0 for block_id in row)
        copied = call.hit % self.block_size != 0 or self.moves_own_entry(call.request_id)
        return taken + queued + copied

    def waits_for_pass(self, call: Call, hit_blocks: Sequence[KVCacheBlock]) -> bool:
        """Whether the hit starts from a block that this pass still fills (clause Copy/same_pass_waits)."""
        row = self.row_before(call, hit_blocks) if hit_blocks else []
        return any(block_id in self.filled for block_id in self.reads_before_forward(row, call.hit))

    def add_hit(self, call: Call, hit_blocks: Sequence[KVCacheBlock]) -> None:
        """Start the request's row with the blocks of its hit, as their holder."""
        row = self.row_before(call, hit_blocks)
        self.block_pool.touch(BlockList(self.block_pool, row))
        self.rows[call.request_id] = row
        self.num_cached_block[call.request_id] = call.hit // self.block_size

    def add_external(self, call: Call) -> None:
        """Give the row blocks for what others have computed, as far as a step reads it."""
        row = self.rows[call.request_id]
        blocks = ids_of(self.block_pool.get_new_blocks(self.num_external(call, row)))
        row += blocks
        if self.lists_new_blocks and call.lists_external:
            self.new_block_ids += blocks

    def allocate_new_blocks(self, call: Call) -> list[int]:
        """Give the row a place for the call's tokens.

        Answers the ids of the private block of its hit, then of every entry appended here.
        """
        row = self.rows[call.request_id]
        num_old = len(row)
        growth = self.growth(num_old, call)
        new: list[int] = []
        if call.hit % self.block_size:
            (private,) = self.block_pool.get_new_blocks(1)
            self.block_pool.touch([private])
            self.copies.append((row[-1], private.block_id))
            row[-1] = private.block_id
            new.append(private.block_id)
        self.move_own_entry(call.request_id)
        row += [0] * growth.padding
        for i in range(growth.moved_from, growth.moved_to):
            row.append(row[i])
            row[i] = 0
        taken = ids_of(self.block_pool.get_new_blocks(growth.taken))
        row += taken
        if self.lists_new_blocks:
            self.new_block_ids += new + taken
        self.filled.update({block_id: call.request_id for block_id in self.written(call, row) if block_id})
        return new + row[num_old:]

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
            self.reachable_block_mask(
                num_cached,
                num_full,
                self.alignment_tokens,
                self.kv_cache_spec,
                self.use_eagle,
                self.retention_interval,
                self._boundaries(request),
            ),
            self.keeps_keys,
        )
        self.num_cached_block[request_id] = max(num_cached, num_full)
        for boundary in self._partial_boundaries(request.num_prompt_tokens):
            if self.names_partial(request_id, boundary, end, length):
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

    def _boundaries(self, request: Request) -> list[int]:
        """Lengths that are known to be asked for, before they are rounded down to where hits end."""
        resent = [] if self.resend_margin is None else [request.num_prompt_tokens - 1 - self.resend_margin]
        return [request.num_prompt_tokens - 1, request.shared_prefix_boundary, *resent]

    def _partial_boundaries(self, num_prompt_tokens: int) -> list[int]:
        """Lengths inside blocks that become keys, the shortest first; none where hits end with blocks."""
        if self.alignment_tokens >= self.block_size:
            return []
        lengths = {floor_to(num_prompt_tokens, self.block_pool.hash_block_size)}
        if self.resend_margin is not None:
            lengths.add(resend_length(num_prompt_tokens, self.alignment_tokens, self.resend_margin))
        return sorted(length for length in lengths if length % self.block_size)

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
