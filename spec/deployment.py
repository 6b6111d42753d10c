"""Which deployments and arguments are refused, whoever manages the cache."""

from collections.abc import Sequence
from math import lcm
from typing import get_args

from .blocks import KVCacheBlock, ids_of
from .cache_specs import (
    ChunkedLocalAttentionSpec,
    CrossAttentionSpec,
    FullAttentionSpec,
    KVCacheConfig,
    KVCacheSpec,
    MambaCacheMode,
    MambaSpec,
    MLAAttentionSpec,
    RSWASpec,
    SinkFullAttentionSpec,
    SlidingWindowSpec,
)
from .clauses import allocation, config, hashing, hit, index, pool
from .refusals import NamedClause, UnsupportedError, ValuePreconditionError, require
from .requests import Request

_MOST = 2**53 - 1
_LAST_GROUP = 2**31 - 1


def refuse_uncovered(**arguments: tuple[object, object]) -> None:
    """Refuse each argument, given as (value, what is covered), that is not what is covered."""
    for name, (given, covered) in arguments.items():
        require(given == covered, config.COVERED, f"{name} is {given!r}", UnsupportedError)


def check_whole(clause: NamedClause, least: int, most: int = _MOST, /, **values: object) -> None:
    """Refuse each value that is no whole number from ``least`` to ``most``: no count is larger than that."""
    for name, value in values.items():
        require(
            isinstance(value, int) and least <= value <= most,
            clause,
            f"{name} is {value!r}, not a whole number from {least} to {most}",
            ValuePreconditionError,
        )


def check_progress(request: Request) -> None:
    """Refuse a request whose scheduler has noted about it what is no number of tokens."""
    check_whole(
        allocation.ASKS_FOR_SOMETHING,
        0,
        num_computed_tokens=request.num_computed_tokens,
        num_in_flight_tokens=request.num_in_flight_tokens,
        shared_prefix_boundary=request.shared_prefix_boundary,
    )


def check_processed(processed_computed_tokens: int, num_prompt_tokens: int | None) -> None:
    """Refuse what says up to where entries may go and is no number of tokens.

    Of a request that begins again more may be in flight than is computed.
    """
    clause = allocation.SKIPPED_ARE_FREED
    check_whole(clause, -_MOST, processed_computed_tokens=processed_computed_tokens)
    check_whole(clause, 0, num_prompt_tokens=0 if num_prompt_tokens is None else num_prompt_tokens)


def check_group_ids(kv_cache_group_ids: Sequence[int]) -> None:
    """Refuse what is the number of no group."""
    for group in kv_cache_group_ids:
        check_whole(index.BOTH_WAYS, 0, _LAST_GROUP, kv_cache_group_id=group)


def check_naming(
    blocks: Sequence[KVCacheBlock],
    num_named: int,
    block_size: int,
    kv_cache_group_id: int,
    block_mask: Sequence[bool] | None = None,
) -> Sequence[int]:
    """The ids of ``blocks``, which are to be named.

    Refuses another number of them or of the mask's entries than ``num_named``, one of them twice, blocks
    of no token and what is no group.
    """
    check_group_ids([kv_cache_group_id])
    check_whole(index.PROMOTION, 1, block_size=block_size)
    ids = list(ids_of(blocks))
    held = [block_id for block_id in ids if block_id]
    require(
        len(ids) == num_named and len(set(held)) == len(held),
        index.PROMOTION,
        lambda: f"{num_named} different blocks are to be named, and blocks has {ids} there",
        ValuePreconditionError,
    )
    masked = num_named if block_mask is None else len(block_mask)
    told = f"block_mask has {masked} entries for {num_named} blocks"
    require(masked == num_named, index.PROMOTION, told, ValuePreconditionError)
    return ids


def check_cut(num_rows: int, num_groups: int, num_tokens: int) -> None:
    """Refuse to cut what is not a hit of these groups, or at what is no length."""
    check_whole(hit.TRUNCATION, 0, num_computed_tokens=num_tokens)
    told = f"blocks has {num_rows} groups, there are {num_groups}"
    require(num_rows == num_groups, hit.TRUNCATION, told)


