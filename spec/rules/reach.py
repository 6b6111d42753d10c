"""Which part of a prefix the steps of a group read."""

from typing import Literal

from .sizes import blocks_for

Reads = Literal["prefix", "window", "chunk", "state", "encoder"]
"""Full attention, sliding windows, chunked local attention, recurrent states, cross attention."""


def first_read(reads: Reads, num_processed: int, reach: int) -> int:
    """The first position that a step after ``num_processed`` tokens reads, in tokens.

    ``reach`` is the length of windows or chunks; 0 for the others. A state is read at its last position. What
    an encoder made is all read by every step.
    """
    match reads:
        case "prefix" | "encoder":
            return 0
        case "window":
            return max(0, num_processed - reach + 1)
        case "chunk":
            return num_processed - num_processed % reach
        case "state":
            return max(0, num_processed - 1)


def gap_entries(num_prompt_tokens: int, num_processed: int, reach: int, block_size: int) -> range:
    """Entries of a row between a prompt and a window of the last ``reach`` tokens, which no step reads.

    The step reads the prompt and, of what is processed, ``reach`` tokens.
    """
    window = max(num_prompt_tokens, num_processed - reach)
    return range(blocks_for(num_prompt_tokens, block_size), window // block_size)


def shared_length(num_prompt_tokens: int, reach: int) -> int:
    """How many tokens have KV that does not depend on where the prompt ends.

    The step at the last of them is the last that reads all before it, with a window of ``reach`` tokens
    beside the prompt.
    """
    return num_prompt_tokens + reach + 1


def skipped_entries(reads: Reads, num_processed: int, reach: int, block_size: int) -> int:
    """Leading entries of a row that no step after ``num_processed`` tokens reads."""
    return first_read(reads, num_processed, reach) // block_size
