"""What a manager announces of its cache to consumers elsewhere, such as a router that knows who has what."""

from collections.abc import Callable
from dataclasses import dataclass

from .hashing import BlockHash, ExtraKey, get_extra_keys
from .requests import Request


@dataclass(frozen=True)
class BlockStored:
    """Keys of one group that entered the index, the next going on where the one before it ends.

    A full block stands for ``block_size`` tokens. A partial entry is announced alone, with the tokens from
    its block's start to the boundary that it names.
    """

    block_hashes: tuple[BlockHash, ...]
    parent_block_hash: BlockHash | None
    """The hash of the prefix before ``start``, if that is in the index of this group now."""
    start: int
    """How many tokens of the prefix lie before ``token_ids``: without a parent, not always 0."""
    token_ids: tuple[int, ...]
    block_size: int
    group_idx: int
    lora_name: str | None
    extra_keys: tuple[tuple[ExtraKey, ...] | None, ...]
    """One entry for each hash unit of ``token_ids``, so that a consumer can make the hashes itself."""


@dataclass(frozen=True)
class BlockRemoved:
    """Keys of one group that left the index."""

    block_hashes: tuple[BlockHash, ...]
    group_idx: int


@dataclass(frozen=True)
class AllBlocksCleared:
    """Every key of every group left the index, by a reset."""


KVCacheEvent = BlockStored | BlockRemoved | AllBlocksCleared


def stored_event(
    request: Request,
    num_tokens: int,
    unit: int,
    block_size: int,
    group_idx: int,
    is_in_index: Callable[[BlockHash], bool],
) -> BlockStored:
    """The announcement of the request's first ``num_tokens`` tokens in a group. Changes nothing.

    ``unit`` and ``block_size`` are tokens; ``is_in_index`` says of a hash whether the group has it already.
    """
    start = (num_tokens - 1) // block_size * block_size
    parent = request.block_hashes[start // unit - 1] if start else None
    return BlockStored(
        (request.block_hashes[num_tokens // unit - 1],),
        parent if parent is not None and is_in_index(parent) else None,
        start,
        tuple(request.all_token_ids[start:num_tokens]),
        block_size,
        group_idx,
        request.lora_name,
        tuple(get_extra_keys(request, first, first + unit) for first in range(start, num_tokens, unit)),
    )
