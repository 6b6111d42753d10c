"""The scheduler rules that the cache depends on."""

from typing import Any

from pagedkv.spec import Request
from pagedkv.spec.blocks import KVCacheBlock, KVCacheBlocks


class Scheduler:
    """Three rules, callable on any object that has the attributes they read."""

    def _mamba_block_aligned_split(
        self: Any,
        request: Request,
        num_new_tokens: int,
        num_new_local_computed_tokens: int = 0,
        num_external_computed_tokens: int = 0,
    ) -> int:
        """How many of ``num_new_tokens`` tokens to compute now; 0 means wait (clauses Chunk/...)."""
        size, prompt, total = self.cache_config.block_size, request.num_prompt_tokens, request.num_tokens
        start = request.num_computed_tokens + num_new_local_computed_tokens + num_external_computed_tokens
        end, prefilled = start + num_new_tokens, max(prompt, total - 1)
        if start >= prefilled:
            return num_new_tokens
        threshold = self.scheduler_config.long_prefill_token_threshold
        most = min(self.max_num_scheduled_tokens, threshold or self.max_num_scheduled_tokens)
        if end < prefilled:
            # The chunk gives up what reaches into a block, unless that is all and no step could do better.
            shorter = end - end % size
            end = shorter if shorter > start else start if size <= most else end
        if start < request.shared_prefix_boundary < end:
            junction = request.shared_prefix_boundary
            end = _nearer(junction - (junction - start) % size, start, end)
        last_state = total // size * size - size * bool(self.use_eagle)
        end = _nearer(last_state, start, end)
        end = _nearer(start + -start % size, start, end)
        boundary = prompt // self.hash_block_size * self.hash_block_size
        if self.mamba_partial_cache_hit and boundary % size and max(0, last_state) < boundary < prompt:
            end = _nearer(boundary, start, end)
        if getattr(self, "resend_boundaries", False):
            end = _nearer(self.kv_cache_manager.coordinator.resend_length(prompt), start, end)
        return end - start

    def _get_local_prefix_cache_hit(self: Any, request: Request) -> tuple[KVCacheBlocks, int, int, bool]:
        """The lookup that the connector can use (clause Schedule/lookup_by_connector)."""
        takes_divergent = getattr(self.connector, "supports_divergent_local_hybrid_hits", False)
        manager = self.kv_cache_manager
        ask = manager.get_computed_blocks_for_connector if takes_divergent else manager.get_computed_blocks
        blocks, hit, junction, *diverged = ask(request)
        return blocks, hit, junction, any(diverged)

    def _free_cow_retained_blocks(self: Any, blocks: list[KVCacheBlock], fence_seq: int) -> None:
        """Release the ends of copies whose step is ``fence_seq`` (clause Schedule/released_when_processed).

        What waits is listed as a table is, to be freed from its end.
        """
        if self.defer_block_free and self.processed_step_seq < fence_seq:
            self.deferred_frees.append((fence_seq, [*reversed(blocks)]))
        else:
            self.kv_cache_manager.block_pool.free_blocks(blocks)


def _nearer(stop: int, start: int, end: int) -> int:
    """The stop, if a chunk from ``start`` to ``end`` passes it, else the end."""
    return stop if start < stop < end else end
