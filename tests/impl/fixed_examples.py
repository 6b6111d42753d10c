"""One call of each function with fixed shapes, on any device that holds or only imagines tensors."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from pagedkv.impl.layout import BUCKET, DIGEST_WORDS, NOBODY, Buckets, Keys
from pagedkv.impl.ops import fixed
from pagedkv.impl.ops.fixed import Names

NUM_ROWS, NUM_BUCKETS, NUM_BLOCKS = 6, 4, 5


def numbers(device: torch.device, *values: int) -> Tensor:
    """These numbers, int64."""
    return torch.tensor(values, dtype=torch.int64, device=device)


def keys(device: torch.device) -> Keys:
    """Three rows of one key in a ring, the others not in use."""
    held = Keys.empty(NUM_BLOCKS, NUM_ROWS, device)
    held.block[:3] = torch.tensor([1, 2, 3], dtype=torch.int32, device=device)
    held.newer[:3] = torch.tensor([1, 2, 0], dtype=torch.int32, device=device)
    held.older[:3] = torch.tensor([2, 0, 1], dtype=torch.int32, device=device)
    held.length[:3] = 8
    return held


def names(device: torch.device, count: int) -> Names:
    """That key, so many times."""
    digest = torch.zeros((count, DIGEST_WORDS), dtype=torch.int64, device=device)
    length = torch.full((count,), 8, dtype=torch.uint8, device=device)
    return Names(digest, length, torch.zeros(count, dtype=torch.int64, device=device))


def buckets(device: torch.device) -> Buckets:
    """No key yet."""
    return Buckets.empty(NUM_BUCKETS, device)


def put(device: torch.device) -> Any:
    target = torch.zeros((3, 4), dtype=torch.int32, device=device)
    fixed.put(target, (numbers(device, 0, 2), slice(2)), numbers(device, 7, 8))
    fixed.put(target, target[:, 0] > 0, NOBODY)
    return target


def place(device: torch.device) -> Any:
    index, bucket = buckets(device), torch.ones(BUCKET + 2, dtype=torch.int64, device=device)
    rows = torch.arange(BUCKET + 2, device=device)
    return fixed.place(index, rows, rows.to(torch.int32), bucket), index.rows, index.tags, index.passed


def take_out(device: torch.device) -> Any:
    index = buckets(device)
    fixed.take_out(index, numbers(device, 0, 9))
    return index.rows


def join_holders(device: torch.device) -> Any:
    held, continues = keys(device), torch.tensor([False, True, False], device=device)
    begins = fixed.join_holders(held, numbers(device, 3, 4, 5), numbers(device, 0, 0, NOBODY), continues)
    return begins, held.newer, held.older


def leave_holders(device: torch.device) -> Any:
    held, rows = keys(device), numbers(device, 0, 1)
    fixed.put(held.block, rows, NOBODY)
    return fixed.leave_holders(held, rows), held.newer, held.older


EXAMPLES: dict[Callable[..., Any], Callable[[torch.device], Any]] = {
    fixed.put: put,
    fixed.ragged: lambda device: fixed.ragged(numbers(device, 2, 0, 3), 5),
    fixed.rank_among_equals: lambda device: fixed.rank_among_equals(numbers(device, 4, 1, 4, 4)),
    fixed.leading_run: lambda device: fixed.leading_run(torch.tensor([True, True, False], device=device)),
    fixed.names_of: lambda device: fixed.names_of(keys(device), numbers(device, 0, 2)),
    fixed.same_name: lambda device: fixed.same_name(
        keys(device), numbers(device, 0, 1, NOBODY, 2).view(2, 2), names(device, 2)
    ),
    fixed.spread: lambda device: fixed.spread(names(device, 2)),
    fixed.tag_of: lambda device: fixed.tag_of(fixed.spread(names(device, 2))),
    fixed.probe: lambda device: fixed.probe(
        keys(device),
        buckets(device),
        names(device, 2),
        torch.zeros(2, dtype=torch.int32, device=device),
        numbers(device, 1, 3),
    ),
    fixed.place: place,
    fixed.take_out: take_out,
    fixed.join_holders: join_holders,
    fixed.leave_holders: leave_holders,
}
"""By function, a call of it; what it answers and has written to."""
