"""Events with neutral names of keys, one for each key: what laws judge, traces keep and lockstep compares."""

from dataclasses import dataclass

from .snapshot import KeyName


@dataclass(frozen=True)
class Stored:
    """A key entered the index."""

    key: KeyName
    parent: KeyName | None
    start: int
    tokens: tuple[int, ...]
    block_size: int
    lora: str | None
    extras: tuple[tuple[str, ...], ...]
    """Per unit the adapter, the salt and the images that its hash has, as ``kind:text`` or
    ``image:identifier@offset`` with the offset in the unit."""


@dataclass(frozen=True)
class Removed:
    """A key left the index."""

    key: KeyName


@dataclass(frozen=True)
class Cleared:
    """All keys left the index."""


EventName = Stored | Removed | Cleared
