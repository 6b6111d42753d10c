"""The tensors that a manager holds, found by walking its attributes."""

from collections.abc import Iterator
from typing import Any

_CONTAINERS = (list, tuple, set, frozenset, dict)


def tensor_bytes(root: Any) -> int:
    """Bytes of all storages of tensors that can be reached from ``root``, each counted once."""
    storages = {storage.data_ptr(): storage.nbytes() for storage in storages_of(root)}
    return sum(storages.values())


def storages_of(root: Any) -> Iterator[Any]:
    """The storage of each tensor reached from ``root`` by attributes and items, within this package."""
    import torch

    seen: set[int] = set()
    waiting = [root]
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen:
            continue
        if isinstance(thing, torch.Tensor):
            seen.add(id(thing))
            yield thing.untyped_storage()
        elif isinstance(thing, _CONTAINERS) or type(thing).__module__.startswith("pagedkv."):
            seen.add(id(thing))
            waiting += _within(thing)


def _within(thing: Any) -> Iterator[Any]:
    if isinstance(thing, dict):
        yield from thing.keys()
        yield from thing.values()
    elif isinstance(thing, _CONTAINERS):
        yield from thing
    yield from getattr(thing, "__dict__", {}).values()
    for base in type(thing).__mro__:
        for slot in _slots(base):
            if hasattr(thing, slot):
                yield getattr(thing, slot)


def _slots(base: type) -> tuple[str, ...]:
    slots = base.__dict__.get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)
