"""A row gets a place for everything that the step writes, and no more.

The statements are about one entry of the grown row, whichever it is. An entry is the place of tokens
``[entry * B, (entry + 1) * B)``, and of the state after any of them.
"""

from collections.abc import Iterable
from itertools import product

from pagedkv.spec.clauses import allocation
from pagedkv.spec.rules.rows import Growth, attention_growth, mamba_growth, skipped_entries

from .contract import Contract


def _is_appended(entry: int, row_length: int, growth: Growth) -> bool:
    return row_length <= entry < row_length + growth.padding + _num_moved(growth) + growth.taken


def _num_moved(growth: Growth) -> int:
    return growth.moved_to - growth.moved_from


def _is_padding(entry: int, row_length: int, growth: Growth) -> bool:
    return row_length <= entry < row_length + growth.padding


def _moves_away(entry: int, growth: Growth) -> bool:
    return growth.moved_from <= entry < growth.moved_to


# Attention


def _judge_attention(row_length: int, end: int, entry: int, block_size: int) -> None:
    growth = attention_growth(row_length, end, block_size)
    holds_tokens = entry * block_size < end
    assert growth.padding == 0 and _num_moved(growth) == 0, f"{growth}"
    assert growth.taken >= 0, f"{growth}"
    assert (entry < row_length + growth.taken) == (entry < row_length or holds_tokens), f"{growth}"


def attention_row_covers_the_tokens(row_length: int, end: int, entry: int) -> None:
    """An entry is there if it was there or has a token before ``end``."""
    assert row_length >= 0 and end >= 0 and entry >= 0
    _judge_attention(row_length, end, entry, block_size=16)


def attention_row_of_single_tokens(row_length: int, end: int, entry: int) -> None:
    """The same with blocks of one token."""
    assert row_length >= 0 and end >= 0 and entry >= 0
    _judge_attention(row_length, end, entry, block_size=1)


# States


def _is_row(row_length: int, end: int, spec: int, is_first: bool, block_size: int) -> bool:
    """Whether a row can be this long: a hit is shorter than what is computed, and any call leaves a running
    and the speculative blocks.
    """
    before = (row_length - 1) * block_size < end if is_first else row_length > spec
    return row_length >= 0 and end >= 1 and spec >= 0 and before


def _is_needed(entry: int, end: int, spec: int, block_size: int) -> bool:
    """Whether the step writes a state there: the one after ``end`` tokens, or one of ``spec`` after it."""
    return (entry + 1) * block_size >= end and (entry - spec) * block_size < end


def _is_passed(entry: int, end: int, block_size: int) -> bool:
    """Whether every state that could lie there is older than the one after ``end`` tokens."""
    return (entry + 1) * block_size < end


def _judge_places(row_length: int, end: int, spec: int, is_first: bool, entry: int, block_size: int) -> None:
    """What the step writes has a block, nothing else is appended but padding before it."""
    growth = mamba_growth(row_length, end, block_size, spec, is_first)
    # A hit has its last state at most; any other row ends in its running and speculative blocks.
    kept = row_length - 1 if is_first else row_length - 1 - spec
    was_there = kept <= entry < row_length and not _moves_away(entry, growth)
    is_padding = _is_padding(entry, row_length, growth)
    appended = _is_appended(entry, row_length, growth)
    needed = _is_needed(entry, end, spec, block_size)
    if needed:
        assert (was_there or appended) and not is_padding
    if appended:
        assert needed or (is_padding and _is_passed(entry, end, block_size))


def _judge_moves(row_length: int, end: int, spec: int, is_first: bool, entry: int, block_size: int) -> None:
    """Exactly the speculative blocks that the running state has passed are used again."""
    growth = mamba_growth(row_length, end, block_size, spec, is_first)
    is_speculative = not is_first and row_length - spec <= entry < row_length
    assert _moves_away(entry, growth) == (is_speculative and _is_passed(entry, end, block_size)), f"{growth}"


def _judge_taken(row_length: int, end: int, spec: int, is_first: bool, block_size: int) -> None:
    """A first call takes at most the running and the speculative blocks, a later one at most one."""
    growth = mamba_growth(row_length, end, block_size, spec, is_first)
    assert 0 <= growth.taken <= (1 + spec if is_first else 1), f"{growth}"
    assert growth.padding >= 0 and _num_moved(growth) >= 0, f"{growth}"
