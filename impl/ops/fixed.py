"""Operations whose shapes the host knows beforehand, so that it never waits for a value."""

from typing import NamedTuple

import torch
from torch import Tensor

from pagedkv.impl.layout import BUCKET, NOBODY, Buckets, Keys

# Odd constants without any structure: they spread what differs in few bits over all.
_SPREAD_GROUP = -7046029254386353131
_SPREAD_DIGEST = -4417276706812531889


class Names(NamedTuple):
    """Keys as the index sees them, without their blocks."""

    digest: Tensor
    """int64 [n, DIGEST_WORDS]."""
    length: Tensor
    """uint8 [n]: bytes of each digest."""
    group: Tensor
    """int64 [n]."""

    def at(self, chosen: Tensor) -> "Names":
        """Those that an index chooses; of a mask the host has to wait for how many it does."""
        return Names(self.digest[chosen], self.length[chosen], self.group[chosen])


Index = Tensor | tuple[Tensor | int | slice, ...]


def put(target: Tensor, index: Index, values: Tensor | int) -> None:
    """``target[index] = values``, in the target's type."""
    target[index] = values.to(target.dtype) if isinstance(values, Tensor) else values


def ragged(counts: Tensor, total: int) -> tuple[Tensor, Tensor]:
    """For each of ``total`` elements that ``counts`` [n] deals out: whose it is, and which of them."""
    owner = torch.repeat_interleave(
        torch.arange(len(counts), device=counts.device), counts, output_size=total
    )
    begins = counts.cumsum(0) - counts
    return owner, torch.arange(total, device=counts.device) - begins[owner]


def rank_among_equals(values: Tensor) -> Tensor:
    """For each element of ``values`` [n], how many equal ones stand before it."""
    order = torch.argsort(values, stable=True)
    ordered, place = values[order], torch.arange(len(values), device=values.device)
    begins = torch.ones_like(place, dtype=torch.bool)
    begins[1:] = ordered[1:] != ordered[:-1]
    rank = torch.empty_like(place)
    rank[order] = place - torch.where(begins, place, 0).cummax(0).values
    return rank


def leading_run(is_there: Tensor) -> Tensor:
    """How many elements of ``is_there`` [n] are true before the first that is not."""
    return is_there.long().cumprod(0).sum()


def names_of(keys: Keys, rows: Tensor) -> Names:
    """The keys in these rows."""
    return Names(keys.digest[rows], keys.length[rows], keys.group[rows].long())


def same_name(keys: Keys, rows: Tensor, names: Names) -> Tensor:
    """Whether ``rows`` [n, ...] have the keys ``names`` [n]; false for ``NOBODY``."""
    shape = [-1] + [1] * (rows.dim() - 1)
    digest = names.digest.view(*shape, names.digest.shape[1])
    return (
        (rows >= 0)
        & (keys.digest[rows] == digest).all(-1)
        & (keys.length[rows] == names.length.view(shape))
        & (keys.group[rows] == names.group.view(shape))
    )


def spread(names: Names) -> Tensor:
    """A hash of each key, int64 [n]: its low bits choose the bucket, its high bits are the tag.

    The digest is random already; only groups of one digest have to be kept apart.
    """
    mixed = (names.digest[:, 0] ^ (names.group * _SPREAD_GROUP)) * _SPREAD_DIGEST
    return mixed ^ (mixed >> 29)


def tag_of(hashes: Tensor) -> Tensor:
    """The tag of each hash, int32 [n]."""
    return (hashes >> 32).to(torch.int32)


def probe(keys: Keys, buckets: Buckets, names: Names, tags: Tensor, bucket: Tensor) -> tuple[Tensor, Tensor]:
    """Look for each key in one bucket: the row of its longest holder or ``NOBODY``, and whether to go on.

    A tag only saves work: what counts is the whole key.
    """
    rows = buckets.rows[bucket].long()
    is_it = (buckets.tags[bucket] == tags[:, None]) & same_name(keys, rows, names)
    found = torch.where(is_it, rows, NOBODY).amax(1)
    return found, (found < 0) & (buckets.passed[bucket] > 0)


def place(buckets: Buckets, rows: Tensor, tags: Tensor, bucket: Tensor) -> tuple[Tensor, Tensor]:
    """Put each of these rows into its bucket if a cell is left, first come, first served.

    Answers the cells, and which rows found one; the others are counted as having passed.
    """
    is_free = buckets.rows[bucket] < 0
    wanted = rank_among_equals(bucket)[:, None] + 1
    is_mine = is_free & (is_free.cumsum(1) == wanted)
    fits = is_mine.any(1)
    cells = bucket * BUCKET + is_mine.long().argmax(1)
    # Whoever did not fit writes into the spare bucket, where nobody looks.
    target = torch.where(fits, cells, buckets.rows.numel() - 1)
    put(buckets.rows.view(-1), target, rows)
    put(buckets.tags.view(-1), target, tags)
    buckets.passed.index_add_(0, bucket, (~fits).to(torch.int32))
    return cells, fits


def take_out(buckets: Buckets, cells: Tensor) -> None:
    """Free these cells."""
    put(buckets.rows.view(-1), cells, NOBODY)


def join_holders(keys: Keys, rows: Tensor, heads: Tensor, continues: Tensor) -> Tensor:
    """Make ``rows`` [n] the newest holders of their keys, in order; answers which start a key.

    Rows of one key stand together; ``continues`` says of each whether the row before it has the same key.
    ``heads`` has the longest holder that the key had before, or ``NOBODY``.
    """
    begins, ends = ~continues, torch.ones_like(continues)
    ends[:-1] = ~continues[1:]
    place = torch.arange(len(rows), device=rows.device)
    first = rows[torch.where(begins, place, 0).cummax(0).values]
    is_new = heads < 0
    head = torch.where(is_new, first, heads)
    # Of a new key the ring is closed by its own last row, which the next lines find in ``last``.
    last_place = torch.where(ends, place, len(rows) - 1).flip(0).cummin(0).values.flip(0)
    last = rows[last_place]
    newest = torch.where(is_new, last, keys.older[head].long())
    older = torch.where(begins, newest, rows.roll(1))
    newer = torch.where(ends, head, rows.roll(-1))
    put(keys.older, rows, older)
    put(keys.newer, rows, newer)
    # The neighbours in the ring as it was; rows inside a run meet each other here again.
    put(keys.newer, older, rows)
    put(keys.older, newer, rows)
    return begins & is_new


def leave_holders(keys: Keys, rows: Tensor) -> Tensor:
    """Take ``rows`` [n], whose ``block`` says that they are gone, out of their rings.

    Answers the longest holder that is left of those after each row, or ``NOBODY``. A ring can lose any
    number of its rows at once: each of these jumps over those that go with it, twice as far every time.
    """
    for neighbour in (keys.newer, keys.older):
        for _ in range(max(1, len(rows)).bit_length()):
            next_row = neighbour[rows].long()
            is_gone = keys.block[next_row] < 0
            put(neighbour, rows, torch.where(is_gone, neighbour[next_row].long(), next_row))
    newer, older = keys.newer[rows].long(), keys.older[rows].long()
    is_left = keys.block[newer] >= 0
    # Of a ring without any row left, all point at rows that are gone; those may be written to.
    put(keys.older, newer, older)
    put(keys.newer, older, newer)
    return torch.where(is_left, newer, NOBODY)
