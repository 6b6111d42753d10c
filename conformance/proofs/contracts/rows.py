"""A row gets a place for everything that the step writes, and no more.

The statements are about one entry of the grown row, whichever it is. Entry i is the place of tokens
``[i * B, (i + 1) * B)``, and of the state after any of them.
"""

from collections.abc import Iterable
from itertools import product

from pagedkv.spec.clauses import allocation
from pagedkv.spec.rules.rows import Growth, attention_growth, mamba_growth, states_growth

from .contract import Contract

# Attention


def _judge_attention(row_length: int, end: int, entry: int, block_size: int) -> None:
    growth = attention_growth(row_length, end, block_size)
    assert growth.padding == 0 and growth.moved_from == growth.moved_to and growth.taken >= 0, f"{growth}"
    has_token = entry * block_size < end
    assert (entry < row_length + growth.taken) == (entry < row_length or has_token), f"{growth}"


def attention_row_covers_the_tokens(row_length: int, end: int, entry: int) -> None:
    """An entry is there if it was there or has a token before ``end``; blocks of 16 tokens."""
    assert row_length >= 0 and end >= 0 and entry >= 0
    _judge_attention(row_length, end, entry, 16)


def attention_row_of_short_blocks_covers_the_tokens(row_length: int, end: int, entry: int) -> None:
    """The same with blocks of one token."""
    assert row_length >= 0 and end >= 0 and entry >= 0
    _judge_attention(row_length, end, entry, 1)


# A state per block


def row_of_a_state_per_block_has_a_place_for_every_state(
    row_length: int, end: int, spec: int, entry: int
) -> None:
    """Every started block of 16 tokens has one, and after the last there are ``spec`` more."""
    assert row_length >= 0 and end >= 1 and spec >= 0 and entry >= 0
    growth = states_growth(row_length, end, 16, spec)
    assert growth.padding == 0 and growth.moved_from == growth.moved_to and growth.taken >= 0, f"{growth}"
    is_needed = (entry - spec) * 16 < end
    assert (entry < row_length + growth.taken) == (entry < row_length or is_needed), f"{growth}"


# Aligned states


def _is_row(row_length: int, end: int, spec: int, is_first: bool, block_size: int) -> bool:
    """Whether a row can be that long before a step to ``end``.

    A hit is shorter than what is computed. Any other row ends in a running and ``spec`` speculative
    blocks, and the new running entry does not lie before the old one.
    """
    old_running = row_length - 1 if is_first else row_length - 1 - spec
    shortest = 0 if is_first else 1 + spec
    return end >= 1 and spec >= 0 and row_length >= shortest and old_running * block_size < end


def _is_passed(entry: int, end: int, block_size: int) -> bool:
    """Whether every state that could lie there is older than the one after ``end`` tokens."""
    return (entry + 1) * block_size < end


def _is_written(entry: int, end: int, spec: int, block_size: int) -> bool:
    """Whether the step keeps a state there: the one after ``end`` tokens, or one of the ``spec`` next."""
    return not _is_passed(entry, end, block_size) and (entry - spec) * block_size < end


def _moves_away(entry: int, growth: Growth) -> bool:
    return growth.moved_from <= entry < growth.moved_to


def _judge_places(row_length: int, end: int, spec: int, is_first: bool, entry: int, block_size: int) -> None:
    """What the step writes has a block; appended are only these and padding before them."""
    growth = mamba_growth(row_length, end, block_size, spec, is_first)
    blocks = row_length + growth.padding
    new_end = blocks + growth.moved_to - growth.moved_from + growth.taken
    # Of a hit only the last state is there; any other row ends in its running and speculative blocks.
    kept = row_length - 1 if is_first else row_length - 1 - spec
    stays = kept <= entry < row_length and not _moves_away(entry, growth)
    if _is_written(entry, end, spec, block_size):
        assert stays or blocks <= entry < new_end, f"{growth}"
    elif row_length <= entry < new_end:
        assert entry < blocks and _is_passed(entry, end, block_size), f"{growth}"


def state_row_has_a_place_for_every_state(
    row_length: int, end: int, spec: int, is_first: bool, entry: int
) -> None:
    """Blocks of 16 tokens."""
    assert entry >= 0 and _is_row(row_length, end, spec, is_first, 16)
    _judge_places(row_length, end, spec, is_first, entry, 16)


