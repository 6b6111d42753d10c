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
