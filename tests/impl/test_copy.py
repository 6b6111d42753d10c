"""A copy is a manager of its own."""

from inspect import getmembers, isfunction

import pytest
import torch

from pagedkv.impl import KVCacheManager

from .busy import SHORT, busy
from .inventory import inventory_of
from .operations import EVENTS, OPERATIONS, VIEWS


def test_every_operation_is_tried() -> None:
    methods = {name for name, _ in getmembers(KVCacheManager, isfunction) if not name.startswith("_")}
    assert methods == VIEWS | EVENTS | {name for name in OPERATIONS if "." not in name}


@pytest.mark.parametrize("name", OPERATIONS)
def test_what_is_done_to_one_is_not_done_to_the_other(name: str, device: torch.device) -> None:
    operate = OPERATIONS[name]
    manager, requests = busy(SHORT, device=device)
    twin, before = manager.copy(), manager.snapshot()
    assert twin.snapshot() == before
    operate(twin, requests)
    changed = twin.snapshot()
    assert changed != before
    assert manager.snapshot() == before
    # What had not been done yet has the same effect.
    operate(manager, requests)
    assert manager.snapshot() == twin.snapshot() == changed


def test_they_share_no_memory(device: torch.device) -> None:
    manager, _ = busy(SHORT, device=device)
    twin = manager.copy()
    mine, others = inventory_of(manager), inventory_of(twin)
    assert mine.tensors.keys() == others.tensors.keys()
    assert mine.storages.isdisjoint(others.storages)
    assert mine.elements == others.elements
    # What a deployment is made of never changes, nor do tuples.
    owned = [
        c for path, c in mine.containers if isinstance(c, (dict, list, set)) and ".kv_cache_" not in path
    ]
    assert owned
    assert not {id(c) for c in owned} & {id(c) for _, c in others.containers}
    assert others.strangers == {}
