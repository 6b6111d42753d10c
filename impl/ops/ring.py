"""The free queue: taking from the front, putting back at either end, leaving from the middle."""

import torch
from torch import Tensor

from pagedkv.impl.layout import NOBODY, Ring

from .fixed import put


def queued(ring: Ring) -> Tensor:
    """The ids in the queue from its front, int64 [free]. Changes nothing."""
    ids = ring.cells[_cells(ring, 0, ring.span)].long()
    return ids[ids != 0]


def take(ring: Ring, num_blocks: int) -> Tensor:
    """Take the first ``num_blocks`` ids, at most as many as are free; int64 [num_blocks]."""
    width = num_blocks
    while True:
        ids = ring.cells[_cells(ring, 0, width)].long()
        live = (ids != 0).nonzero().view(-1)
        if len(live) >= num_blocks:
            break
        # Holes stand in front; what is looked at once too often is paid for by those that go now.
        width = min(ring.span, 2 * width)
    live = live[:num_blocks]
    passed = int(live[-1]) + 1 if num_blocks else 0
    ring.head = (ring.head + passed) % len(ring.cells)
    ring.span -= passed
    ring.free -= num_blocks
    taken = ids[live]
    put(ring.position, taken, NOBODY)
    return taken


def put_back(ring: Ring, ids: Tensor) -> None:
    """Append ``ids`` [n] in order."""
    _make_room(ring, len(ids))
    _write(ring, ring.span, ids)
    ring.span += len(ids)


def put_front(ring: Ring, ids: Tensor) -> None:
    """Insert ``ids`` [n] before the front, the first of them as the new front."""
    _make_room(ring, len(ids))
    ring.head = (ring.head - len(ids)) % len(ring.cells)
    ring.span += len(ids)
    _write(ring, 0, ids)


def leave(ring: Ring, ids: Tensor) -> None:
    """Take these queued ids [n], each once, from wherever they are."""
    put(ring.cells, ring.position[ids].long(), 0)
    put(ring.position, ids, NOBODY)
    ring.free -= len(ids)


def _cells(ring: Ring, begin: int, width: int) -> Tensor:
    """The cells of ``width`` places from the ``begin``-th on."""
    first = ring.head + begin
    return torch.arange(first, first + width, device=ring.cells.device) % len(ring.cells)


def _write(ring: Ring, begin: int, ids: Tensor) -> None:
    cells = _cells(ring, begin, len(ids))
    put(ring.cells, cells, ids)
    put(ring.position, ids, cells)
    ring.free += len(ids)


def _make_room(ring: Ring, num_blocks: int) -> None:
    """Close the holes if as many cells are not left."""
    if ring.span + num_blocks <= len(ring.cells):
        return
    ids = queued(ring)
    ring.head, ring.span, ring.free = 0, len(ids), 0
    _write(ring, 0, ids)
