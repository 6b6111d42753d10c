"""Managers whose blocks have the highest ids that int32 can hold.

A pool of 2**31 - 1 blocks has arrays of 8 GiB. Here these are files with a hole: every cell can be used, and
only those that are written to take room.
"""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from pagedkv.impl import KVCacheManager
from pagedkv.impl.layout import NOBODY, Ring
from pagedkv.impl.ops.ring import put_back
from tests.scenarios.build import hybrid
from tests.scenarios.sides import load

NUM_BLOCKS = 2**31 - 1
"""Ids are from 0 to 2**31 - 2."""


def sparse(folder: Path, name: str, filled: Tensor) -> Tensor:
    """int32 [NUM_BLOCKS] of zeros that ends as ``filled`` does, and begins with its first value."""
    values = torch.from_file(str(folder / name), shared=True, size=NUM_BLOCKS, dtype=torch.int32)
    values[0] = filled[0]
    values[-len(filled) + 1 :] = filled[1:]
    return values


def size_on_disk(folder: Path) -> int:
    """Bytes that the files in a folder really take."""
    return sum(path.stat().st_blocks * 512 for path in folder.iterdir())


def shift(block: int, num_blocks: int) -> int:
    """The id of a small manager's block in the one with the highest ids. Null stays null."""
    return block and NUM_BLOCKS - num_blocks + block


def with_highest_ids(folder: Path, num_blocks: int, **options: Any) -> KVCacheManager:
    """A new manager in which only the last ``num_blocks`` - 1 blocks are free, and nobody has the others."""
    manager: KVCacheManager = hybrid(load("impl"), num_blocks=num_blocks, **options)
    pool, ledger = manager.block_pool, manager.coordinator.ledger
    pool.num_gpu_blocks = NUM_BLOCKS
    pool.ref_counts = sparse(folder, "ref_counts", pool.ref_counts)
    pool.keys.keys.first = sparse(folder, "first", pool.keys.keys.first)
    ledger._filled_at = sparse(folder, "filled_at", ledger._filled_at)
    position = sparse(folder, "position", torch.full((num_blocks,), NOBODY, dtype=torch.int32))
    # The front of the queue is in one of the last cells too, so that it goes on in the first.
    cells = torch.from_file(str(folder / "cells"), shared=True, size=NUM_BLOCKS, dtype=torch.int32)
    pool.queue = Ring(cells, position, NUM_BLOCKS - 5, 0, 0)
    put_back(pool.queue, torch.arange(NUM_BLOCKS - num_blocks + 1, NUM_BLOCKS))
    return manager
