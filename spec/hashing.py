"""Names of prefixes: what is hashed, and the exact bytes that a digest is taken of.

A request is cut into units of so many tokens. The hash of a full unit is H(parent, token_ids, extra_keys):
the hash of the unit before (for the first unit the seed, see `init_none_hash`), the unit's tokens, and what
else its KV depends on. So a hash names the whole prefix up to the end of its unit.

Extra keys
    `LoraName`       in every unit of a request that runs with an adapter;
    `CacheSalt`      in the first unit only: the parent carries it on;
    `MultiModalKey`  in every unit that the item overlaps: its identifier, and its first position minus the
                     unit's first position, in tokens. That is negative when the item began in an earlier
                     unit, and tells apart all placements. An identifier stands for content, and so for one
                     number of positions.
    They come in this order, items by offset, then identifier, each once: the order in which a request lists
    its items does not count. A unit without any has `None`. The empty text is a salt or name like any other.

Canonical bytes
    Integers are little-endian; u8 and u64 are unsigned, i64 is two's complement. `a | b` is concatenation.

    triple  = blob(parent) | tokens | extras
    blob(x) = u64 number of bytes | the bytes
    tokens  = u64 number of tokens | one i64 for each
    extras  = u8 0                                          for None
            = u8 1 | u64 number of keys | the keys          otherwise
    key     = u8 kind | blob(body)
    kind 1, LoraName:       body = name in UTF-8
    kind 2, CacheSalt:      body = salt in UTF-8
    kind 3, MultiModalKey:  body = i64 offset | identifier in UTF-8

    Before each field a reader knows how long it is, so two triples have the same bytes exactly when they are
    equal. Every 64-bit integer is a token; a text is any sequence of Unicode scalar values (no surrogates).
    `sha256` is SHA-256 of these bytes.

Canonical CBOR
    The same triple as one data item under the core deterministic rules of RFC 8949, section 4.2.1 (shortest
    heads, definite lengths): the array [byte string parent, [tokens], null or [keys]], where a key is the
    array [kind, text], for kind 3 [kind, text, offset]. `sha256_cbor` is SHA-256 of it.

Whoever can make two prefixes share a hash can read another tenant's cache; both functions here resist that.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple, NewType

if TYPE_CHECKING:  # requests imports this module
    from .requests import Request

BlockHash = NewType("BlockHash", bytes)
"""The digest that names a prefix."""

BlockHashWithGroupId = NewType("BlockHashWithGroupId", bytes)
"""A key of the index: a digest, then the group id as 4 big-endian bytes."""

_GROUP_ID_BYTES = 4
_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1


def make_block_hash_with_group_id(block_hash: BlockHash, group_id: int) -> BlockHashWithGroupId:
    """Return the key of `block_hash` in group `group_id`. ValueError when the id does not fit in 4 bytes."""
    if not 0 <= group_id < 256**_GROUP_ID_BYTES:
        raise ValueError(f"group_id is {group_id}: it must be from 0 to 2**32 - 1")
    return BlockHashWithGroupId(block_hash + group_id.to_bytes(_GROUP_ID_BYTES, "big"))


def get_block_hash(key: BlockHashWithGroupId) -> BlockHash:
    """Return the digest in a key."""
    return BlockHash(key[:-_GROUP_ID_BYTES])


def get_group_id(key: BlockHashWithGroupId) -> int:
    """Return the group id in a key."""
    return int.from_bytes(key[-_GROUP_ID_BYTES:], "big")


def encode_text(argument: str, text: str) -> bytes:
    """Return `text` in UTF-8. ValueError, naming `argument`, for surrogates, which are no characters."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{argument} is {text!r}: it must not contain surrogates") from error


def encode_token_ids(token_ids: Sequence[int]) -> bytes:
    """Return the tokens as little-endian int64. ValueError, naming the first that is no such integer."""
    try:
        return struct.pack(f"<{len(token_ids)}q", *token_ids)
    except struct.error as error:
        wrong = next(t for t in token_ids if not isinstance(t, int) or not _INT64_MIN <= t <= _INT64_MAX)
        raise ValueError(
            f"token_ids has {wrong!r}: a token is an integer from -2**63 to 2**63 - 1"
        ) from error


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
        if not _INT64_MIN <= self.offset <= _INT64_MAX:
            raise ValueError(f"offset is {self.offset}: it must be from -2**63 to 2**63 - 1")


