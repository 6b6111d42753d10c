"""What differs by kind of group, and no more."""

from typing import ClassVar, cast

import torch
from torch import Tensor

from pagedkv.spec import ChunkedLocalAttentionSpec, KVCacheSpec, MambaSpec, SlidingWindowSpec
from pagedkv.spec.deployment import refuse_uncovered

from .ops.fixed import leading_run
from .single_type import Growth, SingleTypeKVCacheManager


class AttentionManager(SingleTypeKVCacheManager):
    """A group whose blocks only grow."""

    keeps_keys: ClassVar[bool] = True

    def reads_before_forward(self, row: Tensor, hit: int) -> Tensor:
        """The block in which a hit ends, from which it is copied."""
        return row[len(row) - (hit % self.block_size > 0) :]

    def names_partial(self, named: Tensor, boundaries: Tensor, ends: Tensor, lengths: Tensor) -> Tensor:
        """Each once per holding, when the keys reach it: prompts only get longer."""
        return (named < boundaries) & (lengths >= boundaries)


class FullAttentionManager(AttentionManager):
    """A group whose steps read every position."""

    lets_go: ClassVar[bool] = False

    @classmethod
    def first_read(cls, num_processed: Tensor, reach: int) -> Tensor:
        """The start."""
        return torch.zeros_like(num_processed)

    def common_prefix(self, row: int) -> int:
        """Columns in which all rows in use agree, up to the first that differs."""
        tables = self.tables
        in_use = torch.tensor(list(self.ledger.rows.values()), device=tables.length.device)
        mine = self.row(row) if self.enable_caching else self.row(row)[:0]
        return int(leading_run((tables.blocks[in_use, : len(mine)] == mine).all(0)))


class SlidingWindowManager(AttentionManager):
    """A group whose steps read the last positions. Hits end with blocks."""

    lets_go: ClassVar[bool] = True
    supports_fine_grained_hash_lookup: ClassVar[bool] = False

    @classmethod
    def reach(cls, kv_cache_spec: KVCacheSpec) -> int:
        """The length of windows."""
        return cast(SlidingWindowSpec, kv_cache_spec).sliding_window

    @classmethod
    def first_read(cls, num_processed: Tensor, reach: int) -> Tensor:
        """As far back as the window of the next token goes."""
        return (num_processed + 1 - reach).clamp(min=0)

    @classmethod
    def spacing(cls, alignment: int, retention: int | None) -> int | None:
        """That of all hits, unless there is an interval."""
        return alignment if retention is None else retention

    @classmethod
    def admission_cap_of(
        cls, kv_cache_spec: KVCacheSpec, max_in_flight_tokens: int, max_model_len: int
    ) -> int | None:
        """What the window and the tokens in flight cover, which may begin inside a block."""
        size, span = kv_cache_spec.block_size, cls.reach(kv_cache_spec) + max_in_flight_tokens - 1
        return (min(span, max_model_len) + 2 * size - 1) // size


class ChunkedLocalAttentionManager(AttentionManager):
    """A group whose steps read the positions of their chunk. Hits end with blocks."""

    lets_go: ClassVar[bool] = True
    supports_fine_grained_hash_lookup: ClassVar[bool] = False

    @classmethod
    def reach(cls, kv_cache_spec: KVCacheSpec) -> int:
        """The length of chunks."""
        return cast(ChunkedLocalAttentionSpec, kv_cache_spec).attention_chunk_size

    @classmethod
    def first_read(cls, num_processed: Tensor, reach: int) -> Tensor:
        """The start of the next token's chunk."""
        return num_processed // reach * reach

    @classmethod
    def admission_cap_of(
        cls, kv_cache_spec: KVCacheSpec, max_in_flight_tokens: int, max_model_len: int
    ) -> int | None:
        """What a chunk and the tokens in flight cover."""
        size, span = kv_cache_spec.block_size, cls.reach(kv_cache_spec) + max_in_flight_tokens
        return (min(span, max_model_len) + size - 1) // size


class MambaManager(SingleTypeKVCacheManager):
    """A group of recurrent states in "align" mode. Blocks are overwritten."""

    keeps_keys: ClassVar[bool] = False
    lets_go: ClassVar[bool] = True

    def __init__(self, kv_cache_spec: MambaSpec, *args: object, **kwargs: object) -> None:
        refuse_uncovered(mamba_cache_mode=(kv_cache_spec.mamba_cache_mode, "align"))
        super().__init__(kv_cache_spec, *args, **kwargs)  # type: ignore[arg-type]

    @classmethod
    def reach(cls, kv_cache_spec: KVCacheSpec) -> int:
        """The next token and the last one, where the state stands."""
        return 2

    @classmethod
    def first_read(cls, num_processed: Tensor, reach: int) -> Tensor:
        """A state is read where it stands."""
        return (num_processed - 1).clamp(min=0)

    @classmethod
    def spacing(cls, alignment: int, retention: int | None) -> int | None:
        """All are kept, unless there is an interval."""
        return retention

    def growth(self, lengths: Tensor, ends: Tensor, slots: Tensor, is_first: bool) -> Growth:
        """A place for the running state and for its speculative successors; those passed are used again."""
        speculative = cast(MambaSpec, self.kv_cache_spec).num_speculative_blocks
        running = (ends - 1) // self.block_size
        behind = (running - lengths).clamp(min=0)
        reusable = 0 if is_first else speculative
        moved = (running - lengths + reusable).clamp(0, reusable)
        missing = (running + 1 + speculative) - (lengths + behind + moved)
        return Growth(behind, moved, missing.clamp(min=0), lengths - reusable)

    def reads_before_forward(self, row: Tensor, hit: int) -> Tensor:
        """The state that the hit ends with."""
        return row[-1:]

    def names_partial(self, named: Tensor, boundaries: Tensor, ends: Tensor, lengths: Tensor) -> Tensor:
        """Only when the chunk ends there: no other state is ever written."""
        return ends == boundaries
