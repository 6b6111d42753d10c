"""How a request's row of one group grows."""

from typing import NamedTuple

from .sizes import blocks_for


class Growth(NamedTuple):
    """What a row appends, in this order."""

    padding: int
    """Null entries, for states that nobody will read."""
    moved_from: int
    moved_to: int
    """Entries ``[moved_from, moved_to)``, speculative blocks of the last step, move to the row's new end."""
    taken: int
    """Blocks taken from the pool."""


def attention_growth(row_length: int, end: int, block_size: int) -> Growth:
    """What full attention appends so that the row covers ``end`` tokens."""
    return Growth(0, row_length, row_length, max(0, blocks_for(end, block_size) - row_length))


def states_growth(row_length: int, end: int, block_size: int, num_speculative: int) -> Growth:
    """What a mamba group appends that keeps a state per block, so that the one after ``end`` has a place.

    The speculative blocks follow it.
    """
    return attention_growth(row_length, end + num_speculative * block_size, block_size)


def mamba_growth(row_length: int, end: int, block_size: int, num_speculative: int, is_first: bool) -> Growth:
    """What a mamba group in "align" mode appends so that the state after ``end`` >= 1 tokens has a place.

    The running state goes into entry ``blocks_for(end) - 1``, the speculative blocks follow it. A
    row that ``is_first`` to be allocated has hit blocks only; any other ends in its speculative
    blocks, and those that the running state has passed are used again.
    """
    running = blocks_for(end, block_size) - 1
    needed = running + 1 + num_speculative
    moved_from = row_length if is_first else row_length - num_speculative
    moved_to = max(moved_from, min(row_length, running))
    padding = max(0, running - row_length)
    taken = needed - row_length - padding - (moved_to - moved_from)
    return Growth(padding, moved_from, moved_to, max(0, taken))
