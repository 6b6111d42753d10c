"""What the pool holds of a prefix."""

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from pagedkv.spec import BlockHash, KVCacheSpec, UnsupportedError, require
from pagedkv.spec.blocks import KVCacheBlock
from pagedkv.spec.clauses import config
from pagedkv.spec.rules.admission import admission_cap
from pagedkv.spec.rules.caching import is_kept, keeps_all
from pagedkv.spec.rules.hits import Kind, longest_hit
from pagedkv.spec.rules.reach import Reads
from pagedkv.spec.rules.sizes import blocks_for

from .pool import BlockPool


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


class FindsHits(ABC):
    """What a kind of group says of lookups, without any state."""

    reads: ClassVar[Reads]
    """Which part of a prefix its steps read."""
    supports_fine_grained_hash_lookup: ClassVar[bool] = True

    @classmethod
    def reach(cls, kv_cache_spec: KVCacheSpec) -> int:
        """The length of the spec's windows or chunks, 0 where it has none."""
        return 0

    @classmethod
    def admission_cap_of(
        cls, kv_cache_spec: KVCacheSpec, max_in_flight_tokens: int, max_model_len: int
    ) -> int | None:
        """The most blocks that a request ever holds at a time, None where nothing is let go."""
        reach, size = cls.reach(kv_cache_spec), kv_cache_spec.block_size
        return admission_cap(cls.reads, reach, max_in_flight_tokens, max_model_len, size)

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
        num_ranks = dcp_world_size * pcp_world_size
        require(
            num_ranks == 1 or cls.reads == "prefix",
            config.CONTEXT_PARALLEL,
            f"dcp_world_size is {dcp_world_size}, pcp_world_size {pcp_world_size}, for a {cls.__name__}",
            UnsupportedError,
        )
        unit, size = block_pool.hash_block_size, kv_cache_spec.tokens_per_block(num_ranks)
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

    @classmethod
    def reachable_block_mask(
        cls,
        start_block: int,
        end_block: int,
        alignment_tokens: int | None,
        kv_cache_spec: KVCacheSpec,
        use_eagle: bool,
        retention_interval: int | None = None,
        reachable_boundaries: Sequence[int] = (),
    ) -> list[bool] | None:
        """Which blocks from ``start_block`` to ``end_block`` become keys; None: all, wherever they are."""
        size, reach = kv_cache_spec.block_size, cls.reach(kv_cache_spec)
        if alignment_tokens is None or keeps_all(
            cls.reads, size, reach, alignment_tokens, use_eagle, retention_interval
        ):
            return None
        return [
            is_kept(
                cls.reads,
                i,
                size,
                reach,
                alignment_tokens,
                use_eagle,
                retention_interval,
                reachable_boundaries,
            )
            for i in range(start_block, end_block)
        ]
