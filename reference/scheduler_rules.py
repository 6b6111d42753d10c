"""The scheduler's rules that the cache depends on."""

from typing import Any

from pagedkv.spec import Request
from pagedkv.spec.blocks import KVCacheBlock, KVCacheBlocks
from pagedkv.spec.rules.caching import partial_boundary
from pagedkv.spec.rules.chunks import chunk_tokens


class SchedulerRules:
    """Three rules, callable on any object that has the attributes they read."""

    def _mamba_block_aligned_split(
        self: Any,
        request: Request,
        num_new_tokens: int,
        num_new_local_computed_tokens: int = 0,
        num_external_computed_tokens: int = 0,
    ) -> int:
        """How many of ``num_new_tokens`` tokens to compute now; 0 means wait (clauses Chunk/...)."""
        threshold = self.scheduler_config.long_prefill_token_threshold
        budget = self.max_num_scheduled_tokens
        block_size = self.cache_config.block_size
        boundary = partial_boundary(request.num_prompt_tokens, self.hash_block_size, block_size)
        return chunk_tokens(
            start=request.num_computed_tokens + num_new_local_computed_tokens + num_external_computed_tokens,
            num_new_tokens=num_new_tokens,
            num_prompt_tokens=request.num_prompt_tokens,
            num_tokens=request.num_tokens,
            block_size=block_size,
            max_step_tokens=min(budget, threshold) if threshold > 0 else budget,
            is_eagle=self.use_eagle,
            junction=request.shared_prefix_boundary,
            boundary=boundary if self.mamba_partial_cache_hit else 0,
            resent=self.kv_cache_manager.coordinator.resend_length(request.num_prompt_tokens)
            if getattr(self, "resend_boundaries", False)
            else 0,
        )

    def _get_local_prefix_cache_hit(self: Any, request: Request) -> tuple[KVCacheBlocks, int, int, bool]:
        """The lookup that the connector can use (clause Schedule/lookup_by_connector)."""
        if self.connector is not None and self.connector.supports_divergent_local_hybrid_hits:
            answer: tuple[KVCacheBlocks, int, int, bool]
            answer = self.kv_cache_manager.get_computed_blocks_for_connector(request)
            return answer
        blocks, hit, junction = self.kv_cache_manager.get_computed_blocks(request)
        return blocks, hit, junction, False

    def _free_cow_retained_blocks(self: Any, blocks: list[KVCacheBlock], fence_seq: int) -> None:
        """Release the ends of copies whose step is ``fence_seq`` (clause Schedule/released_when_processed).

        What waits is listed as a table is, to be freed from its end.
        """
        if self.defer_block_free and fence_seq > self.processed_step_seq:
            self.deferred_frees.append((fence_seq, blocks[::-1]))
        else:
            self.kv_cache_manager.block_pool.free_blocks(blocks)