def state_row_of_short_blocks_has_a_place_for_every_state(
    row_length: int, end: int, spec: int, is_first: bool, entry: int
) -> None:
    """Blocks of one token: every step passes some."""
    assert entry >= 0 and _is_row(row_length, end, spec, is_first, 1)
    _judge_places(row_length, end, spec, is_first, entry, 1)


def state_row_moves_what_was_passed(row_length: int, end: int, spec: int, is_first: bool, entry: int) -> None:
    """Used again are exactly the speculative blocks of the last step that the running state has passed."""
    assert entry >= 0 and _is_row(row_length, end, spec, is_first, 16)
    growth = mamba_growth(row_length, end, 16, spec, is_first)
    is_speculative = not is_first and row_length - spec <= entry < row_length
    assert _moves_away(entry, growth) == (is_speculative and _is_passed(entry, end, 16)), f"{growth}"


def state_row_takes_few_blocks(row_length: int, end: int, spec: int, is_first: bool) -> None:
    """The first call takes a running block at most and the speculative ones, a later call one."""
    assert _is_row(row_length, end, spec, is_first, 16)
    growth = mamba_growth(row_length, end, 16, spec, is_first)
    assert 0 <= growth.taken <= (1 + spec if is_first else 1), f"{growth}"
    assert growth.padding >= 0 and growth.moved_to >= growth.moved_from, f"{growth}"


def state_row_stays_for_a_shorter_step(row_length: int, end: int, spec: int) -> None:
    """Where drafts were rejected, the next step may end before the old running entry: nothing changes."""
    assert spec >= 0 and row_length > spec and 1 <= end <= (row_length - 1 - spec) * 16
    growth = mamba_growth(row_length, end, 16, spec, is_first=False)
    assert growth.padding == 0 and growth.moved_from == growth.moved_to and growth.taken == 0, f"{growth}"


def _rows(block_size: int) -> Iterable[tuple[int, int, int, bool]]:
    return product(range(8), range(1, 4 * block_size + 8), range(3), (False, True))


def _entries_of_rows(block_size: int) -> Iterable[tuple[int, int, int, bool, int]]:
    return ((*row, entry) for row in _rows(block_size) for entry in range(12))


CONTRACTS = (
    *(
        Contract(
            check,
            attention_growth,
            (allocation.COVERS_THE_TOKENS, allocation.HOLDS_NO_MORE, allocation.PREDICTION_IS_EXACT),
            lambda: product(range(4), range(50), range(5)),
        )
        for check in (attention_row_covers_the_tokens, attention_row_of_short_blocks_covers_the_tokens)
    ),
    Contract(
        row_of_a_state_per_block_has_a_place_for_every_state,
        states_growth,
        (allocation.COVERS_THE_TOKENS, allocation.HOLDS_NO_MORE, allocation.PREDICTION_IS_EXACT),
        lambda: product(range(5), range(1, 50), range(3), range(8)),
    ),
    Contract(
        state_row_has_a_place_for_every_state,
        mamba_growth,
        (allocation.COVERS_THE_TOKENS, allocation.HOLDS_NO_MORE, allocation.PREDICTION_IS_EXACT),
        lambda: _entries_of_rows(16),
    ),
    Contract(
        state_row_of_short_blocks_has_a_place_for_every_state,
        mamba_growth,
        (allocation.COVERS_THE_TOKENS, allocation.HOLDS_NO_MORE, allocation.PREDICTION_IS_EXACT),
        lambda: _entries_of_rows(1),
    ),
    Contract(
        state_row_moves_what_was_passed,
        mamba_growth,
        (allocation.HOLDS_NO_MORE, allocation.PREDICTION_IS_EXACT),
        lambda: _entries_of_rows(16),
    ),
    Contract(
        state_row_takes_few_blocks,
        mamba_growth,
        (allocation.HOLDS_NO_MORE,),
        lambda: _rows(16),
    ),
    Contract(
        state_row_stays_for_a_shorter_step,
        mamba_growth,
        (allocation.TABLES_APPEND_ONLY,),
        lambda: product(range(8), range(1, 81), range(3)),
    ),
)
