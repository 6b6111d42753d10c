"""What is kept per block or per key is kept in tensors, and nowhere else."""

from collections import deque
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import pytest
import torch

from pagedkv.impl import KVCacheManager
from pagedkv.spec import init_none_hash, sha256

from .busy import LONG, SHORT, busy, sorts_held
from .inventory import inventory_of


def test_it_holds_something_of_every_sort(device: torch.device) -> None:
    manager, (*_, withdrawn) = busy(SHORT, device=device)
    sorts = sorts_held(manager.snapshot(), withdrawn)
    assert all(sorts.values()), sorts


def test_python_holds_as_much_for_many_blocks_as_for_few(device: torch.device) -> None:
    (few, requests), (many, _) = busy(SHORT, device=device), busy(LONG, device=device)
    assert len(many.snapshot().index) > 8 * len(few.snapshot().index)
    small, large = inventory_of(few), inventory_of(many)
    assert small.strangers == large.strangers == {}
    assert small.elements == large.elements
    assert small.tensors.keys() == large.tensors.keys()
    # By request there is a row number: nothing else has come in since the manager was made.
    fresh = inventory_of(KVCacheManager(few.kv_cache_config, 4096, 12, 4, device=device)).elements
    assert small.elements.total() - fresh.total() <= len(requests)


def test_every_tensor_is_on_the_device(device: torch.device) -> None:
    manager, _ = busy(SHORT, device=device)
    assert {tensor.device.type for tensor in inventory_of(manager).tensors.values()} == {device.type}


def test_events_wait_in_a_queue_for_output_and_nowhere_else(device: torch.device) -> None:
    silent, _ = busy(SHORT, device=device)
    (few, _), (many, _) = (busy(n, device=device, enable_kv_cache_events=True) for n in (SHORT, LONG))
    assert len(many.block_pool.events.waiting) > 8 * len(few.block_pool.events.waiting) > 0
    for manager in (few, many):
        state = manager.snapshot()
        assert manager.take_events()
        # What is taken is nobody's state: without it the manager is as it was, and as one that tells nothing.
        assert manager.snapshot() == state
        assert inventory_of(manager).elements == inventory_of(silent).elements


@pytest.fixture(scope="module")
def few_and_many() -> tuple[KVCacheManager, KVCacheManager]:
    """Managers of one history, with few blocks and with many."""
    init_none_hash(sha256, seed="tests")
    return busy(SHORT)[0], busy(LONG)[0]


@pytest.mark.parametrize(
    "mirror",
    [
        lambda manager: dict(manager.snapshot().index),
        lambda manager: list(manager.snapshot().ref_counts),
        lambda manager: set(manager.snapshot().queue),
        lambda manager: deque(manager.snapshot().queue),
        lambda manager: {"nested": [manager.snapshot().keys]},
        lambda manager: bytearray(manager.block_pool.num_gpu_blocks),
    ],
    ids=["keys", "counts", "free ids", "queue", "nested", "bytes"],
)
def test_a_container_that_grows_with_the_blocks_is_found(
    mirror: Callable[[KVCacheManager], object], few_and_many: tuple[KVCacheManager, KVCacheManager]
) -> None:
    for place in (".block_pool", ".coordinator", ".block_pool.keys.keys"):
        elements = []
        for whole in few_and_many:
            manager = whole.copy()
            vars(attrgetter(place[1:])(manager)).update(mirror=mirror(manager))
            elements.append(inventory_of(manager).elements)
        small, large = elements
        grown = {path for path in large if large[path] != small[path]}
        assert grown
        assert all(path.startswith(f"{place}.mirror") for path in grown)


def test_an_array_of_its_own_is_found_and_an_alias_is_not() -> None:
    manager, _ = busy(SHORT)
    pool = manager.block_pool
    alias: Any = pool.ref_counts.numpy()
    vars(pool).update(alias=alias[3:], view=memoryview(alias))
    assert inventory_of(manager).strangers == {}
    vars(pool).update(own=alias.copy(), other=iter([1, 2]))
    assert inventory_of(manager).strangers == {
        ".block_pool.own": "ndarray",
        ".block_pool.other": "list_iterator",
    }
