"""The KV cache manager of the specification."""

from collections.abc import Iterable, Sequence

from pagedkv.spec import (
    BlockHashWithGroupId,
    KVCacheBlockCopy,
    KVCacheConfig,
    KVCacheEvent,
    Request,
    Snapshot,
    ValuePreconditionError,
    require,
)
from pagedkv.spec.blocks import BlockList, KVCacheBlock, KVCacheBlocks
from pagedkv.spec.clauses import allocation, config, freeing
from pagedkv.spec.deployment import check_hashes, refuse_uncovered
from pagedkv.spec.rules.caching import cacheable_length

from .coordinator import KVCacheCoordinator
from .guards import require_fitting_hit
from .kinds import MambaManager
from .pool import BlockPool
from .snapshot import snapshot_of


class KVCacheManager:
    """Gives requests blocks for their tokens, out of the cache where a prefix is known.

    Single-threaded. Every operation first refuses what its clauses exclude, changing nothing.
    """

    def __init__(
        self,
        kv_cache_config: KVCacheConfig,
        max_model_len: int,
        scheduler_block_size: int,
        hash_block_size: int,
        max_in_flight_tokens: int | None = None,
        enable_caching: bool = True,
        use_eagle: bool = False,
        num_prefill_lookahead: int = 0,
        log_stats: bool = False,
        enable_kv_cache_events: bool = False,
        dcp_world_size: int = 1,
        pcp_world_size: int = 1,
        metrics_collector: object = None,
        watermark: float = 0.0,
    ) -> None:
        require(
            max_model_len > 0,
            config.SIZES_ARE_POSITIVE,
            f"max_model_len is {max_model_len}",
            ValuePreconditionError,
        )
        refuse_uncovered(
            max_in_flight_tokens=(max_in_flight_tokens, None),
            num_prefill_lookahead=(num_prefill_lookahead, 0),
            log_stats=(log_stats, False),
            dcp_world_size=(dcp_world_size, 1),
            pcp_world_size=(pcp_world_size, 1),
            metrics_collector=(metrics_collector, None),
            watermark=(watermark, 0.0),
        )
        self.kv_cache_config = kv_cache_config
        self.max_model_len = max_model_len
        self.enable_caching = enable_caching
        self.block_pool = BlockPool(
            kv_cache_config.num_blocks, enable_caching, hash_block_size, enable_kv_cache_events
        )
        self.coordinator = KVCacheCoordinator(
            kv_cache_config, self.block_pool, scheduler_block_size, use_eagle
        )
        self.pins: dict[str, list[int]] = {}

    def copy(self) -> "KVCacheManager":
        """An independent manager in the same state."""
        twin = KVCacheManager.__new__(KVCacheManager)
        vars(twin).update(vars(self))
        twin.block_pool = self.block_pool.copy()
        twin.coordinator = self.coordinator.copy(twin.block_pool)
        twin.pins = {request_id: ids.copy() for request_id, ids in self.pins.items()}
        return twin

    def snapshot(self) -> Snapshot[BlockHashWithGroupId]:
        """All of the state, free of implementation."""
        return snapshot_of(self.block_pool, self.coordinator.single_type_managers, self.pins)

    # Lookups and views, which change nothing

    @property
    def usage(self) -> float:
        """The held share of all blocks but null."""
        return self.block_pool.get_usage()

    def get_computed_blocks(self, request: Request) -> tuple[KVCacheBlocks, int, int]:
        """The longest cached prefix of the request: its blocks, its length in tokens, the junction."""
        if not self.enable_caching or request.skip_reading_prefix_cache:
            return self.create_kv_cache_blocks(self._no_rows()), 0, 0
        check_hashes(request, self.block_pool.hash_block_size)
        rows, length, junction = self.coordinator.find_longest_cache_hit(
            request.block_hashes, request.num_tokens - 1
        )
        return self.create_kv_cache_blocks(rows), length, junction

    def get_computed_blocks_for_connector(self, request: Request) -> tuple[KVCacheBlocks, int, int, bool]:
        """The same for a connector that can fill in what some groups lack (clause Hit/divergent).

        The last value says whether a group ends before the length answered.
        """
        is_off = not self.enable_caching or request.skip_reading_prefix_cache
        if is_off or not self.coordinator.has_attention_and_states:
            return (*self.get_computed_blocks(request), False)
        check_hashes(request, self.block_pool.hash_block_size)
        rows, lengths = self.coordinator.find_longest_cache_hit_per_group(
            request.block_hashes, request.num_tokens - 1
        )
        if max(lengths) > lengths[0]:
            return (*self.get_computed_blocks(request), False)
        return self.create_kv_cache_blocks(rows), lengths[0], 0, min(lengths) < lengths[0]

    def create_kv_cache_blocks(self, blocks: tuple[Sequence[KVCacheBlock], ...]) -> KVCacheBlocks:
        """These blocks per group as one value."""
        return KVCacheBlocks(blocks)

    def truncate_computed_blocks(self, blocks: KVCacheBlocks, num_computed_tokens: int) -> KVCacheBlocks:
        """``blocks`` cut at ``num_computed_tokens`` (clause Hit/truncation)."""
        return self.create_kv_cache_blocks(self.coordinator.truncated(blocks.blocks, num_computed_tokens))

    def get_blocks(self, request_id: str) -> KVCacheBlocks:
        """The request's tables; empty for an unknown request."""
        rows = [manager.rows.get(request_id, []) for manager in self.coordinator.single_type_managers]
        return self.create_kv_cache_blocks(tuple(BlockList(self.block_pool, tuple(row)) for row in rows))

    def get_block_ids(self, request_id: str) -> tuple[list[int], ...]:
        """The request's tables as ids."""
        return self.get_blocks(request_id).get_block_ids()

    def get_num_common_prefix_blocks(self, running_request_id: str) -> list[int]:
        """Per group the leading blocks of this request that every request with a table holds."""
        return [
            manager.get_num_common_prefix_blocks(running_request_id)
            for manager in self.coordinator.single_type_managers
        ]

    # Allocation

    def allocate_slots(
        self,
        request: Request,
        num_new_tokens: int,
        num_new_computed_tokens: int = 0,
        new_computed_blocks: KVCacheBlocks | None = None,
        num_lookahead_tokens: int = 0,
        num_external_computed_tokens: int = 0,
        delay_cache_blocks: bool = False,
        num_encoder_tokens: int = 0,
        full_sequence_must_fit: bool = False,
        reserved_blocks: int = 0,
        has_scheduled_reqs: bool = True,
    ) -> KVCacheBlocks | None:
        """Give the request places for ``num_new_tokens`` tokens after its computed ones and its hit.

        Answers the new blocks per group, or None when they do not fit now: then nothing has changed
        but the entries that were skipped. ``delay_cache_blocks`` publishes no keys.
        """
        refuse_uncovered(
            num_lookahead_tokens=(num_lookahead_tokens, 0),
            num_external_computed_tokens=(num_external_computed_tokens, 0),
            num_encoder_tokens=(num_encoder_tokens, 0),
            full_sequence_must_fit=(full_sequence_must_fit, False),
            reserved_blocks=(reserved_blocks, 0),
        )
        managers = self.coordinator.single_type_managers
        request_id = request.request_id
        hit_rows = self._no_rows() if new_computed_blocks is None else new_computed_blocks.blocks
        start = request.num_computed_tokens + num_new_computed_tokens
        end = start + num_new_tokens
        require(
            num_new_tokens > 0 and end <= self.max_model_len,
            allocation.ASKS_FOR_SOMETHING,
            f"num_new_tokens is {num_new_tokens} after {start} tokens, max_model_len is {self.max_model_len}",
            ValuePreconditionError,
        )
        if self.enable_caching and not delay_cache_blocks:
            check_hashes(request, self.block_pool.hash_block_size)
        is_first = not any(request_id in manager.rows for manager in managers)
        require_fitting_hit(managers, is_first, request, num_new_computed_tokens, hit_rows)

        num_processed = request.num_computed_tokens - request.num_in_flight_tokens
        self.remove_skipped_blocks(request_id, num_processed)
        asked = list(zip(managers, hit_rows, strict=True))
        if any(manager.waits_for_pass(row, start) for manager, row in asked):
            return None
        to_take = sum(
            manager.blocks_to_take(request_id, row, num_new_computed_tokens, end) for manager, row in asked
        )
        if to_take > self.block_pool.get_num_free_blocks():
            return None

        if is_first:
            for manager, row in asked:
                manager.add_hit(request_id, row, num_new_computed_tokens)
        new_rows = [
            manager.allocate_new_blocks(request_id, num_new_computed_tokens, start, end, is_first)
            for manager in managers
        ]
        if self.enable_caching and not delay_cache_blocks:
            self.cache_blocks(request, end)
        return self.create_kv_cache_blocks(tuple(BlockList(self.block_pool, row) for row in new_rows))

    def cache_blocks(self, request: Request, num_computed_tokens: int) -> None:
        """Publish what the request's blocks hold once ``num_computed_tokens`` tokens are computed.

        Without hashes it has no names for that.
        """
        for manager in self.coordinator.single_type_managers if request.block_hashes else ():
            length = cacheable_length(
                num_computed_tokens,
                request.num_tokens,
                self.coordinator.alignment,
                manager.block_size,
                manager.use_eagle,
            )
            manager.cache_blocks(request, num_computed_tokens, length)

    def remove_skipped_blocks(
        self, request_id: str, processed_computed_tokens: int, num_prompt_tokens: int | None = None
    ) -> None:
        """Let go of entries that no step after ``processed_computed_tokens`` tokens reads."""
        for manager in self.coordinator.single_type_managers:
            manager.remove_skipped_blocks(request_id, processed_computed_tokens)

    def new_step_starts(self) -> None:
        """Open a pass."""
        for manager in self.coordinator.single_type_managers:
            manager.new_step_starts()

    def take_kv_cache_block_copies(self) -> tuple[list[KVCacheBlockCopy], list[KVCacheBlock]]:
        """Drain the queued copies, and the blocks to free once they have run."""
        queued = [pair for manager in self.coordinator.single_type_managers for pair in manager.copies]
        for manager in self.coordinator.single_type_managers:
            manager.copies = []
        retained = BlockList(self.block_pool, [block_id for pair in queued for block_id in pair])
        return [KVCacheBlockCopy(src, dst) for src, dst in queued], list(retained)

    def take_partial_tail_offloads(self) -> dict[str, list[tuple[int, int, int]]]:
        """Drain the hand-offs: per request (group, block id, length), each block pinned until its free."""
        taken: dict[str, list[tuple[int, int, int]]] = {}
        for manager in self.coordinator.single_type_managers:
            if isinstance(manager, MambaManager):
                for request_id, block_id, num_tokens in manager.hand_offs:
                    self.block_pool.touch(BlockList(self.block_pool, [block_id]))
                    self.pins.setdefault(request_id, []).append(block_id)
                    taken.setdefault(request_id, []).append((manager.kv_cache_group_id, block_id, num_tokens))
                manager.hand_offs = []
        return taken

    def take_events(self) -> list[KVCacheEvent]:
        """Drain what was announced of the cache."""
        return self.block_pool.take_events()

    # Freeing

    def free(self, request: Request, withdraw: bool = False) -> None:
        """Release all that the request holds and forget it.

        ``withdraw`` says that what this pass scheduled for it will never run (clause Withdraw/keys_go).
        """
        pins, *rows = self._pop(request, withdraw)
        for ids in (pins, *(row[::-1] for row in rows)):
            self.block_pool.free_blocks(BlockList(self.block_pool, ids))

    def pop_blocks_for_free(self, request: Request, withdraw: bool = False) -> list[KVCacheBlock]:
        """Forget the request and answer what it holds, still held: pins, then rows, group by group.

        Whoever gets them frees them from the last to the first.
        """
        rows = self._pop(request, withdraw)
        return list(BlockList(self.block_pool, [block_id for row in rows for block_id in row]))

    def evict_blocks(self, block_ids: Iterable[int]) -> None:
        """Take every key off these blocks."""
        self.block_pool.evict_blocks(block_ids)

    def reset_prefix_cache(self) -> bool:
        """Take every key off every block, if nothing is held. Answers whether it did."""
        return self.block_pool.reset_prefix_cache()

    def _pop(self, request: Request, withdraw: bool) -> list[list[int]]:
        managers, request_id = self.coordinator.single_type_managers, request.request_id
        if withdraw:
            require(
                not any(manager.holds_what_others_took(request_id) for manager in managers),
                freeing.NOT_WHAT_OTHERS_TOOK,
                f"request {request_id!r}",
            )
            for manager in managers:
                manager.withdraw(request_id)
        pins = self.pins.pop(request_id, [])
        return [pins, *(manager.pop_blocks_for_free(request_id) for manager in managers)]

    def _no_rows(self) -> tuple[Sequence[KVCacheBlock], ...]:
        return tuple([] for _ in self.coordinator.single_type_managers)
