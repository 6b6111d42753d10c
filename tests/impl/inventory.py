"""All that can be reached from a manager, by what it is."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import numpy
import torch
from torch import Tensor

ONE_VALUE = (int, float, str, torch.device, type(None))
"""What is one size or name, however much is cached."""


@dataclass
class Inventory:
    """Paths are attributes from the manager on, with ``[]`` for an element of a container."""

    tensors: dict[str, Tensor] = field(default_factory=dict)
    arrays: dict[str, Any] = field(default_factory=dict)
    """Arrays and views of memory by their path."""
    containers: list[tuple[str, Collection[Any]]] = field(default_factory=list)
    unknown: dict[str, str] = field(default_factory=dict)
    """The types of whatever else there is."""

    @property
    def elements(self) -> Counter[str]:
        """How many elements the containers at each path have."""
        return sum((Counter({path: len(c)}) for path, c in self.containers), Counter())

    @property
    def storages(self) -> set[int]:
        """Where the memory of the tensors begins."""
        return {tensor.untyped_storage().data_ptr() for tensor in self.tensors.values()}

    @property
    def strangers(self) -> dict[str, str]:
        """What is no tensor, no alias of one, no container and no single value."""
        regions = [t.untyped_storage() for t in self.tensors.values() if t.device.type == "cpu"]
        starts = {path: numpy.asarray(array).ctypes.data for path, array in self.arrays.items()}
        foreign = {
            path: type(self.arrays[path]).__name__
            for path, start in starts.items()
            if not any(r.data_ptr() <= start < r.data_ptr() + r.nbytes() for r in regions)
        }
        return self.unknown | foreign


def inventory_of(manager: object) -> Inventory:
    """Everything in it, each thing once. Changes nothing."""
    inventory = Inventory()
    _visit(manager, "", inventory, {})
    return inventory


def _visit(thing: Any, path: str, inventory: Inventory, seen: dict[int, object]) -> None:
    if isinstance(thing, ONE_VALUE) or id(thing) in seen:
        return
    seen[id(thing)] = thing
    if isinstance(thing, Tensor):
        inventory.tensors[path] = thing
    elif isinstance(thing, (numpy.ndarray, memoryview)):
        inventory.arrays[path] = thing
    elif isinstance(thing, dict):
        inventory.containers.append((path, thing))
        for element in [*thing, *thing.values()]:
            _visit(element, f"{path}[]", inventory, seen)
    elif hasattr(thing, "__dict__"):
        for name, value in vars(thing).items():
            _visit(value, f"{path}.{name}", inventory, seen)
        if not type(thing).__module__.startswith("pagedkv."):
            inventory.unknown[path] = type(thing).__name__
    elif isinstance(thing, Collection):
        inventory.containers.append((path, thing))
        for element in thing:
            _visit(element, f"{path}[]", inventory, seen)
    else:
        inventory.unknown[path] = type(thing).__name__
