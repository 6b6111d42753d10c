"""What a kind of group says of itself, without tables."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor

from pagedkv.spec import BlockHash, KVCacheSpec, UnsupportedError, require
from pagedkv.spec.blocks import BlockList, KVCacheBlock
from pagedkv.spec.clauses import config

from .lookup import Kind, Prefix, kind_hit
from .pool import BlockPool


class Facts(ABC):
    """Functions of numbers and specs, and of a pool where one is given."""

    keeps_keys: ClassVar[bool]
    """Whether blocks only grow, so that keys stay true while they are written on."""
    lets_go: ClassVar[bool]
    """Whether entries fall out of use while the request runs."""
    reads_end: ClassVar[bool]
    """Whether steps read only the end of a prefix, so that hits need no more."""
    takes_hits: ClassVar[bool] = True
    """Whether prefixes have names, so that a row can begin with one that is known."""
    supports_fine_grained_hash_lookup: ClassVar[bool] = True

    @classmethod
    def reach(cls, kv_cache_spec: KVCacheSpec) -> int:
        """How far the spec's windows or chunks go, with the next token; 0 where nothing falls out of use."""
        return 0

    @classmethod
    @abstractmethod
    def first_read(cls, num_processed: Tensor, reach: int) -> Tensor:
        """The first position that a step after ``num_processed`` [n] tokens reads, int64 [n]."""

    @classmethod
    def spacing(cls, alignment: int, retention: int | None) -> int | None:
        """Tokens between the hits that blocks are kept for; 0 for no such hits, None where all are kept."""
        return None

    @classmethod
    def admission_cap_of(
        cls, kv_cache_spec: KVCacheSpec, max_in_flight_tokens: int, max_model_len: int
    ) -> int | None:
        """The most blocks that a request ever holds at a time, None where that grows with the request."""
        return None

    @classmethod
    def kept(
        cls,
        blocks: Tensor,
        alignment: int,
        kv_cache_spec: KVCacheSpec,
        is_eagle: bool,
        retention: int | None,
        boundaries: Tensor,
    ) -> Tensor | None:
        """Which of the blocks at these places of a row [n] become keys, bool [n]; None where all do.

        Each is judged by the next hit that is not shorter than what goes before the block, and, with a
        ``retention`` interval, by hits at ``boundaries`` [n, m]. With EAGLE a hit reads one block beyond.
        """
        spacing, size, reach = cls.spacing(alignment, retention), kv_cache_spec.block_size, 0
        if spacing is None:
            return None
        reach, spare = cls.reach(kv_cache_spec), size * (is_eagle and cls.keeps_keys)
        window = (reach + size - 2) // size * size + spare
        spacing -= spacing % size
        if 0 < spacing <= window:
            return None
        ends = (blocks + 1) * size
        is_kept = torch.zeros_like(blocks, dtype=torch.bool)
        if spacing:
            hits = (ends - spare + spacing - 1) // spacing * spacing
            is_kept = (hits > 0) & (ends > cls.first_read(hits, reach))
        if retention is not None:
            hits = boundaries // alignment * alignment
            hits -= hits % size
            goes_before, is_read = ends[:, None] <= hits + spare, ends[:, None] > cls.first_read(hits, reach)
            is_kept |= ((hits > 0) & goes_before & is_read).any(1)
        return is_kept

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
        if alignment_tokens is None:
            return None
        blocks = torch.arange(start_block, end_block)
        boundaries = torch.tensor([list(reachable_boundaries)], dtype=torch.int64).expand(len(blocks), -1)
        is_kept = cls.kept(blocks, alignment_tokens, kv_cache_spec, use_eagle, retention_interval, boundaries)
        return None if is_kept is None else is_kept.tolist()

    @classmethod
    def kind(
        cls, kv_cache_spec: KVCacheSpec, block_size: int, groups: Sequence[int], drops_for_eagle: bool
    ) -> Kind:
        """Groups of this spec, as a lookup asks them; blocks cover ``block_size`` tokens."""
        reach = cls.reach(kv_cache_spec)
        return Kind(
            tuple(groups),
            block_size,
            lambda num_processed: cls.first_read(num_processed, reach),
            cls.reads_end,
            cls.keeps_keys,
            drops_for_eagle and cls.keeps_keys,
        )

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
    ) -> tuple[tuple[Sequence[KVCacheBlock], ...], int]:
        """The hit of these groups, asked alone: blocks per group and length in tokens. Changes nothing."""
        ranks = dcp_world_size * pcp_world_size
        require(
            ranks == 1 or not cls.reads_end,
            config.CONTEXT_PARALLEL,
            f"{cls.__name__} is asked for dcp_world_size {dcp_world_size}, pcp_world_size {pcp_world_size}",
            UnsupportedError,
        )
        unit, size = block_pool.hash_block_size, kv_cache_spec.tokens_per_block(ranks)
        require(
            alignment_tokens % size == 0 or alignment_tokens == unit,
            config.SIZES_DIVIDE,
            f"alignment_tokens is {alignment_tokens}, the unit {unit}, the block size {size}",
        )
        prefix = Prefix(block_pool, block_hashes, max_length)
        found = kind_hit(
            prefix, cls.kind(kv_cache_spec, size, kv_cache_group_ids, drop_eagle_block), alignment_tokens
        )
        rows = found.rows(found.length, size)
        return tuple(BlockList(block_pool, row.tolist()) for row in rows), found.length
