"""A faulty model as a subject, beside the clean one in the same process."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module, invalidate_caches
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pagedkv.conformance.instance import Instance, StandardInstance
from pagedkv.conformance.subjects import OwnRequests, Subject, standard_arguments
from pagedkv.spec import World

from .fault import PlantedFault
from .patching import patched_package


@contextmanager
def faulty_subject(fault: PlantedFault) -> Iterator[Subject]:
    """The subject with the fault. Its modules are there as long as the context is."""
    name = "pagedkv_" + fault.name.replace("-", "_")
    with TemporaryDirectory() as folder:
        sys.path.insert(0, str(patched_package([fault.patch], Path(folder), name)))
        invalidate_caches()
        try:
            spec, reference = import_module(f"{name}.spec"), import_module(f"{name}.reference")
            yield Subject(
                fault.name,
                "faulty",
                "exact" if fault.tells_state else "safety",
                lambda world: _make(world, spec, reference, fault.tells_state),
            )
        finally:
            sys.path.remove(folder)
            for module in [m for m in sys.modules if m == name or m.startswith(f"{name}.")]:
                del sys.modules[module]


def _make(world: World, spec: Any, reference: Any, tells_state: bool) -> Instance:
    spec.init_none_hash(spec.sha256, seed="pagedkv")
    manager = reference.KVCacheManager(world.kv_cache_config(), **standard_arguments(world))
    hasher = spec.get_request_block_hasher(world.unit, spec.sha256)
    snapshot = type(manager).snapshot if tells_state else None
    return StandardInstance(world, manager, OwnRequests(world, spec.Request, hasher), snapshot)
