"""Rounding between tokens and blocks."""


def blocks_for(num_tokens: int, block_size: int) -> int:
    """The fewest blocks that cover ``num_tokens`` tokens."""
    return -(-num_tokens // block_size)


def floor_to(num_tokens: int, grain: int) -> int:
    """``num_tokens`` rounded down to a multiple of ``grain``."""
    return num_tokens - num_tokens % grain
