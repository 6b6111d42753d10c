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
    Snapshot,
    ValuePreconditionError,
    require,
)
from pagedkv.spec.blocks import BlockList, KVCacheBlock, KVCacheBlocks, ids_of
from pagedkv.spec.clauses import config, freeing
from pagedkv.spec.deployment import refuse_uncovered
from pagedkv.spec.requests import appended

from .allocation import allocate, calls_of, is_taken_by_others, publish
from .batch import serve
from .coordinator import KVCacheCoordinator
from .guards import check_hit, check_names, checked_batch, checked_start
from .pool import BlockPool
from .snapshot import snapshot_of


class KVCacheManager:
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
        device: torch.device | str = "cpu",
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
            kv_cache_config.num_blocks, enable_caching, hash_block_size, enable_kv_cache_events, device
        )
        self.coordinator = KVCacheCoordinator(
            kv_cache_config, self.block_pool, scheduler_block_size, use_eagle
        )
        self._managers, self._ledger = self.coordinator.single_type_managers, self.coordinator.ledger

    def copy(self) -> "KVCacheManager":
        """An independent manager in the same state."""
        twin = KVCacheManager.__new__(KVCacheManager)
        vars(twin).update(vars(self))
        twin.block_pool = self.block_pool.copy()
        twin.coordinator = self.coordinator.copy(twin.block_pool)
        twin._managers, twin._ledger = twin.coordinator.single_type_managers, twin.coordinator.ledger
        return twin

    def snapshot(self) -> Snapshot[BlockHashWithGroupId]:
        """All of the state, free of implementation."""
        return snapshot_of(self.coordinator)

    # Lookups and views, which change nothing

    @property
    def usage(self) -> float:
        """The held share of all blocks but null."""
        return self.block_pool.get_usage()

    def get_computed_blocks(self, request: Request) -> tuple[KVCacheBlocks, int, int]:
        """The longest cached prefix of the request: its blocks, its length in tokens, the junction."""
        if request.skip_reading_prefix_cache or not self.enable_caching:
            return self.create_kv_cache_blocks(tuple([] for _ in self._managers)), 0, 0
        check_names(self.block_pool, request)
        longest = request.num_tokens - 1
        rows, length, junction = self.coordinator.find_longest_cache_hit(request.block_hashes, longest)
        return self.create_kv_cache_blocks(rows), length, junction

    def get_computed_blocks_for_connector(self, request: Request) -> tuple[KVCacheBlocks, int, int, bool]:
        """The same for a connector that can fill in what some groups lack (clause Hit/divergent).

        The last value says whether a group ends before the length answered.
        """
        is_read = self.enable_caching and not request.skip_reading_prefix_cache
        if is_read and self.coordinator.has_attention_and_states:
            check_names(self.block_pool, request)
            longest = request.num_tokens - 1
            rows, lengths = self.coordinator.find_longest_cache_hit_per_group(request.block_hashes, longest)
            if lengths[0] == max(lengths):
                return self.create_kv_cache_blocks(rows), lengths[0], 0, lengths[0] > min(lengths)
        return (*self.get_computed_blocks(request), False)

    def create_kv_cache_blocks(self, blocks: tuple[Sequence[KVCacheBlock], ...]) -> KVCacheBlocks:
        """These blocks per group as one value."""
        return KVCacheBlocks(blocks)

    def truncate_computed_blocks(self, blocks: KVCacheBlocks, num_computed_tokens: int) -> KVCacheBlocks:
        """``blocks`` cut at ``num_computed_tokens`` (clause Hit/truncation)."""
        return self.create_kv_cache_blocks(self.coordinator.truncated(blocks.blocks, num_computed_tokens))

    def get_blocks(self, request_id: str) -> KVCacheBlocks:
        """The request's tables; empty for an unknown request."""
        row = self._ledger.rows.get(request_id)
        tables = [[] if row is None else manager.row(row).tolist() for manager in self._managers]
        return self._as_blocks(tables)

    def get_block_ids(self, request_id: str) -> tuple[list[int], ...]:
        """The request's tables as ids."""
        return self.get_blocks(request_id).get_block_ids()

    def get_num_common_prefix_blocks(self, running_request_id: str) -> list[int]:
        """Per group the leading blocks of this request that every request with a table holds."""
        row = self._ledger.rows.get(running_request_id)
        return [0 if row is None else manager.common_prefix(row) for manager in self._managers]

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
        hit = num_new_computed_tokens
        blocks = (
            tuple([] for _ in self._managers) if new_computed_blocks is None else new_computed_blocks.blocks
        )
        start = checked_start(request, num_new_tokens, hit, self.max_model_len)
        check_hit(self._managers, request, hit, blocks)
        publishes = self.enable_caching and not delay_cache_blocks
        if publishes:
            check_names(self.block_pool, request)
        hits = [self._tensor(ids_of(row)) for row in blocks]
        num_processed = request.num_computed_tokens - request.num_in_flight_tokens
        self.remove_skipped_blocks(request.request_id, num_processed)
        end = start + num_new_tokens
        answered = allocate(self.coordinator, request, hits, hit, start, end, publishes)
        return None if answered is None else self._as_blocks([row.tolist() for row in answered])

    def allocate_slots_batch(
        self,
        requests: Sequence[Request],
        num_new_tokens: int | Sequence[int],
        new_token_ids: Sequence[int | Sequence[int]] | None = None,
    ) -> tuple[list[bool], list[KVCacheBlocks | None]]:
        """Give each request places for its new tokens, as ``allocate_slots`` does for one after the other.

        ``num_new_tokens`` is one number for all or one for each, ``new_token_ids`` what is appended to each
        beforehand. Answers which requests were served, and what ``allocate_slots`` answers for each.
        """
        counts = [num_new_tokens] * len(requests) if isinstance(num_new_tokens, int) else num_new_tokens
        starts = checked_batch(requests, counts, new_token_ids, self.max_model_len)
        with appended(requests, new_token_ids):
            for request in requests if self.enable_caching else ():
                check_names(self.block_pool, request)
        ends = [start + count for start, count in zip(starts, counts, strict=True)]
        rows = serve(self.coordinator, requests, starts, ends, self.enable_caching, self._alone)
        blocks = [None if one is None else self._as_blocks(one) for one in rows]
        return [one is not None for one in rows], blocks

    def cache_blocks(self, request: Request, num_computed_tokens: int) -> None:
        """Publish what the request's blocks hold once ``num_computed_tokens`` tokens are computed."""
        row = self._ledger.rows[request.request_id]
        ends = [num_computed_tokens]
        publish(self.coordinator, [request], calls_of([request], [row], ends, ends, self.block_pool.device))

    def remove_skipped_blocks(
        self, request_id: str, processed_computed_tokens: int, num_prompt_tokens: int | None = None
    ) -> None:
        """Let go of entries that no step after ``processed_computed_tokens`` tokens reads."""
        row = self._ledger.rows.get(request_id)
        if row is None:
            return
        rows, processed = self._tensor([row]), self._tensor([processed_computed_tokens])
        for manager in self._managers:
            if manager.lets_go:
                skip = manager.skippable(rows, processed)
                manager.let_go(rows, processed, skip)
                self.block_pool.release(skip.block)

    def new_step_starts(self) -> None:
        """Open a pass."""
        self._ledger.new_step_starts()

    def take_kv_cache_block_copies(self) -> tuple[list[KVCacheBlockCopy], list[KVCacheBlock]]:
        """Drain the queued copies, and the blocks to free once they have run."""
        pairs = self._ledger.take_copies().tolist()
        retained = BlockList(self.block_pool, [block_id for pair in pairs for block_id in pair])
        return [KVCacheBlockCopy(*pair) for pair in pairs], list(retained)

    def take_partial_tail_offloads(self) -> dict[str, list[tuple[int, int, int]]]:
        """Drain the hand-offs: per request (group, block id, length), each block pinned until its free."""
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

        ``withdraw`` says that what this pass scheduled for it will never run (clause Withdraw/keys_go).
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
        ledger, row = self._ledger, self._ledger.rows.get(request.request_id)
        if row is None:
            return [self._tensor([])] * (1 + len(self._managers))
        if withdraw:
            taken = any(is_taken_by_others(manager, row) for manager in self._managers)
            require(not taken, freeing.NOT_WHAT_OTHERS_TOOK, f"request {request.request_id!r}")
            ledger.withdraw(row, self.block_pool.keys)
        rows = [manager.end(row) for manager in self._managers]
        return [ledger.close(request.request_id), *rows]

    def _alone(self, request: Request, num_new_tokens: int) -> Sequence[Sequence[int]] | None:
        blocks = self.allocate_slots(request, num_new_tokens)
        return None if blocks is None else blocks.get_block_ids()

    def _as_blocks(self, rows: Sequence[Sequence[int]]) -> KVCacheBlocks:
        return self.create_kv_cache_blocks(tuple(BlockList(self.block_pool, row) for row in rows))

    def _tensor(self, values: Sequence[int]) -> Tensor:
        return torch.tensor(values, dtype=torch.int64, device=self.block_pool.device)
