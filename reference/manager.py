"""The KV cache manager of the specification."""

from collections.abc import Iterable

from pagedkv.spec import (
    BlockHashWithGroupId,
    KVCacheBlockCopy,
    KVCacheConfig,
    KVCacheEvent,
    Request,
    RequestStatus,
    Snapshot,
    UnsupportedError,
    require,
)
from pagedkv.spec.blocks import BlockList, KVCacheBlock, KVCacheBlocks
from pagedkv.spec.clauses import allocation, config, freeing
from pagedkv.spec.deployment import (
    check_hashes,
    check_kinds,
    check_limits,
    check_processed,
    check_progress,
    check_whole,
    refuse_uncovered,
)
from pagedkv.spec.rules.admission import watermark_blocks
from pagedkv.spec.rules.caching import cacheable_length

from .allocation import allocate
from .call import Call
from .coordinator import KVCacheCoordinator
from .guards import require_fitting_hit, require_numbers, require_places
from .kinds import MambaManager
from .pool import BlockPool
from .snapshot import snapshot_of
from .views import Views


class KVCacheManager(Views):
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
        retention_interval: int | None = None,
        resend_boundaries: bool = False,
    ) -> None:
        check_limits(max_model_len, max_in_flight_tokens, watermark)
        refuse_uncovered(
            num_prefill_lookahead=(num_prefill_lookahead, 0),
            log_stats=(log_stats, False),
            metrics_collector=(metrics_collector, None),
        )
        check_kinds(kv_cache_config, max_model_len, enable_caching)
        self.kv_cache_config = kv_cache_config
        self.max_model_len = max_model_len
        self.enable_caching = enable_caching
        self.block_pool = BlockPool(
            kv_cache_config.num_blocks, enable_caching, hash_block_size, enable_kv_cache_events
        )
        self.coordinator = KVCacheCoordinator(
            kv_cache_config,
            self.block_pool,
            scheduler_block_size,
            use_eagle,
            max_model_len,
            max_in_flight_tokens,
            retention_interval,
            resend_boundaries,
            dcp_world_size,
            pcp_world_size,
        )
        self.watermark_blocks = watermark_blocks(watermark, kv_cache_config.num_blocks)
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
        """Give the request places for ``num_new_tokens`` tokens after those that are computed.

        These are its own, a hit of ``num_new_computed_tokens``, and ``num_external_computed_tokens`` that
        others have computed and a connector loads; draft models need ``num_lookahead_tokens`` places more,
        and cross attention, at the request's first call, those for ``num_encoder_tokens``.
        Answers the new blocks per group. None: they do not fit, or this pass still fills what the hit starts
        from; then nothing has changed but the entries that were skipped. ``delay_cache_blocks`` publishes no
        keys: the load is under way when the step runs. ``reserved_blocks``, and the watermark for a request
        that waits while others are scheduled, stay free; ``full_sequence_must_fit`` asks for room for all
        the request's tokens first.
        """
        check_progress(request)
        check_whole(
            allocation.ASKS_FOR_SOMETHING,
            0,
            num_new_tokens=num_new_tokens,
            num_new_computed_tokens=num_new_computed_tokens,
            num_lookahead_tokens=num_lookahead_tokens,
            num_external_computed_tokens=num_external_computed_tokens,
            num_encoder_tokens=num_encoder_tokens,
            reserved_blocks=reserved_blocks,
        )
        managers, request_id = self.coordinator.single_type_managers, request.request_id
        local = request.num_computed_tokens + num_new_computed_tokens
        start = local + num_external_computed_tokens
        call = Call(
            request_id=request_id,
            is_first=not any(request_id in manager.rows for manager in managers),
            hit=num_new_computed_tokens,
            local=local,
            start=start,
            end=start + num_new_tokens,
            slots=min(start + num_new_tokens + num_lookahead_tokens, self.max_model_len),
            encoder=num_encoder_tokens,
            lists_external=not delay_cache_blocks,
        )
        rows = self._no_rows() if new_computed_blocks is None else new_computed_blocks.blocks
        publishes = self.enable_caching and not delay_cache_blocks
        require_numbers(call, request, self.max_model_len)
        if publishes:
            check_hashes(request, self.block_pool.hash_block_size)
        require_fitting_hit(managers, call, request, rows)

        processed = request.num_computed_tokens - request.num_in_flight_tokens
        self.remove_skipped_blocks(request_id, processed, request.num_prompt_tokens)
        is_admitted = request.status in (RequestStatus.WAITING, RequestStatus.PREEMPTED)
        spare = reserved_blocks + (self.watermark_blocks if is_admitted and has_scheduled_reqs else 0)
        whole = max(call.end, min(request.num_tokens, self.max_model_len)) if full_sequence_must_fit else None
        new_rows = allocate(self.coordinator, call, rows, spare, whole)
        if new_rows is None:
            return None
        if publishes:
            self._publish(request, call.end)
        return self.create_kv_cache_blocks(tuple(BlockList(self.block_pool, row) for row in new_rows))

    def cache_blocks(self, request: Request, num_computed_tokens: int) -> None:
        """Publish what the request's blocks hold once ``num_computed_tokens`` tokens are computed.

        Without hashes it has no names for that.
        """
        managers = self.coordinator.single_type_managers
        can_name = all(manager.takes_hits for manager in managers)
        require(can_name, config.CROSS_WITHOUT_CACHING, "cache_blocks was called", UnsupportedError)
        check_progress(request)
        check_whole(allocation.COVERS_THE_TOKENS, 0, num_computed_tokens=num_computed_tokens)
        require_places(managers, request.request_id, num_computed_tokens)
        if self.enable_caching:
            self._publish(request, num_computed_tokens)

    def _publish(self, request: Request, num_computed_tokens: int) -> None:
        for manager in self.coordinator.single_type_managers if request.block_hashes else ():
            length = cacheable_length(
                num_computed_tokens,
                self.coordinator.shared_length(request),
                self.coordinator.alignment,
                manager.block_size,
                manager.use_eagle,
            )
            manager.cache_blocks(request, num_computed_tokens, length)

    def remove_skipped_blocks(
        self, request_id: str, processed_computed_tokens: int, num_prompt_tokens: int | None = None
    ) -> None:
        """Let go of entries that no step after so many tokens reads; of a gap if the prompt's end is told."""
        check_processed(processed_computed_tokens, num_prompt_tokens)
        for manager in self.coordinator.single_type_managers:
            manager.remove_skipped_blocks(request_id, processed_computed_tokens, num_prompt_tokens)

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

    def take_new_block_ids(self) -> list[int]:
        """Drain the blocks that the worker zeroes before the step, group by group."""
        return [b for manager in self.coordinator.single_type_managers for b in manager.take_new_block_ids()]

    def record_blocks_for_zeroing(self, request_id: str, start_token: int) -> None:
        """List the request's blocks from ``start_token`` on, which a failed load has not filled."""
        managers = [m for m in self.coordinator.single_type_managers if m.lists_new_blocks]
        check_whole(allocation.LISTS_NEW_BLOCKS, 0, start_token=start_token)
        require(
            all(start_token % manager.block_size == 0 for manager in managers),
            allocation.LISTS_NEW_BLOCKS,
            f"start_token is {start_token}, the block sizes are {[m.block_size for m in managers]}",
        )
        for manager in managers:
            row = manager.rows.get(request_id, [])
            manager.new_block_ids += [b for b in row[start_token // manager.block_size :] if b]

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

        ``withdraw``: what this pass scheduled for it never runs (clauses Withdraw/...).
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