def check_block_ids(block_ids: Sequence[int], num_gpu_blocks: int) -> None:
    """Refuse ids of blocks that are to lose their keys and are not in the pool."""
    for block_id in block_ids:
        require(
            isinstance(block_id, int) and 0 <= block_id < num_gpu_blocks,
            pool.EVICT_TAKES_KEYS,
            f"block {block_id!r} is not in a pool of {num_gpu_blocks} blocks",
        )


def check_hashes(request: Request, hash_block_size: int) -> None:
    """Refuse a request whose hashes are not those of its full units."""
    units = request.num_tokens // hash_block_size
    require(
        len(request.block_hashes) in (0, units),
        hashing.EVERY_FULL_UNIT,
        lambda: (
            f"request {request.request_id!r} has {len(request.block_hashes)} hashes for {units} full units "
            f"of {hash_block_size} tokens"
        ),
    )


def check_pool(num_gpu_blocks: int, hash_block_size: int) -> None:
    """Refuse a pool without blocks and a unit without tokens."""
    check_whole(config.SIZES_ARE_POSITIVE, 1, num_gpu_blocks=num_gpu_blocks, hash_block_size=hash_block_size)


def check_limits(max_model_len: int, max_in_flight_tokens: int | None, watermark: float) -> None:
    """Refuse a model without length, less than nothing in flight, and a share of the pool that is none."""
    in_flight = 1 if max_in_flight_tokens is None else max_in_flight_tokens
    check_whole(config.SIZES_ARE_POSITIVE, 1, max_model_len=max_model_len, max_in_flight_tokens=in_flight)
    require(
        0 <= watermark < 1, config.WATERMARK_IS_A_SHARE, f"watermark is {watermark}", ValuePreconditionError
    )


def check_retention(retention_interval: int | None, scheduler_block_size: int) -> None:
    """Refuse an interval between whose ends no common hit can end."""
    require(
        retention_interval is None
        or (
            isinstance(retention_interval, int)
            and retention_interval >= 0
            and retention_interval % scheduler_block_size == 0
        ),
        config.RETENTION_BY_HITS,
        f"retention_interval is {retention_interval}, scheduler_block_size {scheduler_block_size}",
        ValuePreconditionError,
    )


_COVERED = (
    FullAttentionSpec,
    MLAAttentionSpec,
    RSWASpec,
    SinkFullAttentionSpec,
    SlidingWindowSpec,
    ChunkedLocalAttentionSpec,
    MambaSpec,
    CrossAttentionSpec,
)


def check_ranks(specs: Sequence[KVCacheSpec], dcp_world_size: int, pcp_world_size: int) -> None:
    """Refuse context parallelism over groups that cannot be spread."""
    check_whole(config.SIZES_ARE_POSITIVE, 1, dcp_world_size=dcp_world_size, pcp_world_size=pcp_world_size)
    is_spread = dcp_world_size * pcp_world_size > 1
    can_be = not any(isinstance(spec, (SlidingWindowSpec, ChunkedLocalAttentionSpec)) for spec in specs)
    is_one = len(set(specs)) == 1 and isinstance(specs[0], FullAttentionSpec)
    require(
        not is_spread or (can_be and (pcp_world_size == 1 or is_one)),
        config.CONTEXT_PARALLEL,
        f"dcp_world_size is {dcp_world_size}, pcp_world_size {pcp_world_size}, for "
        f"{', '.join(type(spec).__name__ for spec in specs)}",
        UnsupportedError,
    )


