"""What differs by kind of group, and no more."""

from collections.abc import Sequence
from typing import ClassVar, NamedTuple, NoReturn, Self, cast

from pagedkv.spec import (
    ChunkedLocalAttentionSpec,
    KVCacheSpec,
    MambaSpec,
    Request,
    RSWASpec,
    SinkFullAttentionSpec,
    SlidingWindowSpec,
    UnsupportedError,
    require,
)
from pagedkv.spec.blocks import BlockList, ids_of
from pagedkv.spec.clauses import config
from pagedkv.spec.rules.reach import Reads, gap_entries
from pagedkv.spec.rules.rows import Growth, attention_growth, mamba_growth, states_growth

from .call import Call
from .pool import BlockPool
from .single_type import SingleTypeKVCacheManager


class HandOff(NamedTuple):
    """A partial state that was moved to a block of its own and can be taken."""

    request_id: str
    block_id: int
    num_tokens: int


class AttentionManager(SingleTypeKVCacheManager):
    """A group whose blocks only grow."""

    keeps_keys: ClassVar[bool] = True

    def reads_before_forward(self, row: Sequence[int], hit: int) -> list[int]:
        """The block in which a hit ends, from which it is copied. Whole blocks are read layer by layer."""
        return list(row[-1:]) if hit % self.block_size else []

    def names_partial(self, request_id: str, boundary: int, end: int, length: int) -> bool:
        """Each once per holding, when the keys reach it: the block goes on to hold it."""
        return self.named_partial.get(request_id, 0) < boundary <= length


class FullAttentionManager(AttentionManager):
    """A group whose steps read every position."""

    reads: ClassVar[Reads] = "prefix"

    def get_num_common_prefix_blocks(self, running_request_id: str) -> int:
        """Leading blocks that are the same in every row, up to a gap."""
        row = self.rows.get(running_request_id, [])
        others = self.rows.values()
        different = (
            i for i, block in enumerate(row) if not block or any(o[i : i + 1] != [block] for o in others)
        )
        return next(different, len(row)) if self.enable_caching else 0


class RSWAManager(FullAttentionManager):
    """A group whose steps read the prompt and the last positions. It is looked up as full attention is."""

    def dead_entries(self, num_processed_tokens: int, num_prompt_tokens: int | None) -> range:
        """Those between the prompt and the window."""
        if num_prompt_tokens is None:
            return range(0)
        window = cast(RSWASpec, self.kv_cache_spec).rswa_window
        return gap_entries(num_prompt_tokens, num_processed_tokens, window, self.block_size)


class SinkFullAttentionManager(FullAttentionManager):
    """A group whose steps read every position, and sinks in blocks that it holds for ever."""

    def __init__(self, kv_cache_spec: SinkFullAttentionSpec, *args: object, **kwargs: object) -> None:
        super().__init__(kv_cache_spec, *args, **kwargs)  # type: ignore[arg-type]
        self.sink_blocks = ids_of(self.block_pool.take_sinks(kv_cache_spec.sink_len // self.block_size))


class SlidingWindowManager(AttentionManager):
    """A group whose steps read the last positions. Hits end with blocks."""

    reads: ClassVar[Reads] = "window"
    supports_fine_grained_hash_lookup: ClassVar[bool] = False

    @classmethod
    def reach(cls, kv_cache_spec: KVCacheSpec) -> int:
        """The length of windows."""
        return cast(SlidingWindowSpec, kv_cache_spec).sliding_window


class ChunkedLocalAttentionManager(AttentionManager):
    """A group whose steps read the positions of their chunk. Hits end with blocks."""

    reads: ClassVar[Reads] = "chunk"
    supports_fine_grained_hash_lookup: ClassVar[bool] = False

    @classmethod
    def reach(cls, kv_cache_spec: KVCacheSpec) -> int:
        """The length of chunks."""
        return cast(ChunkedLocalAttentionSpec, kv_cache_spec).attention_chunk_size


class CrossAttentionManager(AttentionManager):
    """A group that reads what an encoder made of the request's input. No prefix names that."""

    reads: ClassVar[Reads] = "encoder"
    takes_hits: ClassVar[bool] = False
    supports_fine_grained_hash_lookup: ClassVar[bool] = False

    def growth(self, row_length: int, call: Call) -> Growth:
        """Places for all that the encoder made, when the row begins (clause Allocate/encoder_once)."""
        end = call.encoder if call.is_first else 0
        return attention_growth(row_length, end, self.block_size)

    def num_external(self, call: Call, row: Sequence[int]) -> int:
        """None: of the encoder's output others compute nothing."""
        return 0

    def written(self, call: Call, row: Sequence[int]) -> Sequence[int]:
        """Nothing that anybody else could start from."""
        return []

    def cache_blocks(self, request: Request, end: int, length: int) -> None:
        """Refused by clause Config/cross_without_caching."""
        require(False, config.CROSS_WITHOUT_CACHING, "cache_blocks was called", UnsupportedError)

    @classmethod
    def find_longest_cache_hit(cls, *args: object, **kwargs: object) -> NoReturn:
        """Refused by clause Config/cross_without_caching."""
        require(False, config.CROSS_WITHOUT_CACHING, "find_longest_cache_hit was called", UnsupportedError)
        raise AssertionError


class MambaManager(SingleTypeKVCacheManager):
    """A group of recurrent states. Blocks are overwritten."""

    keeps_keys: ClassVar[bool] = False
    reads: ClassVar[Reads] = "state"

    def __init__(self, kv_cache_spec: MambaSpec, *args: object, **kwargs: object) -> None:
        super().__init__(kv_cache_spec, *args, **kwargs)  # type: ignore[arg-type]
        self.is_aligned = kv_cache_spec.mamba_cache_mode == "align"
        self.num_speculative = kv_cache_spec.num_speculative_blocks
        self.hand_offs: list[HandOff] = []

    def copy(self, pool: BlockPool) -> Self:
        """An independent manager in the same state."""
        twin = super().copy(pool)
        twin.hand_offs = self.hand_offs.copy()
        return twin

    def growth(self, row_length: int, call: Call) -> Growth:
        """A place for the running state and its speculative successors."""
        if self.is_aligned:
            return mamba_growth(row_length, call.end, self.block_size, self.num_speculative, call.is_first)
        return states_growth(row_length, call.slots, self.block_size, self.num_speculative)

    def reads_before_forward(self, row: Sequence[int], hit: int) -> list[int]:
        """The state that the hit ends with."""
        return list(row[-1:])

    def names_partial(self, request_id: str, boundary: int, end: int, length: int) -> bool:
        """Only when the chunk ends there: no other state inside a block is ever written."""
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
