"""A faulty model or torch manager as a subject, beside the clean one in the same process."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module, invalidate_caches
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pagedkv.conformance.instance import Instance
from pagedkv.conformance.standard import StandardInstance
from pagedkv.conformance.subjects import OwnRequests, Strictness, Subject, standard_arguments
from pagedkv.conformance.torch_subject import require_torch, torch_instance
from pagedkv.spec import World

from .fault import PlantedFault
from .patching import patched_package


@contextmanager
def faulty_subject(fault: PlantedFault) -> Iterator[Subject]:
    """The subject with the fault. Its modules are there as long as the context is.

    Raises ``SubjectUnavailable`` for a fault of the torch manager where torch is not installed.
    """
    if fault.is_in_tensors:
        require_torch()
    name = "pagedkv_" + fault.name.replace("-", "_")
    with TemporaryDirectory() as folder:
        sys.path.insert(0, str(patched_package([fault.patch], Path(folder), name)))
        invalidate_caches()
        try:
            make = _tensors(name, fault) if fault.is_in_tensors else _model(name, fault)
            scheduler = import_module(f"{name}.reference").Scheduler
            strictness: Strictness = "exact" if fault.tells_state else "safety"
            yield Subject(fault.name, "faulty", strictness, make, scheduler=scheduler)
        finally:
            sys.path.remove(folder)
            for module in [m for m in sys.modules if m == name or m.startswith(f"{name}.")]:
                del sys.modules[module]


def _model(package: str, fault: PlantedFault) -> Callable[[World], Instance]:
    spec: Any = import_module(f"{package}.spec")
    manager_type = import_module(f"{package}.reference").KVCacheManager

    def make(world: World) -> Instance:
        spec.init_none_hash(spec.sha256, seed="pagedkv")
        manager = manager_type(world.kv_cache_config(), **standard_arguments(world))
        hasher = spec.get_request_block_hasher(world.unit, spec.sha256)
        snapshot = manager_type.snapshot if fault.tells_state else None
        return StandardInstance(world, manager, OwnRequests(world, spec.Request, hasher), snapshot)

    return make


def _tensors(package: str, fault: PlantedFault) -> Callable[[World], Instance]:
    manager_type = import_module(f"{package}.impl").KVCacheManager
    return lambda world: torch_instance(world, manager_type, tells_state=fault.tells_state)
