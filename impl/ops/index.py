"""The index of keys: finding, and the longest holders that come and go."""

import torch
from torch import Tensor

from pagedkv.impl.layout import BUCKET, NOBODY, Buckets, Keys

from .fixed import Names, names_of, place, probe, put, spread, tag_of, take_out


def find(keys: Keys, buckets: Buckets, names: Names) -> Tensor:
    """The row of each key's longest holder, int64 [n], or ``NOBODY``. Changes nothing."""
    hashes = spread(names)
    tags, bucket = tag_of(hashes), _home(buckets, hashes)
    rows, goes_on = probe(keys, buckets, names, tags, bucket)
    searched = goes_on.nonzero().view(-1)
    while len(searched):
        bucket = _beside(buckets, bucket)
        found, goes_on = probe(keys, buckets, names.at(searched), tags[searched], bucket[searched])
        put(rows, searched, found)
        searched = searched[goes_on]
    return rows


def insert(keys: Keys, buckets: Buckets, rows: Tensor) -> None:
    """Put rows [n] of different keys, none of which is there, into the index; there must be room."""
    hashes = spread(names_of(keys, rows))
    tags, bucket = tag_of(hashes), _home(buckets, hashes)
    while len(rows):
        cells, fits = place(buckets, rows, tags, bucket)
        put(keys.cell, rows[fits], cells[fits])
        waits = ~fits
        rows, tags, bucket = rows[waits], tags[waits], _beside(buckets, bucket[waits])


def remove(keys: Keys, buckets: Buckets, rows: Tensor) -> None:
    """Take rows [n] out of the index, and back what they count in the buckets that they passed."""
    cells = keys.cell[rows].long()
    take_out(buckets, cells)
    put(keys.cell, rows, NOBODY)
    bucket, lives_in = _home(buckets, spread(names_of(keys, rows))), cells // BUCKET
    while len(bucket):
        further = bucket != lives_in
        bucket, lives_in = bucket[further], lives_in[further]
        buckets.passed.index_add_(0, bucket, torch.full_like(bucket, -1, dtype=torch.int32))
        bucket = _beside(buckets, bucket)


def _home(buckets: Buckets, hashes: Tensor) -> Tensor:
    return hashes & (buckets.num_buckets - 1)


def _beside(buckets: Buckets, bucket: Tensor) -> Tensor:
    return (bucket + 1) & (buckets.num_buckets - 1)
