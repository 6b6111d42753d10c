"""The KV cache manager of vLLM 0.28, driven through its public methods.

Only the snapshot looks inside. vLLM is imported when the subject is made.
"""

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any
from unittest.mock import patch

from pagedkv.conformance.instance import Instance
from pagedkv.conformance.standard import StandardInstance
from pagedkv.conformance.subjects import Subject, SubjectUnavailable, standard_arguments
from pagedkv.spec import Snapshot, World
from pagedkv.spec.life import Life
from pagedkv.spec.snapshot import CopyName, HandOffName
from pagedkv.spec.world import STATES

SUPPORTED = "0.28."
_RETENTION = "VLLM_PREFIX_CACHE_RETENTION_INTERVAL"
_OTHER_EVENTS = (
    "its announcements tell neither where a block starts nor extra keys by hash unit, and where blocks are "
    "left out they have more tokens than their hashes stand for"
)


def vllm() -> Subject:
    """The subject. Raises ``SubjectUnavailable`` when that release is not installed."""
    missing = {
        "continue": "only its scheduler lets a request go on with more prompt, in a private method",
        "events": _OTHER_EVENTS,
    }
    return Subject("vllm", installed_release(), "exact", _make, missing, refuses=_refuses)


def installed_release() -> str:
    """The release of vLLM. Raises ``SubjectUnavailable`` when it is not one that is driven here."""
    try:
        release = version("vllm")
    except PackageNotFoundError:
        raise SubjectUnavailable(
            "vLLM is not installed here: `make check-vllm` makes an environment with it"
        ) from None
    if not release.startswith(SUPPORTED):
        raise SubjectUnavailable(f"vLLM {release} is installed, and this adapter drives {SUPPORTED}x")
    return release


def _refuses(world: World) -> str | None:
    if world.pcp > 1:
        return "vLLM does not spread blocks by prefill context parallelism"
    if world.sinks:
        return "vLLM hands its manager of attention sinks an argument that this does not take"
    if len({group.spec() for group in world.groups}) == 1:
        if len(world.groups) > 1:
            return "vLLM has no prefix caching over several groups of one spec alone"
        if world.groups[0].block_size != world.unit:
            return "vLLM hashes a single group by its block size"
    if any(prompt.embeds for prompt in world.prompts):
        return "vLLM takes embeddings as tensors, and hashes one for every position of the prompt"
    options = world.options
    if options.resend_boundaries:
        return "vLLM keeps no boundary for a prompt that is sent again"
    if options.needs_zeroing and not any(group.kind in STATES for group in world.groups):
        return "vLLM zeroes blocks in models with states only"
    if options.retention_interval is not None and not ({"window", *STATES} & {g.kind for g in world.groups}):
        return "vLLM takes a retention interval only for windows and states"
    return None


def _make(world: World) -> Instance:
    # A preempted request is freed like any other: the engine has no call for work that never ran.
    return StandardInstance(
        world,
        make_manager(world),
        _Requests(world),
        partial(_snapshot, world),
        can_withdraw=False,
        has_events=False,
    )


def make_manager(world: World) -> Any:
    """A manager in a world. Fixes the seed of hashes."""
    from vllm.utils.hashing import sha256
    from vllm.v1.core.kv_cache_manager import KVCacheManager
    from vllm.v1.core.kv_cache_utils import init_none_hash

    init_none_hash(sha256)
    arguments = standard_arguments(world, has_events=False)
    interval = arguments.pop("retention_interval", None)
    # vLLM asks for it where it makes the manager's coordinator.
    with patch.dict(os.environ, {} if interval is None else {_RETENTION: str(interval)}):
        return KVCacheManager(_config(world), **arguments)


def make_hasher(unit: int) -> Any:
    """What hashes the units of a request as vLLM does."""
    from vllm.utils.hashing import sha256
    from vllm.v1.core.kv_cache_utils import get_request_block_hasher

    return get_request_block_hasher(unit, sha256)


def make_request(request_id: str, tokens: Sequence[int], max_tokens: int, hasher: Any, **others: Any) -> Any:
    """A request whose output has at most ``max_tokens`` tokens."""
    from vllm.sampling_params import SamplingParams
    from vllm.v1.request import Request

    parameters = SamplingParams(max_tokens=max_tokens)
    return Request(request_id, list(tokens), parameters, None, block_hasher=hasher, **others)


