"""The sides that the scenarios run on; another side joins by its name in `SIDES`."""

from importlib import import_module
from types import ModuleType

SIDES = ("reference", "impl")


def load(name: str) -> ModuleType:
    """The room `pagedkv.<name>`, whose standard names a scenario takes."""
    return import_module(f"pagedkv.{name}")
