"""What the KV of a unit depends on beside its tokens and the units before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from .texts import INT64_MAX, INT64_MIN, encode_text

if TYPE_CHECKING:  # requests imports this package
    from pagedkv.spec.requests import Request


def _check_offset(offset: int) -> None:
    if not INT64_MIN <= offset <= INT64_MAX:
        raise ValueError(f"offset is {offset}: it must be from -2**63 to 2**63 - 1")


@dataclass(frozen=True, slots=True)
class LoraName:
    """The adapter that a request runs with. ValueError for a name with surrogates."""

    KIND: ClassVar[int] = 1
    name: str

    def __post_init__(self) -> None:
        encode_text("name", self.name)


@dataclass(frozen=True, slots=True)
class CacheSalt:
    """The secret that keeps a tenant's prefixes to itself. ValueError for a salt with surrogates."""

    KIND: ClassVar[int] = 2
    salt: str

    def __post_init__(self) -> None:
        encode_text("salt", self.salt)


@dataclass(frozen=True, slots=True)
class MultiModalKey:
    """An item that overlaps a unit; `offset` is its first position minus the unit's, in tokens.

    ValueError for an identifier with surrogates and for an offset that does not fit in 64 bits.
    """

    KIND: ClassVar[int] = 3
    identifier: str
    offset: int

    def __post_init__(self) -> None:
        encode_text("identifier", self.identifier)
        _check_offset(self.offset)


@dataclass(frozen=True, slots=True)
class EmbeddingKey:
    """An embedding that takes the place of a token's; `offset` is its position minus the unit's, in tokens.

    ValueError for an offset that does not fit in 64 bits.
    """

    KIND: ClassVar[int] = 4
    embedding: bytes
    offset: int

    def __post_init__(self) -> None:
        _check_offset(self.offset)


ExtraKey = LoraName | CacheSalt | MultiModalKey | EmbeddingKey


def get_extra_keys(request: Request, start: int, end: int) -> tuple[ExtraKey, ...] | None:
    """Return the extra keys of the request's tokens [start, end), None without any; changes nothing."""
    keys: list[ExtraKey] = []
    if request.lora_name is not None:
        keys.append(LoraName(request.lora_name))
    if request.cache_salt is not None and start == 0:
        keys.append(CacheSalt(request.cache_salt))
    items = {
        (item.offset - start, item.identifier)
        for item in request.mm_features
        if item.offset < end and start < item.offset + item.length
    }
    keys += (MultiModalKey(identifier, offset) for offset, identifier in sorted(items))
    embeds = request.prompt_embeds
    keys += (EmbeddingKey(embeds[at], at - start) for at in range(start, end) if at in embeds)
    return tuple(keys) or None
