"""The sides that the scenarios run on; another side joins by its name in `SIDES`."""

from functools import partial
from importlib import import_module
from types import ModuleType

from tests.impl.devices import DEVICES

ON = "@"
"""What stands between a side and the device that its state is on."""

SIDES = ("reference", *("impl" if device == "cpu" else f"impl{ON}{device}" for device in DEVICES))


def load(name: str) -> ModuleType:
    """The room `pagedkv.<name>`, whose standard names a scenario takes, perhaps on a device."""
    room, _, device = name.partition(ON)
    module = import_module(f"pagedkv.{room}")
    if not device:
        return module
    side = ModuleType(name)
    vars(side).update({public: getattr(module, public) for public in module.__all__})
    for public in ("KVCacheManager", "BlockPool"):
        setattr(side, public, partial(getattr(module, public), device=device))
    return side
