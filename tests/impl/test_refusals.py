"""What only this side has to refuse."""

import hashlib
from collections.abc import Callable
from functools import partial

import pytest
import torch

from pagedkv.conformance.subjects import SubjectUnavailable
from pagedkv.conformance.torch_subject import torch_subject
from pagedkv.impl import BlockPool, KVCacheManager
from pagedkv.spec import (
    Request,
    UnsupportedError,
    ValuePreconditionError,
    get_request_block_hasher,
    init_none_hash,
)
from pagedkv.spec.hashing import HashTriple, canonical_bytes
from tests.scenarios.build import UNIT, hybrid, words
from tests.scenarios.sides import load


def long_digest(triple: HashTriple) -> bytes:
    """64 bytes: twice as many as a key has."""
    return hashlib.sha512(canonical_bytes(triple)).digest()


@pytest.fixture
def named_at_length() -> Request:
    """A request whose hashes are too long."""
    init_none_hash(long_digest, seed="tests")
    return Request("r", words(20), block_hasher=get_request_block_hasher(UNIT, long_digest))


@pytest.mark.parametrize("num_computed", [4, 19])
def test_a_long_digest_is_refused_and_changes_nothing(
    num_computed: int, named_at_length: Request, device: torch.device
) -> None:
    manager: KVCacheManager = hybrid(load("impl"), device=device)
    for computed in (0, num_computed):
        if computed:
            assert manager.allocate_slots(named_at_length, computed, delay_cache_blocks=True) is not None
            named_at_length.num_computed_tokens = computed
        before, rest = manager.snapshot(), 20 - computed
        calls: list[Callable[[], object]] = [
            partial(manager.get_computed_blocks, named_at_length),
            partial(manager.allocate_slots, named_at_length, rest),
            partial(manager.allocate_slots_batch, [named_at_length], rest, [5]),
        ]
        if computed == 19:
            calls.append(partial(manager.cache_blocks, named_at_length, computed))
        for call in calls:
            with pytest.raises(UnsupportedError, match="64 bytes") as refusal:
                call()
            assert refusal.value.clause.id == "Config/covered"
            assert manager.snapshot() == before
            assert named_at_length.num_tokens == 20


def test_without_a_cache_nobody_asks_how_long_a_digest_is(named_at_length: Request) -> None:
    manager: KVCacheManager = hybrid(load("impl"), enable_caching=False)
    assert manager.allocate_slots(named_at_length, 20) is not None


def test_more_blocks_than_ids_are_refused() -> None:
    with pytest.raises(ValuePreconditionError, match=r"is 2147483648, .* from 1 to 2147483647"):
        BlockPool(2**31, True, UNIT, device="meta")


def test_a_device_that_answers_nothing_is_none() -> None:
    with pytest.raises(SubjectUnavailable, match="no device 'meta'"):
        torch_subject("meta")


@pytest.mark.parametrize("name", ["nonsense", "cuda:99", "meta:x"])
def test_a_device_that_is_not_there_is_not_taken_for_another(name: str) -> None:
    with pytest.raises((RuntimeError, AssertionError)):
        hybrid(load("impl"), device=name)
    with pytest.raises(SubjectUnavailable, match=f"no device '{name}'"):
        torch_subject(name)
