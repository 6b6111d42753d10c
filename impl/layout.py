"""The state of the torch manager: structures of arrays, and what they mean.

Everything that is kept per block, per key, per cell or per table entry is a tensor on the manager's device.
The numbers beside the tensors are sizes that the host knows anyway. Ids of blocks, keys and rows are int32
in the arrays and int64 while they travel.
"""

from dataclasses import dataclass, fields
from typing import Any, TypeVar

import torch
from torch import Tensor

BUCKET = 8
"""Cells of a bucket: 8 tags of 4 bytes are half a cache line, and 8 rows of keys another half."""

DIGEST_WORDS = 4
"""A digest has up to 32 bytes."""

MOST_BLOCKS = 2**31 - 1
"""So that their ids, and their places in the ring, are int32."""

NOBODY = -1
"""No block, no key, no cell, no place in the queue."""


@dataclass
class Ring:
    """The free queue (clause Pool/free_queue): a ring of cells that grows at both ends.

    A block that leaves from the middle leaves a hole, which goes when the front passes it or, when the ring
    is full, with all others.
    """

    cells: Tensor
    """int32 [capacity]: block ids; 0, the null block, is a hole."""
    position: Tensor
    """int32 [blocks]: the cell of a queued block, else ``NOBODY``."""
    head: int
    """The cell of the front."""
    span: int
    """Cells in use from the front on, with holes."""
    free: int
    """Blocks in the queue."""

    @classmethod
    def of_blocks(cls, num_blocks: int, device: torch.device) -> "Ring":
        """All blocks but null, by id."""
        # Room for as many holes as blocks, so that closing them is paid for; ids of cells stay int32.
        capacity = min(2 * num_blocks, 2**31 - 1)
        cells = torch.zeros(capacity, dtype=torch.int32, device=device)
        torch.arange(1, num_blocks, dtype=torch.int32, device=device, out=cells[: num_blocks - 1])
        position = torch.arange(-1, num_blocks - 1, dtype=torch.int32, device=device)
        return cls(cells, position, 0, num_blocks - 1, num_blocks - 1)


@dataclass
class Keys:
    """Every key of every block (clause Index/both_ways): one row for each pair of key and block.

    Two lists run through the rows: that of a block, its primary key first, and that of a key's holders, a
    ring in which the one before the longest holder is the newest.
    """

    first: Tensor
    """int32 [blocks]: the row of the primary key."""
    digest: Tensor
    """int64 [rows, DIGEST_WORDS]: the hash, filled up with zeros."""
    length: Tensor
    """uint8 [rows]: bytes of the hash."""
    group: Tensor
    """int32 [rows]."""
    num_tokens: Tensor
    """int32 [rows]: tokens of the prefix."""
    block: Tensor
    """int32 [rows]; ``NOBODY`` for a row that is not in use."""
    after: Tensor
    """int32 [rows]: the block's next key."""
    newer: Tensor
    """int32 [rows]: the next holder; of the newest, the longest holder."""
    older: Tensor
    """int32 [rows]: the holder before; of the longest holder, the newest."""
    cell: Tensor
    """int32 [rows]: where the index has the row: the longest holders only."""
    unused: Tensor
    """int32 [rows]: a stack of rows that are not in use."""
    num_unused: int

    @classmethod
    def empty(cls, num_blocks: int, num_rows: int, device: torch.device) -> "Keys":
        """No key, and room for ``num_rows``."""

        def column(fill: int, dtype: torch.dtype = torch.int32) -> Tensor:
            return torch.full((num_rows,), fill, dtype=dtype, device=device)

        return cls(
            first=torch.full((num_blocks,), NOBODY, dtype=torch.int32, device=device),
            digest=torch.zeros((num_rows, DIGEST_WORDS), dtype=torch.int64, device=device),
            length=column(0, torch.uint8),
            group=column(0),
            num_tokens=column(0),
            block=column(NOBODY),
            after=column(NOBODY),
            newer=column(NOBODY),
            older=column(NOBODY),
            cell=column(NOBODY),
            unused=torch.arange(num_rows - 1, -1, -1, dtype=torch.int32, device=device),
            num_unused=num_rows,
        )


@dataclass
class Buckets:
    """The index: a hash table of the longest holders, in buckets of ``BUCKET`` cells.

    A key whose bucket is full goes to the next one that is not, and the buckets that it passed count it, so
    that a search knows where to go on, and nothing is left behind when a key goes. One bucket more than the
    hash can choose takes what is to be written nowhere.
    """

    tags: Tensor
    """int32 [buckets + 1, BUCKET]: part of the key's hash."""
    rows: Tensor
    """int32 [buckets + 1, BUCKET]: a row of ``Keys``, ``NOBODY`` for a free cell."""
    passed: Tensor
    """int32 [buckets + 1]: keys that live further on because this bucket was full."""

    @classmethod
    def empty(cls, num_buckets: int, device: torch.device) -> "Buckets":
        """No key; ``num_buckets`` is a power of two."""
        return cls(
            tags=torch.zeros((num_buckets + 1, BUCKET), dtype=torch.int32, device=device),
            rows=torch.full((num_buckets + 1, BUCKET), NOBODY, dtype=torch.int32, device=device),
            passed=torch.zeros(num_buckets + 1, dtype=torch.int32, device=device),
        )

    @property
    def num_buckets(self) -> int:
        """Buckets that the hash can choose."""
        return len(self.rows) - 1


@dataclass
class Tables:
    """The block tables of one group, one row per request."""

    blocks: Tensor
    """int32 [requests, entries]: block ids; 0 for an entry without storage and beyond the row's end."""
    length: Tensor
    """int32 [requests]: entries of the row; 0 for a row that is not in use."""
    num_cached: Tensor
    """int32 [requests]: up to which block keys were made."""
    num_skipped: Tensor
    """int32 [requests]: leading entries that were let go already."""
    named_partial: Tensor
    """int32 [requests]: the length of the partial entry named in this holding, 0 for none."""

    @classmethod
    def empty(cls, num_rows: int, num_entries: int, device: torch.device) -> "Tables":
        """No request, and room for ``num_rows``."""

        def column() -> Tensor:
            return torch.zeros(num_rows, dtype=torch.int32, device=device)

        blocks = torch.zeros((num_rows, num_entries), dtype=torch.int32, device=device)
        return cls(blocks, column(), column(), column(), column())


State = TypeVar("State", Ring, Keys, Buckets, Tables)


def cloned(state: State) -> State:
    """An independent state with the same contents."""
    values = ((field.name, getattr(state, field.name)) for field in fields(state))
    copies: dict[str, Any] = {n: v.clone() if isinstance(v, Tensor) else v for n, v in values}
    return type(state)(**copies)


def grown(tensor: Tensor, rows: int, fill: int, columns: int | None = None) -> Tensor:
    """``tensor`` with at least that many rows, and columns if it has any; what is new holds ``fill``."""
    shape = [max(rows, len(tensor)), *tensor.shape[1:]]
    if columns is not None:
        shape[1] = max(columns, shape[1])
    wider = torch.full(shape, fill, dtype=tensor.dtype, device=tensor.device)
    wider[tuple(slice(size) for size in tensor.shape)] = tensor
    return wider
