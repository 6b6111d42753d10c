"""The managers that can be measured here."""

from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from functools import partial
from importlib.metadata import version
from sys import stderr
from typing import Any, Literal

from pagedkv.conformance.engines import vllm as vllm_engine
from pagedkv.conformance.subjects import standard_arguments
from pagedkv.conformance.torch_subject import torch_subject
from pagedkv.reference import KVCacheManager
from pagedkv.spec import Request, World, get_request_block_hasher, init_none_hash, sha256

from .candidate import BLOCK_SIZE, Candidate, Hasher
from .tensors import tensor_bytes

Against = Literal["reference", "vllm"]


def all_candidates(against: Against, device: str) -> list[Candidate]:
    """The base of all ratios, then the others.

    Raises ``SubjectUnavailable`` with what to do when the base, torch or the device is not here.
    """
    others = [_impl(device, is_batched=False), _impl(device, is_batched=True)]
    return [_vllm(), _reference(), *others] if against == "vllm" else [_reference(), *others]


def candidate_named(name: str, device: str) -> Candidate:
    """The candidate that has this name among all."""
    makers: dict[str, Callable[[], Candidate]] = {
        "reference": _reference,
        "vllm": _vllm,
        "impl": lambda: _impl(device, is_batched=False),
        "impl batch": lambda: _impl(device, is_batched=True),
    }
    return makers[name]()


def _reference() -> Candidate:
    return _own("reference", KVCacheManager)


def _own(name: str, manager_type: Callable[..., Any], **arguments: Any) -> Candidate:
    """A manager of this project's requests; ``arguments`` are those of the candidate."""

    def make_manager(world: World) -> Any:
        init_none_hash(sha256, seed="pagedkv")
        return manager_type(world.kv_cache_config(), **standard_arguments(world))

    hasher = get_request_block_hasher(BLOCK_SIZE, sha256)
    return Candidate(name, version("pagedkv"), make_manager, _make_own_request, hasher, **arguments)


def _make_own_request(request_id: str, tokens: Sequence[int], hasher: Hasher) -> Request:
    """A request of this project."""
    return Request(request_id, tokens, block_hasher=hasher)


def _impl(device: str, is_batched: bool) -> Candidate:
    torch_subject(device)  # refuses where torch or the device is not here
    import torch

    from pagedkv.impl import KVCacheManager as TorchManager

    on_gpu = torch.device(device).type == "cuda"
    return _own(
        "impl batch" if is_batched else "impl",
        partial(TorchManager, device=device),
        is_batched=is_batched,
        tensor_bytes=tensor_bytes,
        **({"synchronise": partial(torch.cuda.synchronize, device)} if on_gpu else {}),
    )


def _vllm() -> Candidate:
    release = vllm_engine.installed_release()
    with redirect_stdout(stderr):  # it says what it found here when it is imported
        hasher = vllm_engine.make_hasher(BLOCK_SIZE)
        import vllm.v1.core.kv_cache_manager
        import vllm.v1.request  # noqa: F401
    return Candidate("vllm", release, vllm_engine.make_manager, _make_vllm_request, hasher)


def _make_vllm_request(request_id: str, tokens: Sequence[int], hasher: Hasher) -> Any:
    return vllm_engine.make_request(request_id, tokens, MOST_OUTPUT, hasher)


MOST_OUTPUT = 1 << 20
"""Tokens of output that a request may have; it has no meaning for its manager."""
