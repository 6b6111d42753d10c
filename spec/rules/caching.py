"""Which prefixes of a request become keys."""

from .reach import Reads
from .sizes import blocks_for, floor_to


def cacheable_length(end: int, num_tokens: int, alignment: int, block_size: int, is_eagle: bool) -> int:
    """Up to which length the full blocks of a group become keys.

    Tokens beyond ``num_tokens`` are drafts and may yet be rejected. ``alignment`` is the grain of
    hits: what ends between two multiples of it could never be asked for, except the one block that
    an EAGLE group has matched and then gives up.
    """
    final = min(end, num_tokens)
    cacheable = floor_to(final, alignment)
    return min(final, cacheable + block_size) if is_eagle and cacheable else cacheable


def is_kept(reads: Reads, i: int, block_size: int, reach: int, alignment: int, is_eagle: bool) -> bool:
    """Whether block ``i`` of a group becomes a key: of windows, what hits by ``alignment`` can read.

    With EAGLE a hit reads one block beyond its end as well. Where windows leave no gap, all are kept.
    """
    if reads != "window":
        return True
    spare, per_hit = int(is_eagle), alignment // block_size
    read = blocks_for(reach - 1, block_size) + spare
    return read >= per_hit or (i >= spare and (i - spare) % per_hit >= per_hit - read)


def partial_boundary(num_prompt_tokens: int, unit: int, block_size: int) -> int:
    """The prompt's last unit boundary where it lies inside a block, else 0."""
    boundary = floor_to(num_prompt_tokens, unit)
    return boundary if boundary % block_size else 0
