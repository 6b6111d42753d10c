"""What a deployment declares about its KV cache: groups of layers, their shapes, the pool.

Nothing here changes after construction. Sizes are in tokens where a name says ``block_size``, in
blocks where it says ``num_blocks``. Data types are opaque: a torch dtype, its name, anything that
compares and prints.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from .clauses import config
from .refusals import ValuePreconditionError, require

MambaCacheMode = Literal["none", "align", "all"]


_MOST = 2**31 - 1
"""More tokens than any model has, and as many blocks as have ids of 32 bits."""


def _require_size(name: str, value: object, least: int = 1) -> None:
    is_count = isinstance(value, int) and not isinstance(value, bool) and least <= value <= _MOST
    told = f"{name} is {value!r}, not a whole number from {least} to {_MOST}"
    require(is_count, config.SIZES_ARE_POSITIVE, told, ValuePreconditionError)


@dataclass(frozen=True)
class KVCacheSpec:
    """The part every kind of group shares."""

    block_size: int
    """Tokens that one block of the group covers."""

    def __post_init__(self) -> None:
        _require_size("block_size", self.block_size)

    def tokens_per_block(self, num_ranks: int) -> int:
        """How many tokens a block covers of which each of ``num_ranks`` ranks holds its part."""
        return self.block_size * num_ranks


@dataclass(frozen=True)
class FullAttentionSpec(KVCacheSpec):
    """Attention over the whole prefix: every position's keys and values stay needed."""

    num_kv_heads: int
    head_size: int
    dtype: Any


@dataclass(frozen=True)
class MLAAttentionSpec(FullAttentionSpec):
    """Latent attention: full attention that stores one compressed vector per position. Only bytes differ."""


@dataclass(frozen=True)
class RSWASpec(FullAttentionSpec):
    """Reference sliding window: attention over the whole prompt and the last ``rswa_window`` positions."""

    rswa_window: int

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_size("rswa_window", self.rswa_window)


@dataclass(frozen=True)
class SinkFullAttentionSpec(FullAttentionSpec):
    """Full attention beside ``sink_len`` learnt positions, which are the same for all requests."""

    sink_len: int

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_size("sink_len", self.sink_len)


@dataclass(frozen=True)
class SlidingWindowSpec(KVCacheSpec):
    """Attention over the last ``sliding_window`` positions, the token's own among them."""

    num_kv_heads: int
    head_size: int
    dtype: Any
    sliding_window: int

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_size("sliding_window", self.sliding_window)


@dataclass(frozen=True)
class ChunkedLocalAttentionSpec(KVCacheSpec):
    """Attention over the positions of the token's own chunk of ``attention_chunk_size`` tokens."""

    num_kv_heads: int
    head_size: int
    dtype: Any
    attention_chunk_size: int

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_size("attention_chunk_size", self.attention_chunk_size)


@dataclass(frozen=True)
class CrossAttentionSpec(KVCacheSpec):
    """Attention of a decoder to what an encoder made of the request's input, which stays as it is."""

    num_kv_heads: int
    head_size: int
    dtype: Any


@dataclass(frozen=True)
class MambaSpec(KVCacheSpec):
    """A recurrent layer: one state stands for the whole prefix that ends at it."""

    shapes: Any
    dtypes: Any
    mamba_cache_mode: MambaCacheMode = "align"
    num_speculative_blocks: int = 0
    """Blocks kept behind the running state for the states of draft tokens."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_size("num_speculative_blocks", self.num_speculative_blocks, least=0)

    def tokens_per_block(self, num_ranks: int) -> int:
        """Its own size: each rank holds whole states."""
        return self.block_size


@dataclass(frozen=True)
class KVCacheGroupSpec:
    """Layers that share one spec, one block table and one space of keys."""

    layer_names: Sequence[str]
    kv_cache_spec: KVCacheSpec
    is_eagle_group: bool = False
    """Whether a draft model reads this group, so that its hits give up their last part."""


@dataclass(frozen=True)
class KVCacheConfig:
    """One pool of ``num_blocks`` physical blocks and the groups that draw from it."""

    num_blocks: int
    kv_cache_tensors: Sequence[Any] = field(default_factory=list)
    kv_cache_groups: Sequence[KVCacheGroupSpec] = field(default_factory=list)
    needs_kv_cache_zeroing: bool = False
    """Whether the worker zeroes blocks of attention before it uses them, and needs to be told which."""

    def __post_init__(self) -> None:
        _require_size("num_blocks", self.num_blocks)
