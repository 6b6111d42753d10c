"""The torch manager of this project as a subject. torch is imported when the subject is made."""

from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec

from pagedkv.spec import World, get_request_block_hasher, init_none_hash, sha256
from pagedkv.spec.hashing import HashTriple

from .instance import StandardInstance
from .subjects import OwnRequests, Subject, SubjectUnavailable, standard_arguments

NAME = "impl"
DEVICE = "@"
"""What stands between the subject's name and a device, as in ``impl@cuda:0``."""


def torch_subject(device: str = "cpu") -> Subject:
    """The manager on a device of torch. Raises ``SubjectUnavailable`` without torch or such a device."""
    if find_spec("torch") is None:
        raise SubjectUnavailable("torch is not installed here: pip install 'pagedkv[impl]'")
    import torch

    try:
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise SubjectUnavailable(f"torch has no device {device!r} here ({reason}): take `cpu`") from error
    name = NAME if device == "cpu" else NAME + DEVICE + device
    return Subject(name, version("pagedkv"), "exact", lambda world: _make(world, device))


def crowded_sha256(triple: HashTriple) -> bytes:
    """SHA-256 with its first 8 bytes reduced to one of two values: 24 bytes still tell prefixes apart.

    The torch manager takes buckets and tags of its index from these bytes. So under this hash all keys
    share a few buckets, whole buckets overflow, and all tags in a bucket are equal.
    """
    digest = sha256(triple)
    return bytes(7) + bytes([digest[0] & 1]) + digest[8:]


def is_crowded(world: World) -> bool:
    """Whether the hashes of a world's requests collide in the index: in every second one."""
    return world.num_blocks % 2 == 1


def hash_function_of(world: World) -> Callable[[HashTriple], bytes]:
    """The hash that requests of a world are named by."""
    return crowded_sha256 if is_crowded(world) else sha256


def _make(world: World, device: str) -> StandardInstance:
    from pagedkv.impl import KVCacheManager

    hash_fn = hash_function_of(world)
    init_none_hash(hash_fn, seed="pagedkv")
    manager = KVCacheManager(world.kv_cache_config(), **standard_arguments(world), device=device)
    requests = OwnRequests(world, hasher=get_request_block_hasher(world.unit, hash_fn))
    return StandardInstance(world, manager, requests, KVCacheManager.snapshot)
