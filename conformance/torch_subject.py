"""The torch manager of this project as a subject. torch is imported when the subject is made."""

from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

from pagedkv.spec import Request, World, get_request_block_hasher, init_none_hash, sha256
from pagedkv.spec.hashing import HashTriple

from .standard import StandardInstance
from .subjects import OwnRequests, Subject, SubjectUnavailable, standard_arguments

NAME = "impl"
DEVICE = "@"
"""What stands between the subject's name and a device, as in ``impl@cuda:0``."""


def torch_subject(device: str = "cpu") -> Subject:
    """The manager on a device of torch. Raises ``SubjectUnavailable`` without torch or such a device."""
    require_torch()
    import torch

    try:
        torch.zeros(1, device=device).tolist()
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise SubjectUnavailable(f"torch has no device {device!r} here ({reason}): take `cpu`") from error
    name = NAME if device == "cpu" else NAME + DEVICE + device
    from pagedkv.impl import KVCacheManager

    return Subject(
        name, version("pagedkv"), "exact", lambda world: torch_instance(world, KVCacheManager, device)
    )


def require_torch() -> None:
    """Raise ``SubjectUnavailable`` when torch is not installed."""
    if find_spec("torch") is None:
        raise SubjectUnavailable("torch is not installed here: pip install 'pagedkv[impl]'")


def crowded_sha256(triple: HashTriple) -> bytes:
    """SHA-256 with its first 24 bytes reduced to one of two values: the last 8 still tell prefixes apart.

    The torch manager takes buckets and tags of its index from the first 8 bytes. So under this hash all keys
    share a few buckets, whole buckets overflow, all tags in a bucket are equal, and whoever compares only a
    part of the digest takes one key for another.
    """
    digest = sha256(triple)
    return bytes(7) + bytes([digest[0] & 1]) + bytes(16) + digest[24:]


def is_crowded(world: World) -> bool:
    """Whether the index and the free queue of a world are as full as can be: in every second one."""
    return world.num_blocks % 2 == 1


def hash_function_of(world: World) -> Callable[[HashTriple], bytes]:
    """The hash that requests of a world are named by."""
    return crowded_sha256 if is_crowded(world) else sha256


def torch_instance(
    world: World,
    manager_type: Any,
    device: str = "cpu",
    tells_state: bool = True,
    request_type: Callable[..., Any] = Request,
) -> StandardInstance:
    """An instance of the torch manager, or of a copy of it with requests of its own vocabulary.

    Fixes the seed of hashes.
    """
    hash_fn = hash_function_of(world)
    init_none_hash(hash_fn, seed="pagedkv")
    manager = manager_type(world.kv_cache_config(), **standard_arguments(world), device=device)
    if is_crowded(world):
        # Room for all blocks and no hole: the ring wraps all the time, and has to close its holes soon.
        queue = manager.block_pool.queue
        queue.cells = queue.cells[: max(1, world.num_blocks - 1)].clone()
    requests = OwnRequests(world, request_type, get_request_block_hasher(world.unit, hash_fn))
    return StandardInstance(world, manager, requests, manager_type.snapshot if tells_state else None)
