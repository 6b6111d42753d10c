"""The state of a manager, free of any implementation."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

Rows = tuple[tuple[int, ...], ...]
"""Block ids per group; 0 is null."""


class KeyName(NamedTuple):
    """A key, by the prefix it stands for: see ``World.name``."""

    group: int
    prompt: int
    num_tokens: int


class CopyName(NamedTuple):
    """A queued copy."""

    group: int
    src: int
    dst: int


class HandOffName(NamedTuple):
    """A partial state that can be taken."""

    request: str
    group: int
    block: int
    num_tokens: int


Key = TypeVar("Key")
Name = TypeVar("Name")


@dataclass(frozen=True)
class Marks(Generic[Key]):
    """What a manager remembers of the pass, and of partial entries, per group."""

    filled: tuple[frozenset[int], ...]
    """Blocks that this pass's step fills."""
    published: tuple[frozenset[tuple[str, int, Key]], ...]
    """Request, block and key of what this pass registered first. In which order is nobody's to see."""
    named_partial: tuple[Mapping[str, int], ...]
    """By request, the length of the partial entry it named in its present holding."""


@dataclass(frozen=True)
class Snapshot(Generic[Key]):
    """Everything that the clauses name as state, by block id and request id.

    A manager gives its own keys; ``renamed`` gives the same state under other names of keys.
    """

    ref_counts: tuple[int, ...]
    keys: tuple[tuple[Key, ...], ...]
    """Per block, the primary first."""
    queue: tuple[int, ...]
    """The free queue from its front."""
    index: Mapping[Key, tuple[int, ...]]
    """Per key its blocks, the longest holder first."""
    tables: Mapping[str, Rows]
    num_cached: Mapping[str, tuple[int, ...]]
    """Per request and group, up to which block keys were made."""
    copies: tuple[CopyName, ...]
    hand_offs: tuple[HandOffName, ...]
    pins: Mapping[str, tuple[int, ...]]
    marks: Marks[Key] | None = None
    """None where the implementation remembers a pass in another form."""
    to_zero: Rows = ()
    """Blocks that are listed for zeroing, per group in the order in which they were handed out."""

    def renamed(self, name: Callable[[Key], Name]) -> "Snapshot[Name]":
        """The same state with ``name(key)`` for each key."""
        marks: Marks[Name] | None = None
        if self.marks is not None:
            published = tuple(
                frozenset((r, b, name(key)) for r, b, key in group) for group in self.marks.published
            )
            marks = Marks(self.marks.filled, published, self.marks.named_partial)
        return Snapshot(
            self.ref_counts,
            tuple(tuple(name(key) for key in keys) for keys in self.keys),
            self.queue,
            {name(key): blocks for key, blocks in self.index.items()},
            self.tables,
            self.num_cached,
            self.copies,
            self.hand_offs,
            self.pins,
            marks,
            self.to_zero,
        )
