"""The KV cache manager on tensors."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

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
from pagedkv.spec.blocks import BlockList, KVCacheBlock, KVCacheBlocks, ids_of
from pagedkv.spec.clauses import allocation, config, freeing
from pagedkv.spec.deployment import check_kinds, check_limits, check_processed, check_whole, refuse_uncovered
from pagedkv.spec.requests import appended

from .allocation import allocate, is_taken_by_others
from .batch import serve
from .calls import Asked, calls_of
from .coordinator import KVCacheCoordinator
from .guards import Counts, check_counts, check_hit, check_names, checked_batch, row_with_places
from .naming import publish
from .pool import BlockPool
from .snapshot import snapshot_of
from .views import Views


class KVCacheManager(Views):
    """Gives requests blocks for their tokens, out of the cache where a prefix is known.

    Its state is tensors on ``device``. Single-threaded. Every operation first refuses what its clauses
    exclude, changing nothing.
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
        device: torch.device | str = "cpu",
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
            kv_cache_config.num_blocks, enable_caching, hash_block_size, enable_kv_cache_events, device
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
        share, whole = watermark.as_integer_ratio()
        self.watermark_blocks = kv_cache_config.num_blocks * share // whole

    def copy(self) -> "KVCacheManager":
        """An independent manager in the same state."""
        twin = KVCacheManager.__new__(KVCacheManager)
        vars(twin).update(vars(self))
        twin.block_pool = self.block_pool.copy()
        twin.coordinator = self.coordinator.copy(twin.block_pool)
        return twin

    def snapshot(self) -> Snapshot[BlockHashWithGroupId]:
        """All of the state, free of implementation."""
        return snapshot_of(self.coordinator)

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
        blocks = self._no_rows() if new_computed_blocks is None else new_computed_blocks.blocks
        counts = Counts(
            num_new_tokens,
            num_new_computed_tokens,
            num_external_computed_tokens,
            num_lookahead_tokens,
            reserved_blocks,
            num_encoder_tokens,
        )
        local, start, end = check_counts(request, counts, self.max_model_len)
        publishes = self.enable_caching and not delay_cache_blocks
        if publishes:
            check_names(self.block_pool, request)
        check_hit(self._managers, request, counts, blocks)
        processed = request.num_computed_tokens - request.num_in_flight_tokens
        self.remove_skipped_blocks(request.request_id, processed, request.num_prompt_tokens)
        asked = Asked(
            request,
            [self.block_pool.tensor(ids_of(row)) for row in blocks],
            num_new_computed_tokens,
            local,
            start,
            end,
            slots=min(end + num_lookahead_tokens, self.max_model_len),
            whole=max(end, min(request.num_tokens, self.max_model_len)) * full_sequence_must_fit,
            encoder=num_encoder_tokens,
            spare=reserved_blocks + self._watermark(request) * has_scheduled_reqs,
            lists_loaded=not delay_cache_blocks,
            publishes=publishes,
        )
        answered = allocate(self.coordinator, asked)
        return None if answered is None else self._as_blocks([row.tolist() for row in answered])

    def allocate_slots_batch(
        self,
        requests: Sequence[Request],
        num_new_tokens: int | Sequence[int],
        new_token_ids: Sequence[int | Sequence[int]] | None = None,
    ) -> tuple[list[bool], list[KVCacheBlocks | None]]:
        """Give each request places for its new tokens, as ``allocate_slots`` does for one after the other.

        ``num_new_tokens`` is one number for all or one for each, ``new_token_ids`` what is appended to each
        beforehand, served or not. Answers who was served, and what ``allocate_slots`` answers for each.
        """
        counts = num_new_tokens if isinstance(num_new_tokens, Sequence) else [num_new_tokens] * len(requests)
        starts = checked_batch(self._managers, requests, counts, new_token_ids, self.max_model_len)
        with appended(requests, new_token_ids):
            for request in requests if self.enable_caching else ():
                check_names(self.block_pool, request)
        ends = [start + count for start, count in zip(starts, counts, strict=True)]
        spare = max(map(self._watermark, requests), default=0)
        rows = serve(self.coordinator, requests, starts, ends, spare, self.enable_caching, self._alone)
        blocks = [None if one is None else self._as_blocks(one) for one in rows]
        return [one is not None for one in rows], blocks

    def cache_blocks(self, request: Request, num_computed_tokens: int) -> None:
        """Publish what the request's blocks hold once ``num_computed_tokens`` tokens are computed."""
        can_name = all(manager.takes_hits for manager in self._managers)
        require(can_name, config.CROSS_WITHOUT_CACHING, "cache_blocks was called", UnsupportedError)
        row, ends = row_with_places(self._managers, request, num_computed_tokens), [num_computed_tokens]
        if self.enable_caching:
            calls = calls_of([request], [row], ends, ends, self.block_pool.device)
            publish(self.coordinator, [request], calls)

    def remove_skipped_blocks(
        self, request_id: str, processed_computed_tokens: int, num_prompt_tokens: int | None = None
    ) -> None:
        """Let go of entries that no step after so many tokens reads; of a gap if the prompt's end is told."""
        check_processed(processed_computed_tokens, num_prompt_tokens)
        row = self._ledger.rows.get(request_id)
        if row is None:
            return
        rows, processed = self.block_pool.tensor([row]), self.block_pool.tensor([processed_computed_tokens])
        prompt = self.block_pool.tensor([num_prompt_tokens or 0])
        for manager in self._managers:
            # Where a prompt ends is asked for only where its end matters: then nothing goes without it.
            if manager.reads_end or (manager.lets_go and num_prompt_tokens is not None):
                skip = manager.skippable(rows, processed, prompt)
                manager.let_go(rows, processed, prompt, skip)
                self.block_pool.release(skip.block)

    def new_step_starts(self) -> None:
        """Open a pass."""
        self._ledger.new_step_starts()

    def take_kv_cache_block_copies(self) -> tuple[list[KVCacheBlockCopy], list[KVCacheBlock]]:
        """Drain the queued copies, and the blocks to free once they have run."""
        pairs = self._ledger.take_copies().tolist()
        retained = BlockList(self.block_pool, [block_id for pair in pairs for block_id in pair])
        return [KVCacheBlockCopy(*pair) for pair in pairs], list(retained)

    def take_new_block_ids(self) -> list[int]:
        """Drain the blocks that the worker zeroes before the step, group by group."""
        return [block_id for manager in self._managers for block_id in manager.take_new_block_ids()]

    def record_blocks_for_zeroing(self, request_id: str, start_token: int) -> None:
        """List the request's blocks from ``start_token`` on, which a failed load has not filled."""
        check_whole(allocation.LISTS_NEW_BLOCKS, 0, start_token=start_token)
        sizes = [manager.block_size for manager in self._managers if manager.lists_new_blocks]
        told = f"start_token is {start_token}, the block sizes are {sizes}"
        require(not any(start_token % size for size in sizes), allocation.LISTS_NEW_BLOCKS, told)
        row = self._ledger.rows.get(request_id)
        if row is not None:
            for manager in self._managers:
                blocks = manager.row(row)[start_token // manager.block_size :]
                manager.list_new(blocks[blocks != 0])

    def take_partial_tail_offloads(self) -> dict[str, list[tuple[int, int, int]]]:
        """Drain the hand-offs: per request (group, block id, length), each block pinned until its free."""
        if not self._ledger.hand_offs.count:
            return {}
        entries = self._ledger.take_hand_offs()
        self.block_pool.hold(entries[:, 2])
        names = {row: request_id for request_id, row in self._ledger.rows.items()}
        taken: dict[str, list[tuple[int, int, int]]] = {}
        for row, group, block, num_tokens in entries.tolist():
            taken.setdefault(names[row], []).append((group, block, num_tokens))
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
        for ids in (pins, *(row.flip(0) for row in rows)):
            self.block_pool.release(ids)

    def pop_blocks_for_free(self, request: Request, withdraw: bool = False) -> list[KVCacheBlock]:
        """Forget the request and answer what it holds, still held: pins, then rows, group by group.

        Whoever gets them frees them from the last to the first.
        """
        ids = torch.cat(self._pop(request, withdraw))
        return list(BlockList(self.block_pool, ids.tolist()))

    def evict_blocks(self, block_ids: Iterable[int]) -> None:
        """Take every key off these blocks."""
        self.block_pool.evict_blocks(block_ids)

    def reset_prefix_cache(self) -> bool:
        """Take every key off every block, if nothing is held. Answers whether it did."""
        return self.block_pool.reset_prefix_cache()

    def _pop(self, request: Request, withdraw: bool) -> list[Tensor]:
        """Pins and rows of a request, which is forgotten."""
        ledger, request_id = self._ledger, request.request_id
        marked = ledger.rows.get(request_id, ledger.gone.get(request_id))
        if withdraw and marked is not None:
            taken = any(is_taken_by_others(manager, marked) for manager in self._managers)
            require(not taken, freeing.NOT_WHAT_OTHERS_TOOK, f"request {request_id!r}")
            ledger.withdraw(marked, self.block_pool.keys)
        row = ledger.rows.get(request_id)
        if row is None:
            return [self.block_pool.tensor([])] * (1 + len(self._managers))
        rows = [manager.end(row) for manager in self._managers]
        return [ledger.close(request_id), *rows]

    def _watermark(self, request: Request) -> int:
        """Blocks that stay free of this request while others are scheduled."""
        is_admitted = request.status in (RequestStatus.PREEMPTED, RequestStatus.WAITING)
        return self.watermark_blocks * is_admitted

    def _alone(self, request: Request, num_new_tokens: int) -> Sequence[Sequence[int]] | None:
        blocks = self.allocate_slots(request, num_new_tokens)
        return None if blocks is None else blocks.get_block_ids()
