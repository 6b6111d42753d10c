"""What can be asked of a manager without changing it."""

from collections.abc import Sequence

from pagedkv.spec import Request
from pagedkv.spec.blocks import BlockList, KVCacheBlock, KVCacheBlocks
from pagedkv.spec.deployment import check_hashes

from .coordinator import KVCacheCoordinator
from .pool import BlockPool


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
        if not self.enable_caching or request.skip_reading_prefix_cache:
            return self.create_kv_cache_blocks(self._no_rows()), 0, 0
        check_hashes(request, self.block_pool.hash_block_size)
        rows, length, junction = self.coordinator.find_longest_cache_hit(
            request.block_hashes, self._longest_hit(request)
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
            request.block_hashes, self._longest_hit(request)
        )
        if max(lengths) > lengths[0]:
            return (*self.get_computed_blocks(request), False)
        return self.create_kv_cache_blocks(rows), lengths[0], 0, min(lengths) < lengths[0]

    def _longest_hit(self, request: Request) -> int:
        """How long a hit may be: the last token is computed, and what others cannot share."""
        return min(request.num_tokens - 1, self.coordinator.shared_length(request))

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

    def _no_rows(self) -> tuple[Sequence[KVCacheBlock], ...]:
        return tuple([] for _ in self.coordinator.single_type_managers)
