"""Digests of prefixes as rows of numbers, and back."""

from collections.abc import Sequence

import torch
from torch import Tensor

from pagedkv.spec import BlockHash, UnsupportedError, require
from pagedkv.spec.clauses import config

from .layout import DIGEST_WORDS
from .ops.fixed import Names

_MAX_DIGEST = 8 * DIGEST_WORDS


def check_digests(hashes: Sequence[BlockHash]) -> None:
    """Refuse digests that are longer than a row has room for."""
    longest = max(map(len, hashes), default=0)
    require(
        longest <= _MAX_DIGEST,
        config.COVERED,
        f"a block hash has {longest} bytes, not up to {_MAX_DIGEST}",
        UnsupportedError,
    )


def names_of_hashes(hashes: Sequence[BlockHash], groups: Tensor) -> Names:
    """The keys of these digests in ``groups`` [n]. Refuses a digest that is longer than 32 bytes."""
    check_digests(hashes)
    device = groups.device
    if not hashes:
        return Names(
            torch.zeros((0, DIGEST_WORDS), dtype=torch.int64, device=device), groups.to(torch.uint8), groups
        )
    padded = bytearray(b"".join(digest.ljust(_MAX_DIGEST, b"\0") for digest in hashes))
    digest = torch.frombuffer(padded, dtype=torch.int64).view(-1, DIGEST_WORDS).to(device)
    length = torch.tensor([len(digest) for digest in hashes], dtype=torch.uint8, device=device)
    return Names(digest, length, groups)


def digests_of(words: Tensor, lengths: Tensor) -> list[BlockHash]:
    """The digests that are in ``words``, int64 [n, DIGEST_WORDS], of so many bytes each, [n]."""
    padded = words.contiguous().cpu().numpy().tobytes()
    starts = range(0, len(padded), _MAX_DIGEST)
    return [BlockHash(padded[at : at + n]) for at, n in zip(starts, lengths.tolist(), strict=True)]