ExtraKey = LoraName | CacheSalt | MultiModalKey


class HashTriple(NamedTuple):
    """What the hash of a unit is taken of."""

    parent: bytes
    token_ids: Sequence[int]
    extra_keys: tuple[ExtraKey, ...] | None


HashFunction = Callable[[HashTriple], bytes]
"""A pure function from triples to digests of one length."""


def _blob(content: bytes) -> bytes:
    return struct.pack("<Q", len(content)) + content


def _canonical_key(key: ExtraKey) -> bytes:
    match key:
        case LoraName(text) | CacheSalt(text):
            body = text.encode()
        case MultiModalKey(identifier, offset):
            body = struct.pack("<q", offset) + identifier.encode()
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


def sha256(triple: HashTriple) -> bytes:
    """Return SHA-256 of the canonical bytes, 32 bytes. ValueError for a token outside int64."""
    return hashlib.sha256(canonical_bytes(triple)).digest()


def sha256_cbor(triple: HashTriple) -> bytes:
    """Return SHA-256 of the canonical CBOR, 32 bytes. ValueError for a token outside int64."""
    return hashlib.sha256(canonical_cbor(triple)).digest()


_none_hash: BlockHash | None = None


def init_none_hash(hash_fn: HashFunction, seed: str | None = None) -> None:
    """Fix the seed, the parent of every first unit, for the whole process; call it once at start-up.

    The seed is the hash of a triple without tokens, which no unit has. Its parent is `seed`, for runs that
    must be the same everywhere (whoever knows it can prepare collisions); without it the text of
    PYTHONHASHSEED, or 32 random bytes where Python itself would draw a seed: when that is unset, empty or
    "random". Calling it again replaces the seed: hashes made before and after then have nothing in common.
    """
    global _none_hash
    text = os.environ.get("PYTHONHASHSEED", "") if seed is None else seed
    is_random = seed is None and text in ("", "random")
    parent = os.urandom(32) if is_random else os.fsencode(text)
    _none_hash = BlockHash(hash_fn(HashTriple(parent, (), None)))


def get_none_hash() -> BlockHash:
    """Return the parent of every first unit. RuntimeError before `init_none_hash`."""
    if _none_hash is None:
        raise RuntimeError("the seed of the hashes is not fixed yet: call init_none_hash(hash_fn) first")
    return _none_hash


def hash_block_tokens(
    hash_fn: HashFunction,
    parent_block_hash: BlockHash | None,
    token_ids: Sequence[int],
    extra_keys: tuple[ExtraKey, ...] | None = None,
) -> BlockHash:
    """Return the hash of one unit (clause Hash/names_the_prefix); changes nothing.

    `parent_block_hash` is the hash of the unit before, None for the first unit. No extra keys are None or ().
    ValueError for no tokens or a token outside int64; RuntimeError when the seed is needed and not fixed yet.
    """
    if not token_ids:
        raise ValueError("token_ids is empty: a unit has at least one token")
    parent = get_none_hash() if parent_block_hash is None else parent_block_hash
    return BlockHash(hash_fn(HashTriple(parent, tuple(token_ids), extra_keys or None)))


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
    return tuple(keys) or None


def get_request_block_hasher(unit: int, hash_fn: HashFunction) -> Callable[[Request], list[BlockHash]]:
    """Return a function that gives the hashes of the units that became full since `request.block_hashes`.

    That function changes nothing: its caller appends what it returns. Whether prompt or output filled a unit
    makes no difference to its hash. ValueError unless `unit` (tokens) is positive.
    """
    if unit <= 0:
        raise ValueError(f"unit is {unit}: it must be a positive number of tokens")

    def hash_new_full_units(request: Request) -> list[BlockHash]:
        token_ids = request.all_token_ids
        known = request.block_hashes
        parent = known[-1] if known else None
        new_hashes = []
        for start in range(len(known) * unit, len(token_ids) - unit + 1, unit):
            end = start + unit
            parent = hash_block_tokens(
                hash_fn, parent, token_ids[start:end], get_extra_keys(request, start, end)
            )
            new_hashes.append(parent)
        return new_hashes

    return hash_new_full_units
