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
    `EmbeddingKey`   in the unit of every position that an embedding of the caller's stands at in place of the
                     token's: its bytes, which may be a digest of it, and its position minus the unit's first.
                     The token at that position is hashed as it stands.
    They come in this order, items by offset, then identifier, each once, embeddings by offset: the order in
    which a request lists them does not count. A unit without any has `None`. The empty text is a salt or name
    like any other.

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
    kind 4, EmbeddingKey:   body = i64 offset | the embedding's bytes

    Before each field a reader knows how long it is, so two triples have the same bytes exactly when they are
    equal. Every 64-bit integer is a token; a text is any sequence of Unicode scalar values (no surrogates).
    `sha256` is SHA-256 of these bytes.

Canonical CBOR
    The same triple as one data item under the core deterministic rules of RFC 8949, section 4.2.1 (shortest
    heads, definite lengths): the array [byte string parent, [tokens], null or [keys]], where a key is the
    array [kind, text], for kind 3 [kind, text, offset], for kind 4 [kind, byte string, offset].
    `sha256_cbor` is SHA-256 of it.

Whoever can make two prefixes share a hash can read another tenant's cache. The functions of SHA-256 resist
that; `xxh3_128`, of the canonical bytes, is faster and does not.
"""

from .encoding import HashTriple, canonical_bytes, canonical_cbor
from .extra_keys import CacheSalt, EmbeddingKey, ExtraKey, LoraName, MultiModalKey, get_extra_keys
from .functions import HashFunction, sha256, sha256_cbor, xxh3_128
from .index_keys import (
    BlockHash,
    BlockHashWithGroupId,
    get_block_hash,
    get_group_id,
    make_block_hash_with_group_id,
)
from .texts import encode_text, encode_token_ids
from .units import get_none_hash, get_request_block_hasher, hash_block_tokens, init_none_hash

__all__ = [
    "BlockHash",
    "BlockHashWithGroupId",
    "CacheSalt",
    "EmbeddingKey",
    "ExtraKey",
    "HashFunction",
    "HashTriple",
    "LoraName",
    "MultiModalKey",
    "canonical_bytes",
    "canonical_cbor",
    "encode_text",
    "encode_token_ids",
    "get_block_hash",
    "get_extra_keys",
    "get_group_id",
    "get_none_hash",
    "get_request_block_hasher",
    "hash_block_tokens",
    "init_none_hash",
    "make_block_hash_with_group_id",
    "sha256",
    "sha256_cbor",
    "xxh3_128",
]
