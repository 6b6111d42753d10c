"""What differs by kind of group, and no more."""

from collections.abc import Sequence
from typing import ClassVar, cast

import torch
from torch import Tensor

from pagedkv.spec import MambaSpec
from pagedkv.spec.deployment import refuse_uncovered

from .lookup import Found, Prefix, attention_hit, state_hit
from .ops.fixed import leading_run
from .single_type import Growth, SingleTypeKVCacheManager


class FullAttentionManager(SingleTypeKVCacheManager):
    """A group whose steps read every position. Blocks only grow."""

    keeps_keys: ClassVar[bool] = True
    lets_go: ClassVar[bool] = False

    @classmethod
    def hit(
        cls,
        prefix: Prefix,
        groups: Sequence[int],
        max_length: int,
        block_size: int,
        alignment: int,
        drop_eagle: bool,
    ) -> Found:
        """A run of blocks from the start."""
        return attention_hit(prefix, groups, max_length, block_size, alignment, drop_eagle)

    def growth(self, lengths: Tensor, ends: Tensor, is_first: bool) -> Growth:
        """One entry per started block."""
        nothing = torch.zeros_like(lengths)
        missing = ends - lengths * self.block_size
        return Growth(
            nothing, nothing, (missing.clamp(min=0) + self.block_size - 1) // self.block_size, nothing
        )

    def reads_before_forward(self, row: Tensor, hit: int) -> Tensor:
        """The block in which a hit ends, from which it is copied."""
        return row[len(row) - (hit % self.block_size > 0) :]

    def names_partial(self, named: Tensor, boundaries: Tensor, ends: Tensor, lengths: Tensor) -> Tensor:
        """Once per holding, when the keys reach it."""
        return (named == 0) & (lengths >= boundaries)

    def common_prefix(self, row: int) -> int:
        """Columns in which all rows in use agree, up to the first that differs."""
        tables = self.tables
        in_use = torch.tensor(list(self.ledger.rows.values()), device=tables.length.device)
        mine = self.row(row) if self.enable_caching else self.row(row)[:0]
        return int(leading_run((tables.blocks[in_use, : len(mine)] == mine).all(0)))


class MambaManager(SingleTypeKVCacheManager):
    """A group of recurrent states in "align" mode. Blocks are overwritten."""

    keeps_keys: ClassVar[bool] = False
    lets_go: ClassVar[bool] = True

    def __init__(self, kv_cache_spec: MambaSpec, *args: object, **kwargs: object) -> None:
        refuse_uncovered(mamba_cache_mode=(kv_cache_spec.mamba_cache_mode, "align"))
        super().__init__(kv_cache_spec, *args, **kwargs)  # type: ignore[arg-type]

    @classmethod
    def hit(
        cls,
        prefix: Prefix,
        groups: Sequence[int],
        max_length: int,
        block_size: int,
        alignment: int,
        drop_eagle: bool,
    ) -> Found:
        """The last boundary with a state."""
        return state_hit(prefix, groups, max_length, alignment)

    def growth(self, lengths: Tensor, ends: Tensor, is_first: bool) -> Growth:
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
