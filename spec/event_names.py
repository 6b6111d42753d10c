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
    """Per unit the adapter, the salt, the images and the embeddings that its hash has, as ``kind:text`` or
    ``kind:text@offset`` with the offset in the unit; embeddings by their bytes in hexadecimal digits."""


@dataclass(frozen=True)
class Removed:
    """A key left the index."""

    key: KeyName


@dataclass(frozen=True)
class Cleared:
    """All keys left the index."""


EventName = Stored | Removed | Cleared
