"""What can be asked of a manager without changing it."""

from collections.abc import Sequence

from pagedkv.spec import Request
from pagedkv.spec.blocks import BlockList, KVCacheBlock, KVCacheBlocks

from .coordinator import KVCacheCoordinator
from .guards import check_names
from .ledger import Ledger
from .pool import BlockPool
from .single_type import SingleTypeKVCacheManager


class Views:
    """Lookups and tables."""

    enable_caching: bool
    block_pool: BlockPool
    coordinator: KVCacheCoordinator

    @property
    def usage(self) -> float:
        """The held share of all blocks but null."""
        return self.block_pool.get_usage()

    def get_computed_blocks(self, request: Request) -> tuple[KVCacheBlocks, int, int]:
        """The longest cached prefix of the request: its blocks, its length in tokens, the junction."""
        if request.skip_reading_prefix_cache or not self.enable_caching:
            return self.create_kv_cache_blocks(self._no_rows()), 0, 0
        check_names(self.block_pool, request)
        longest = self._longest_hit(request)
        rows, length, junction = self.coordinator.find_longest_cache_hit(request.block_hashes, longest)
        return self.create_kv_cache_blocks(rows), length, junction

    def get_computed_blocks_for_connector(self, request: Request) -> tuple[KVCacheBlocks, int, int, bool]:
        """The same for a connector that can fill in what some groups lack (clause Hit/divergent).

        The last value says whether a group ends before the length answered.
        """
        is_read = self.enable_caching and not request.skip_reading_prefix_cache
        if is_read and self.coordinator.has_attention_and_states:
            check_names(self.block_pool, request)
            longest = self._longest_hit(request)
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

    def _longest_hit(self, request: Request) -> int:
        """How long a hit may be: the last token is computed, and what others cannot share."""
        longest, ahead = request.num_tokens - 1, self.coordinator.shared_ahead
        return longest if ahead is None else min(longest, request.num_prompt_tokens + ahead)

    @property
    def _managers(self) -> tuple[SingleTypeKVCacheManager, ...]:
        return self.coordinator.single_type_managers

    @property
    def _ledger(self) -> Ledger:
        return self.coordinator.ledger

    def _no_rows(self) -> tuple[Sequence[KVCacheBlock], ...]:
        return tuple([] for _ in self._managers)

    def _as_blocks(self, rows: Sequence[Sequence[int]]) -> KVCacheBlocks:
        return self.create_kv_cache_blocks(tuple(BlockList(self.block_pool, row) for row in rows))
