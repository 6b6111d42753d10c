"""How many blocks a request needs."""

from math import lcm

from .reach import Reads, skipped_entries
from .sizes import blocks_for


def most_blocks(
    reads: Reads, num_tokens: int, reach: int, block_size: int, max_step_tokens: int, num_speculative: int
) -> int:
    """The most blocks that one group holds at a time of a request that grows to ``num_tokens`` tokens.

    A step has up to ``max_step_tokens`` tokens and may begin anywhere. A state has at most the block it
    starts from, the running one and one that was handed over or is copied to, beside its speculative ones.
    """
    match reads:
        case "prefix" | "encoder":
            return blocks_for(num_tokens, block_size)
        case "state":
            return 3 + num_speculative
    # Later starts than these lie in their blocks as one of these does, nearer to the end.
    starts = range(min(num_tokens, reach + lcm(reach if reads == "chunk" else 1, block_size)))
    return max(
        blocks_for(min(num_tokens, start + max_step_tokens), block_size)
        - skipped_entries(reads, start, reach, block_size)
        for start in starts
    )
