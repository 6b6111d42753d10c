"""What differs by kind of group, and no more."""

from collections.abc import Sequence
from typing import ClassVar, NamedTuple, Self, cast

from pagedkv.spec import MambaSpec
from pagedkv.spec.blocks import BlockList
from pagedkv.spec.deployment import refuse_uncovered
from pagedkv.spec.rules.hits import Hit, full_attention_hit, mamba_hit
from pagedkv.spec.rules.rows import Growth, attention_growth, mamba_growth, skipped_entries

from .pool import BlockPool
from .single_type import SingleTypeKVCacheManager


class HandOff(NamedTuple):
    """A partial state that was moved to a block of its own and can be taken."""

    request_id: str
    block_id: int
    num_tokens: int


class FullAttentionManager(SingleTypeKVCacheManager):
    """A group whose steps read every position. Blocks only grow."""

    keeps_keys: ClassVar[bool] = True

    @classmethod
    def hit(
        cls,
        cached: Sequence[bool],
        max_length: int,
        block_size: int,
        unit: int,
        alignment: int,
        drop_eagle: bool,
    ) -> Hit:
        """The longest run of blocks from the start, and with fine grain into the next."""
        return full_attention_hit(cached, max_length, block_size, unit, alignment, drop_eagle)

    def growth(self, row_length: int, end: int, is_first: bool) -> Growth:
        """One entry per started block."""
        return attention_growth(row_length, end, self.block_size)

    def skipped_entries(self, num_processed_tokens: int) -> int:
        """None: every position stays read."""
        return skipped_entries(False, num_processed_tokens, self.block_size)

    def reads_before_forward(self, row: Sequence[int], hit: int) -> list[int]:
        """The block in which a hit ends, from which it is copied. Whole blocks are read layer by layer."""
        return list(row[-1:]) if hit % self.block_size else []

    def names_partial(self, request_id: str, boundary: int, end: int, length: int) -> bool:
        """Once per holding, when the keys reach it: the block goes on to hold it."""
        return boundary <= length and request_id not in self.named_partial

    def get_num_common_prefix_blocks(self, running_request_id: str) -> int:
        """Leading blocks that are the same in every row."""
        row = self.rows.get(running_request_id, [])
        others = self.rows.values()
        different = (i for i, block in enumerate(row) if any(o[i : i + 1] != [block] for o in others))
        return next(different, len(row)) if self.enable_caching else 0


class MambaManager(SingleTypeKVCacheManager):
    """A group of recurrent states in "align" mode. Blocks are overwritten."""

    keeps_keys: ClassVar[bool] = False

    def __init__(self, kv_cache_spec: MambaSpec, *args: object, **kwargs: object) -> None:
        refuse_uncovered(mamba_cache_mode=(kv_cache_spec.mamba_cache_mode, "align"))
        super().__init__(kv_cache_spec, *args, **kwargs)  # type: ignore[arg-type]
        self.hand_offs: list[HandOff] = []

    def copy(self, pool: BlockPool) -> Self:
        """An independent manager in the same state."""
        twin = super().copy(pool)
        twin.hand_offs = self.hand_offs.copy()
        return twin

    @classmethod
    def hit(
        cls,
        cached: Sequence[bool],
        max_length: int,
        block_size: int,
        unit: int,
        alignment: int,
        drop_eagle: bool,
    ) -> Hit:
        """The last boundary with a state. Draft models have no states, so EAGLE drops nothing."""
        return mamba_hit(cached, max_length, unit, alignment)

    def growth(self, row_length: int, end: int, is_first: bool) -> Growth:
        """A place for the running state and its speculative successors."""
        num_speculative = cast(MambaSpec, self.kv_cache_spec).num_speculative_blocks
        return mamba_growth(row_length, end, self.block_size, num_speculative, is_first)

    def skipped_entries(self, num_processed_tokens: int) -> int:
        """All before the state that the next step starts from."""
        return skipped_entries(True, num_processed_tokens, self.block_size)

    def reads_before_forward(self, row: Sequence[int], hit: int) -> list[int]:
        """The state that the hit ends with."""
        return list(row[-1:])

    def names_partial(self, request_id: str, boundary: int, end: int, length: int) -> bool:
        """Only when the chunk ends there: no other state is ever written."""
        return end == boundary

    def moves_own_entry(self, request_id: str) -> bool:
        """Whether the request named a partial entry with its last chunk, and its block still has keys."""
        boundary = self.named_partial.get(request_id)
        return boundary is not None and bool(
            self.block_pool.keys[self.rows[request_id][boundary // self.block_size]]
        )

    def move_own_entry(self, request_id: str) -> None:
        """Move it to a private block that a copy fills before the forward."""
        moves = self.moves_own_entry(request_id)
        boundary = self.named_partial.pop(request_id, 0)
        if moves:
            (source,) = BlockList(self.block_pool, [self.rows[request_id][boundary // self.block_size]])
            (private,) = self.block_pool.get_new_blocks(1)
            self.block_pool.move_block_hashes(source, private)
            self.block_pool.touch([source])
            self.copies.append((source.block_id, private.block_id))
            self.filled[private.block_id] = None
            self.hand_offs.append(HandOff(request_id, private.block_id, boundary))

    def pop_blocks_for_free(self, request_id: str) -> list[int]:
        """Forget the request and its hand-offs; answers its row, whose blocks stay held."""
        self.hand_offs = [entry for entry in self.hand_offs if entry.request_id != request_id]
        return super().pop_blocks_for_free(request_id)
