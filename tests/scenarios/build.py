"""What every scenario starts from: small managers, requests and the moves on them.

Lengths are tokens. A manager here has two groups: full attention, whose blocks are as long as one hash unit
or as long as a state block, and states of mode "align" whose blocks are three units long, so that a block
has two boundaries inside it.
"""

from collections.abc import Sequence
from math import lcm
from types import ModuleType
from typing import Any

from pagedkv.spec import (
    ChunkedLocalAttentionSpec,
    CrossAttentionSpec,
    FullAttentionSpec,
    KVCacheConfig,
    KVCacheGroupSpec,
    KVCacheSpec,
    MambaSpec,
    MLAAttentionSpec,
    Request,
    RSWASpec,
    SinkFullAttentionSpec,
    SlidingWindowSpec,
    get_request_block_hasher,
    sha256,
)
from pagedkv.spec.cache_specs import MambaCacheMode

UNIT = 4
BLOCK = 3 * UNIT
ATTENTION, STATE = 0, 1


def words(count: int, first: int = 100) -> list[int]:
    """`count` distinct tokens; the same start gives the same tokens."""
    return list(range(first, first + count))


def request(name: str, tokens: Sequence[int], *, unit: int = UNIT) -> Request:
    """A request whose tokens are hashed in units of `unit`."""
    return Request(name, list(tokens), block_hasher=get_request_block_hasher(unit, sha256))


def attention(block_size: int) -> FullAttentionSpec:
    """The smallest full attention spec of that block size."""
    return FullAttentionSpec(block_size=block_size, num_kv_heads=1, head_size=1, dtype="float32")


def states(block_size: int = BLOCK, speculative: int = 0, mode: MambaCacheMode = "align") -> MambaSpec:
    """The smallest spec of states, with that many speculative blocks."""
    return MambaSpec(
        block_size=block_size,
        shapes=((1, 1),),
        dtypes=("float32",),
        mamba_cache_mode=mode,
        num_speculative_blocks=speculative,
    )


def latent(block_size: int) -> MLAAttentionSpec:
    """The smallest spec of latent attention."""
    return MLAAttentionSpec(block_size=block_size, num_kv_heads=1, head_size=1, dtype="float32")


def reference_window(block_size: int, rswa_window: int) -> RSWASpec:
    """The smallest spec of reference sliding windows."""
    return RSWASpec(block_size, 1, 1, "float32", rswa_window)


def with_sinks(block_size: int, sink_len: int) -> SinkFullAttentionSpec:
    """The smallest spec of full attention with sinks."""
    return SinkFullAttentionSpec(block_size, 1, 1, "float32", sink_len)


def cross(block_size: int) -> CrossAttentionSpec:
    """The smallest spec of cross attention."""
    return CrossAttentionSpec(block_size=block_size, num_kv_heads=1, head_size=1, dtype="float32")


def window(block_size: int, sliding_window: int) -> SlidingWindowSpec:
    """The smallest spec of sliding windows."""
    return SlidingWindowSpec(block_size, 1, 1, "float32", sliding_window)


def chunked(block_size: int, attention_chunk_size: int) -> ChunkedLocalAttentionSpec:
    """The smallest spec of chunked local attention."""
    return ChunkedLocalAttentionSpec(block_size, 1, 1, "float32", attention_chunk_size)


def deployment(
    side: ModuleType,
    *specs: KVCacheSpec,
    num_blocks: int = 40,
    flagged: Sequence[int] = (),
    max_model_len: int = 4096,
    unit: int = UNIT,
    zeroes: bool = False,
    **options: Any,
) -> Any:
    """A manager of one group per spec over `num_blocks` blocks; a draft model reads the flagged groups.

    The worker `zeroes` blocks of attention before it uses them, or does not.
    """
    groups = [KVCacheGroupSpec([f"layer {g}"], spec, g in flagged) for g, spec in enumerate(specs)]
    config = KVCacheConfig(
        num_blocks=num_blocks, kv_cache_tensors=[], kv_cache_groups=groups, needs_kv_cache_zeroing=zeroes
    )
    return side.KVCacheManager(
        config,
        max_model_len=max_model_len,
        scheduler_block_size=lcm(*(spec.block_size for spec in specs)),
        hash_block_size=unit,
        **options,
    )


def hybrid(
    side: ModuleType,
    attention_block: int = UNIT,
    *,
    num_blocks: int = 40,
    speculative: int = 0,
    more: Sequence[KVCacheSpec] = (),
    **options: Any,
) -> Any:
    """A manager of one attention group and one group of states, then `more`, over `num_blocks` blocks."""
    specs = [attention(attention_block), states(speculative=speculative), *more]
    return deployment(side, *specs, num_blocks=num_blocks, **options)


def admit(manager: Any, newcomer: Request, **options: Any) -> Any:
    """Look a request up and allocate the rest of it in one chunk; what `allocate_slots` answered."""
    blocks, hit, _ = manager.get_computed_blocks(newcomer)
    return manager.allocate_slots(newcomer, newcomer.num_tokens - hit, hit, blocks, **options)


def publish(manager: Any, name: str, tokens: Sequence[int], **options: Any) -> Request:
    """A request that runs all of `tokens` in one chunk and keeps running.

    It reads no state of equal tokens, since its own last token is always computed: so two of these make equal
    blocks.
    """
    owner = request(name, tokens)
    assert admit(manager, owner, **options) is not None
    owner.num_computed_tokens = owner.num_tokens
    return owner


def decode(manager: Any, running: Request, *tokens: int) -> Any:
    """Run `tokens` one by one behind what is computed; the answer to the last one."""
    answer = None
    for token in tokens:
        running.append_output_token_ids([token])
        answer = manager.allocate_slots(running, 1)
        assert answer is not None
        running.num_computed_tokens += 1
    return answer


def leave_behind(manager: Any, name: str, tokens: Sequence[int]) -> Request:
    """A request that published `tokens` in an earlier pass and is gone."""
    owner = publish(manager, name, tokens)
    manager.free(owner)
    manager.new_step_starts()
    return owner


def holder(manager: Any, keyed: Request, length: int, group: int) -> Any:
    """The block that answers for the first `length` tokens in `group`, or None."""
    found = manager.block_pool.get_cached_block(keyed.block_hashes[length // UNIT - 1], [group])
    return None if found is None else found[0]


def table(manager: Any, name: str, group: int) -> list[int]:
    """Block ids of a request's table in `group`."""
    return list(manager.get_blocks(name).get_block_ids()[group])


def widths(blocks: Any) -> list[int]:
    """How many entries each group of an answer has."""
    return [len(group) for group in blocks.blocks]


def ids(blocks: Sequence[Any]) -> list[int]:
    """The ids of blocks, in order."""
    return [block.block_id for block in blocks]


def drain(pool: Any) -> list[int]:
    """Take every free block; the ids in the order in which they came."""
    return ids(pool.get_new_blocks(pool.get_num_free_blocks()))
