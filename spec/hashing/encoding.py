"""The bytes that a digest is taken of."""

import struct
from collections.abc import Sequence
from dataclasses import astuple
from typing import NamedTuple

from .extra_keys import CacheSalt, EmbeddingKey, ExtraKey, LoraName, MultiModalKey
from .texts import encode_token_ids


class HashTriple(NamedTuple):
    """What the hash of a unit is taken of."""

    parent: bytes
    token_ids: Sequence[int]
    extra_keys: tuple[ExtraKey, ...] | None


def _blob(content: bytes) -> bytes:
    return struct.pack("<Q", len(content)) + content


def _canonical_key(key: ExtraKey) -> bytes:
    match key:
        case LoraName(text) | CacheSalt(text):
            body = text.encode()
        case MultiModalKey(identifier, offset):
            body = struct.pack("<q", offset) + identifier.encode()
        case EmbeddingKey(embedding, offset):
            body = struct.pack("<q", offset) + embedding
    return bytes([key.KIND]) + _blob(body)


def canonical_bytes(triple: HashTriple) -> bytes:
    """Return the bytes that name a triple (clause Hash/canonical). ValueError for a token outside int64."""
    parent, token_ids, extra_keys = triple
    tokens = struct.pack("<Q", len(token_ids)) + encode_token_ids(token_ids)
    if extra_keys is None:
        return _blob(parent) + tokens + b"\x00"
    count = struct.pack("<Q", len(extra_keys))
    return _blob(parent) + tokens + b"\x01" + count + b"".join(map(_canonical_key, extra_keys))


_CborItem = bytes | str | int | None | Sequence["_CborItem"]


def _cbor_head(major_type: int, argument: int) -> bytes:
    """The first bytes of a data item: the shortest form that holds `argument`, which is below 2**64."""
    if argument < 24:
        return bytes([major_type << 5 | argument])
    power = next(power for power in range(4) if argument < 256 ** (1 << power))
    return bytes([major_type << 5 | 24 + power]) + argument.to_bytes(1 << power, "big")


def _cbor(item: _CborItem) -> bytes:
    match item:
        case None:
            return b"\xf6"
        case int():
            return _cbor_head(0, item) if item >= 0 else _cbor_head(1, -1 - item)
        case bytes():
            return _cbor_head(2, len(item)) + item
        case str():
            text = item.encode()
            return _cbor_head(3, len(text)) + text
    return _cbor_head(4, len(item)) + b"".join(map(_cbor, item))


def canonical_cbor(triple: HashTriple) -> bytes:
    """Return the canonical CBOR of a triple (module docstring). ValueError for a token outside int64."""
    parent, token_ids, extra_keys = triple
    encode_token_ids(token_ids)  # only to refuse: CBOR's own integers go further than tokens do
    keys = None if extra_keys is None else [(key.KIND, *astuple(key)) for key in extra_keys]
    return _cbor((parent, token_ids, keys))