def _config(world: World) -> Any:
    import torch
    from vllm.v1.kv_cache_interface import (
        ChunkedLocalAttentionSpec,
        CrossAttentionSpec,
        FullAttentionSpec,
        KVCacheConfig,
        KVCacheGroupSpec,
        MambaSpec,
        MLAAttentionSpec,
        RSWASpec,
        SinkFullAttentionSpec,
        SlidingWindowSpec,
    )

    def spec(g: int) -> Any:
        group = world.groups[g]
        if group.kind not in STATES:
            group = replace(group, block_size=group.block_size // world.num_ranks)
        shape = {"num_kv_heads": 1, "head_size": group.variant, "dtype": torch.float32}
        match group.kind:
            case "full":
                return FullAttentionSpec(block_size=group.block_size, **shape)
            case "latent":
                return MLAAttentionSpec(block_size=group.block_size, **shape)
            case "cross":
                return CrossAttentionSpec(block_size=group.block_size, **shape)
            case "reference":
                return RSWASpec(block_size=group.block_size, rswa_window=group.reach, **shape)
            case "sink":
                return SinkFullAttentionSpec(block_size=group.block_size, sink_len=group.reach, **shape)
            case "window":
                return SlidingWindowSpec(block_size=group.block_size, sliding_window=group.reach, **shape)
            case "chunk":
                return ChunkedLocalAttentionSpec(
                    block_size=group.block_size, attention_chunk_size=group.reach, **shape
                )
        return MambaSpec(
            block_size=group.block_size,
            shapes=((group.variant, 1),),
            dtypes=(torch.float32,),
            mamba_cache_mode=STATES[group.kind],
            num_speculative_blocks=group.speculative,
        )

    groups = [
        KVCacheGroupSpec([f"layer{g}"], spec(g), is_eagle_group=group.eagle)
        for g, group in enumerate(world.groups)
    ]
    return KVCacheConfig(world.num_blocks, [], groups)


class _Requests:
    """Requests as vLLM makes them, hashed by vLLM."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._hasher = make_hasher(world.unit)
        adapters = sorted({prompt.lora for prompt in world.prompts if prompt.lora})
        self._adapter_ids = {name: i + 1 for i, name in enumerate(adapters)}

    def make(self, life: Life) -> Any:
        from vllm.lora.request import LoRARequest
        from vllm.multimodal.inputs import MultiModalFeatureSpec, PlaceholderRange

        prompt = self._world.prompts[life.prompt]
        features = [
            MultiModalFeatureSpec(None, "image", i.identifier, PlaceholderRange(i.offset, i.length))
            for i in prompt.images
        ]
        lora = prompt.lora and LoRARequest(prompt.lora, self._adapter_ids[prompt.lora], "nowhere")
        return make_request(
            life.request,
            prompt.tokens[: prompt.length],
            self._world.max_model_len,
            self._hasher,
            mm_features=features or None,
            lora_request=lora,
            cache_salt=prompt.salt,
        )

    def tell_status(self, request: Any, is_running: bool) -> None:
        request.status = type(request.status)["RUNNING" if is_running else "WAITING"]

    def copy(self, request: Any) -> Any:
        raise NotImplementedError("a vLLM request cannot be copied")


def _has_table(world: World, managers: Sequence[Any], request_id: str) -> bool:
    """Whether blocks were allocated for a request.

    Refusing one may make an empty row, but not in cross attention: a row of that tells it too, although it is
    empty where the encoder made nothing.
    """
    return any(
        request_id in m.req_to_blocks if group.kind == "cross" else m.req_to_blocks.get(request_id)
        for group, m in zip(world.groups, managers, strict=True)
    )


def _snapshot(world: World, manager: Any) -> Snapshot[Any]:
    pool, managers = manager.block_pool, manager.coordinator.single_type_managers
    others = pool.cached_block_hashes_by_block
    requests = [
        r for r in {r: None for m in managers for r in m.req_to_blocks} if _has_table(world, managers, r)
    ]
    # Sinks are taken out of the queue without a count.
    sinks = {block.block_id for m in managers for block in getattr(m, "sink_blocks", ())}
    return Snapshot(
        ref_counts=(0, *(block.ref_cnt + (block.block_id in sinks) for block in pool.blocks[1:])),
        keys=tuple(
            (block.block_hash, *sorted(others.get(block.block_id, ())))
            if block.block_hash is not None
            else ()
            for block in pool.blocks
        ),
        queue=tuple(block.block_id for block in pool.free_block_queue.get_all_free_blocks()),
        index={
            key: tuple(holders) if isinstance(holders, dict) else (holders.block_id,)
            for key, holders in pool.cached_block_hash_to_block._cache.items()
        },
        tables={
            r: tuple(tuple(b.block_id for b in m.req_to_blocks.get(r, ())) for m in managers)
            for r in requests
        },
        num_cached={r: tuple(m.num_cached_block.get(r, 0) for m in managers) for r in requests},
        copies=tuple(
            CopyName(m.kv_cache_group_id, src.block_id, dst.block_id)
            for m in managers
            for src, dst in m._pending_cow_copies
        ),
        hand_offs=tuple(
            HandOffName(request, group, block.block_id, num_tokens)
            for m in managers
            for request, group, block, num_tokens in m._pending_partial_tail_offloads
        ),
        pins={r: tuple(b.block_id for b in blocks) for r, blocks in manager._partial_tail_pins.items()},
        marks=None,
        # It lists blocks in every model with states, and the private blocks of copies in all.
        to_zero=tuple(tuple(m.new_block_ids) if world.options.needs_zeroing else () for m in managers),
    )
