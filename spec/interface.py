"""The least that a manager of any shape offers to be judged.

A factory is called with a ``World`` and answers an object with the first four methods. Requests are
``pagedkv.spec.Request`` objects whose ``num_computed_tokens`` the caller keeps. Blocks are ids per group:
one sequence of ids for each group of the world, 0 for a position without storage.

An attribute ``groups`` of the factory says which mixes of groups its managers can manage, such as
``("full", "full+mamba")`` for ``World.groups`` of those kinds, in that order; without it only ``("full",)``.
Such a mix is what ``--groups`` of ``pagedkv check`` names.
"""

from collections.abc import Sequence
from typing import Any, Protocol

from .events import KVCacheEvent
from .requests import Request
from .snapshot import Snapshot

Blocks = Sequence[Sequence[int]]


class Manager(Protocol):
    """A paged KV-cache manager as an engine uses it."""

    def lookup(self, request: Request) -> tuple[int, Blocks]:
        """The longest cached prefix in tokens, and the blocks that hold it. Changes nothing."""
        ...

    def allocate(self, request: Request, num_new_tokens: int) -> Blocks | None:
        """Places for ``num_new_tokens`` tokens after ``request.num_computed_tokens``.

        Answers the entries appended to the request's table; for a request without a table all of it,
        the blocks of the hit first: ``num_computed_tokens`` is then the length that the last lookup of the
        request found. None when they do not fit now.
        """
        ...

    def free(self, request: Request) -> None:
        """Release what the request holds."""
        ...

    def step(self) -> None:
        """A scheduling pass begins."""
        ...


class Copies(Protocol):
    """Optional: a manager that shares parts of blocks."""

    def copies(self) -> Sequence[tuple[int, int]]:
        """Drain the block copies (source, destination) that run before the next forward."""
        ...


class Evicts(Protocol):
    """Optional: a manager whose keys can be taken off blocks."""

    def evict(self, block_ids: Sequence[int]) -> None:
        """Take the keys off these blocks."""
        ...


class Resets(Protocol):
    """Optional: a manager whose cache can be reset."""

    def reset(self) -> bool:
        """Forget every key if nothing is held; answers whether it did."""
        ...


class TellsState(Protocol):
    """Optional: a manager that can be held to every law."""

    def snapshot(self) -> Snapshot[Any]:
        """The state. Keys are a prefix's hash followed by the group in 4 big-endian bytes."""
        ...


class Announces(Protocol):
    """Optional: a manager that tells others what it has; it is asked in worlds with ``events``."""

    def events(self) -> Sequence[KVCacheEvent]:
        """Drain what was announced since the last call."""
        ...
