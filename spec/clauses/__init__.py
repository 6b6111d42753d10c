"""The rules, as objects. ``ALL`` lists each once, in reading order."""

from . import (
    allocation,
    chunk,
    config,
    copies,
    events,
    freeing,
    hashing,
    hit,
    index,
    pool,
    schedule,
    worker,
)
from .clause import Clause

_FAMILIES = (
    config,
    hashing,
    pool,
    index,
    hit,
    allocation,
    copies,
    freeing,
    chunk,
    schedule,
    worker,
    events,
)

ALL: tuple[Clause, ...] = tuple(
    value for family in _FAMILIES for value in vars(family).values() if isinstance(value, Clause)
)

__all__ = [
    "ALL",
    "Clause",
    "allocation",
    "chunk",
    "config",
    "copies",
    "events",
    "freeing",
    "hashing",
    "hit",
    "index",
    "pool",
    "schedule",
    "worker",
]
