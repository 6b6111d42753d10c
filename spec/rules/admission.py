"""How much of the pool a request may claim when it is admitted."""

from fractions import Fraction

from .reach import Reads
from .sizes import blocks_for


def admission_cap(
    reads: Reads, reach: int, max_in_flight_tokens: int, max_model_len: int, block_size: int
) -> int | None:
    """The most blocks of a group that a request ever holds at a time; None where nothing is let go.

    Entries are let go by the tokens whose steps are processed, so what is in flight is held as well. A
    window may begin inside a block.
    """
    match reads:
        case "window":
            return blocks_for(min(reach - 1 + max_in_flight_tokens, max_model_len), block_size) + 1
        case "chunk":
            return blocks_for(min(reach + max_in_flight_tokens, max_model_len), block_size)
    return None


def watermark_blocks(watermark: float, num_blocks: int) -> int:
    """How many blocks an admission leaves free: that share of the pool, rounded down."""
    return int(Fraction(watermark) * num_blocks)
