"""The hash functions that are offered."""

import hashlib
from collections.abc import Callable

from .encoding import HashTriple, canonical_bytes, canonical_cbor

HashFunction = Callable[[HashTriple], bytes]
"""A pure function from triples to digests of one length."""


def sha256(triple: HashTriple) -> bytes:
    """Return SHA-256 of the canonical bytes, 32 bytes. ValueError for a token outside int64."""
    return hashlib.sha256(canonical_bytes(triple)).digest()


def sha256_cbor(triple: HashTriple) -> bytes:
    """Return SHA-256 of the canonical CBOR, 32 bytes. ValueError for a token outside int64."""
    return hashlib.sha256(canonical_cbor(triple)).digest()


def xxh3_128(triple: HashTriple) -> bytes:
    """Return XXH3 of the canonical bytes, 128 bits in 16 bytes: for caches that one trusted party fills.

    It protects against chance, not against anybody who wants a collision: two prefixes with one hash are
    quickly made, and one is then answered with the KV of the other. Where tenants share a cache take
    `sha256`. ValueError for a token outside int64; ModuleNotFoundError, saying what to install, without the
    package `xxhash`.
    """
    try:
        import xxhash
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "xxh3_128 needs the package xxhash: pip install 'pagedkv[xxhash]'", name="xxhash"
        ) from error
    return xxhash.xxh3_128_digest(canonical_bytes(triple))
