"""What is asked of the groups."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from pagedkv.spec import Request


class Asked(NamedTuple):
    """One call for one request; lengths in tokens."""

    request: Request
    hits: Sequence[Tensor]
    """The blocks of the hit that it takes now, per group."""
    hit: int
    """How long that hit is."""
    local: int
    """What is computed or hit here; from there to ``start`` others have computed."""
    start: int
    end: int
    slots: int
    """Up to where attention has places: draft models look ahead."""
    whole: int
    """How long the sequence is that must fit."""
    encoder: int
    """How many tokens the request's encoder has made."""
    spare: int
    """Blocks that stay free."""
    lists_loaded: bool
    """Whether blocks for what others computed are to be zeroed."""
    publishes: bool


class Calls(NamedTuple):
    """What is asked for requests that stand in ``rows``, each int64 [n], in tokens."""

    rows: Tensor
    starts: Tensor
    """From there on the call fills blocks."""
    ends: Tensor
    num_tokens: Tensor
    num_prompt_tokens: Tensor
    junctions: Tensor
    num_processed: Tensor


def calls_of(
    requests: Sequence[Request],
    rows: Sequence[int],
    starts: Sequence[int],
    ends: Sequence[int],
    device: torch.device,
) -> Calls:
    """The calls as columns."""
    columns = [
        (
            row,
            start,
            end,
            r.num_tokens,
            r.num_prompt_tokens,
            r.shared_prefix_boundary,
            r.num_computed_tokens - r.num_in_flight_tokens,
        )
        for r, row, start, end in zip(requests, rows, starts, ends, strict=True)
    ]
    return Calls(
        *torch.tensor(columns, dtype=torch.int64, device=device).view(-1, len(Calls._fields)).unbind(1)
    )