def check_groups(
    kv_cache_config: KVCacheConfig,
    hash_block_size: int,
    scheduler_block_size: int,
    use_eagle: bool,
    dcp_world_size: int = 1,
    pcp_world_size: int = 1,
) -> None:
    """Refuse groups that are not covered or do not go together, and sizes that do not divide each other."""
    specs = [group.kv_cache_spec for group in kv_cache_config.kv_cache_groups]
    for spec in specs:
        require(type(spec) in _COVERED, config.COVERED, type(spec).__name__, UnsupportedError)
        if isinstance(spec, MambaSpec):
            is_mode = spec.mamba_cache_mode in get_args(MambaCacheMode)
            told = f"mamba_cache_mode is {spec.mamba_cache_mode!r}"
            require(is_mode, config.COVERED, told, UnsupportedError)
    require(bool(specs), config.COVERED, "kv_cache_groups is empty", UnsupportedError)
    check_ranks(specs, dcp_world_size, pcp_world_size)
    num_ranks = dcp_world_size * pcp_world_size
    sizes = [spec.tokens_per_block(num_ranks) for spec in specs]
    check_whole(config.SIZES_ARE_POSITIVE, 1, scheduler_block_size=scheduler_block_size)
    require(
        scheduler_block_size % lcm(*sizes) == 0 and all(size % hash_block_size == 0 for size in sizes),
        config.SIZES_DIVIDE,
        f"block sizes {sizes}, hash_block_size {hash_block_size}, "
        f"scheduler_block_size {scheduler_block_size}",
        ValuePreconditionError,
    )
    groups = kv_cache_config.kv_cache_groups
    drops = {group.kv_cache_spec for group in groups if group.is_eagle_group}
    if use_eagle and not drops:
        drops = set(specs)
    chunks = {spec for spec in specs if isinstance(spec, ChunkedLocalAttentionSpec)}
    require(
        not chunks or (len(set(sizes)) == 1 and chunks.isdisjoint(drops)),
        config.CHUNKS_OF_ONE_SIZE,
        f"block sizes {sizes}, with {len(chunks & drops)} chunked specs that a draft model reads",
        UnsupportedError,
    )
    sinks = [spec for spec in specs if isinstance(spec, SinkFullAttentionSpec)]
    num_sinks = sum(spec.sink_len // spec.tokens_per_block(num_ranks) for spec in sinks)
    require(
        all(spec.sink_len % spec.tokens_per_block(num_ranks) == 0 for spec in sinks)
        and num_sinks < kv_cache_config.num_blocks,
        config.SINKS_ARE_BLOCKS,
        f"sink_len is {[spec.sink_len for spec in sinks]}, in blocks of "
        f"{[spec.tokens_per_block(num_ranks) for spec in sinks]}, of a pool of {kv_cache_config.num_blocks}",
        ValuePreconditionError,
    )
    for spec in specs:
        if isinstance(spec, MambaSpec):
            require(
                spec.num_speculative_blocks < spec.block_size,
                config.DRAFTS_WITHIN_A_BLOCK,
                f"num_speculative_blocks is {spec.num_speculative_blocks}, block_size {spec.block_size}",
                UnsupportedError,
            )
    modes = {spec.mamba_cache_mode for spec in specs if isinstance(spec, MambaSpec)}
    require(len(modes) <= 1, config.ONE_STATE_MODE, f"mamba cache modes {sorted(modes)}")
    state_sizes = {spec.block_size for spec in specs if isinstance(spec, MambaSpec)}
    require(len(state_sizes) <= 1, config.ONE_STATE_SIZE, f"mamba block sizes {sorted(state_sizes)}")


def check_kinds(kv_cache_config: KVCacheConfig, max_model_len: int, enable_caching: bool) -> None:
    """Refuse groups whose kind cannot serve a model of that length, or not with caching."""
    for g, group in enumerate(kv_cache_config.kv_cache_groups):
        spec = group.kv_cache_spec
        require(
            not (isinstance(spec, MambaSpec) and spec.mamba_cache_mode == "none")
            or (spec.block_size >= max_model_len and not enable_caching),
            config.RUNNING_STATES_ALONE,
            f"group {g} has blocks of {spec.block_size} tokens, max_model_len is {max_model_len}, "
            f"enable_caching {enable_caching}",
        )
        require(
            not (isinstance(spec, CrossAttentionSpec) and enable_caching),
            config.CROSS_WITHOUT_CACHING,
            f"group {g} is one of cross attention, and enable_caching {enable_caching}",
            UnsupportedError,
        )
