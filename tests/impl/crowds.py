"""Digests that collide in the index: equal in the bytes from which bucket and tag are taken."""

from collections.abc import Sequence
from functools import cache

import torch

from pagedkv.impl.digests import names_of_hashes
from pagedkv.impl.keys import KeyStore
from pagedkv.impl.layout import DIGEST_WORDS
from pagedkv.impl.ops.fixed import Names, spread, tag_of
from pagedkv.spec import BlockHash

SMALLEST_LAST = 256
"""Up to so many buckets the crowd's home is the last one, from which its keys go on to the first."""


@cache
def stem() -> bytes:
    """The first 8 bytes of every digest of the crowd."""
    digest = torch.zeros((1 << 14, DIGEST_WORDS), dtype=torch.int64)
    digest[:, 0] = torch.arange(1 << 14)
    group = torch.zeros(1 << 14, dtype=torch.int64)
    hashes = spread(Names(digest, group.to(torch.uint8), group))
    (word, *_) = ((hashes & (SMALLEST_LAST - 1)) == SMALLEST_LAST - 1).nonzero().view(-1).tolist()
    return bytes(digest[word, :1].view(torch.uint8).tolist())


def crowded(number: int, zeros: int = 0) -> BlockHash:
    """A digest of the crowd. ``zeros`` makes it longer, and no different once it is filled up."""
    return BlockHash(stem() + bytes([number % 256, 1 + number // 256]) + bytes(zeros))


def names(digests: Sequence[BlockHash], groups: Sequence[int], store: KeyStore) -> Names:
    """The keys of these digests and groups, as the store takes them."""
    return names_of_hashes(digests, torch.tensor(groups, dtype=torch.int64, device=store.keys.first.device))


def homes_and_tags(some: Names, store: KeyStore) -> tuple[set[int], set[int]]:
    """In which buckets the index begins to look for these keys, and under which tags."""
    hashes = spread(some)
    return set((hashes % store.buckets.num_buckets).tolist()), set(tag_of(hashes).tolist())


def groups_in_one_place(digest: BlockHash, store: KeyStore) -> tuple[int, int]:
    """Two groups in which this digest has the same tag and the same bucket."""
    # Half a million at random are enough that a few pairs agree in all 32 bits of the tag.
    groups = torch.randint(2**12, (2**19,), generator=torch.Generator().manual_seed(0))
    groups += torch.arange(2**19) * 2**12
    hashes = spread(names_of_hashes([digest], groups[:1]).at(torch.zeros_like(groups))._replace(group=groups))
    places = tag_of(hashes).long() * store.buckets.num_buckets + hashes % store.buckets.num_buckets
    ordered, order = places.sort()
    first = int((ordered[1:] == ordered[:-1]).nonzero()[0])
    one, other = groups[order[first : first + 2]].tolist()
    return one, other


def is_clean(store: KeyStore) -> bool:
    """Whether nothing is left behind of the keys that were there."""
    keys, buckets = store.keys, store.buckets
    unused = keys.unused[: keys.num_unused].sort().values.tolist()
    return (
        unused == list(range(len(keys.block)))
        and not bool(buckets.passed.any())
        and bool((buckets.rows[:-1] < 0).all())
        and all(bool((column < 0).all()) for column in (keys.block, keys.cell, keys.first))
    )
