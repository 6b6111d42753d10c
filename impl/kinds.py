"""What differs by kind of group, and no more."""

from typing import Any, ClassVar, NoReturn, cast

import torch
from torch import Tensor

from pagedkv.spec import (
    ChunkedLocalAttentionSpec,
    KVCacheSpec,
    MambaSpec,
    RSWASpec,
    SinkFullAttentionSpec,
    SlidingWindowSpec,
    UnsupportedError,
    require,
)
from pagedkv.spec.clauses import config

from .calls import Asked
from .ops.fixed import leading_run
from .pool import BlockPool
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
    reads_end: ClassVar[bool] = False

    @classmethod
    def first_read(cls, num_processed: Tensor, reach: int) -> Tensor:
        """The start."""
        return torch.zeros_like(num_processed)

    def common_prefix(self, row: int) -> int:
        """Columns in which all rows in use agree on a block, up to the first that differs."""
        tables = self.tables
        in_use = torch.tensor(list(self.ledger.rows.values()), device=tables.length.device)
        mine = self.row(row) if self.enable_caching else self.row(row)[:0]
        return int(leading_run((tables.blocks[in_use, : len(mine)] == mine).all(0) & (mine != 0)))


class RSWAManager(FullAttentionManager):
    """A group whose steps read the prompt and the last positions. It is looked up as full attention is."""

    lets_go: ClassVar[bool] = True

    def first_dead(self, num_prompt_tokens: Tensor) -> Tensor:
        """The one after the block in which the prompt ends."""
        return (num_prompt_tokens + self.block_size - 1) // self.block_size

    def end_of_dead(self, num_processed: Tensor, num_prompt_tokens: Tensor) -> Tensor:
        """The begin of the window."""
        return (num_processed - cast(RSWASpec, self.kv_cache_spec).rswa_window).clamp(min=0)


class SinkFullAttentionManager(FullAttentionManager):
    """A group whose steps read every position, and sinks in blocks that it holds for ever."""

    def __init__(
        self, kv_cache_spec: SinkFullAttentionSpec, block_pool: BlockPool, *args: Any, **kwargs: Any
    ) -> None:
        super().__init__(kv_cache_spec, block_pool, *args, **kwargs)
        self.sink_blocks = block_pool.take_sinks(kv_cache_spec.sink_len // self.block_size)


class CrossAttentionManager(FullAttentionManager):
    """A group that reads what an encoder made of the request's input. No prefix names that."""

    takes_hits: ClassVar[bool] = False
    supports_fine_grained_hash_lookup: ClassVar[bool] = False

    def slots(self, asked: Asked) -> int:
        """All that the encoder made."""
        return asked.encoder

    def growth(self, lengths: Tensor, ends: Tensor, slots: Tensor, is_first: bool) -> Growth:
        """Blocks for that, when the row begins (clause Allocate/encoder_once)."""
        return super().growth(lengths, ends, slots * is_first, is_first)

    def written(self, rows: Tensor, starts: Tensor, ends: Tensor) -> tuple[Tensor, Tensor]:
        """Nothing that anybody else could start from."""
        return rows[:0], rows[:0]

    def common_prefix(self, row: int) -> int:
        """None is shared."""
        return 0

    @classmethod
    def find_longest_cache_hit(cls, *args: object, **kwargs: object) -> NoReturn:
        """Refused by clause Config/cross_without_caching."""
        require(False, config.CROSS_WITHOUT_CACHING, "find_longest_cache_hit was called", UnsupportedError)
        raise AssertionError


class SlidingWindowManager(AttentionManager):
    """A group whose steps read the last positions. Hits end with blocks."""

    lets_go: ClassVar[bool] = True
    reads_end: ClassVar[bool] = True
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
    reads_end: ClassVar[bool] = True
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
    """A group of recurrent states. Blocks are overwritten."""

    keeps_keys: ClassVar[bool] = False
    lets_go: ClassVar[bool] = True
    reads_end: ClassVar[bool] = True

    @property
    def is_aligned(self) -> bool:
        """Whether rows keep the running state and the one before, and chunks end where states are kept."""
        return cast(MambaSpec, self.kv_cache_spec).mamba_cache_mode == "align"

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
        """A place for the running state and for its speculative successors; those passed are used again.

        States that are not aligned have one per started block.
        """
        speculative = cast(MambaSpec, self.kv_cache_spec).num_speculative_blocks
        if not self.is_aligned:
            return super().growth(lengths, ends, slots + speculative * self.block_size, is_first)
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
