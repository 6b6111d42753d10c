"""Keys go as far as final tokens and the grain of hits allow."""

from itertools import product

from pagedkv.spec.clauses import allocation
from pagedkv.spec.rules.caching import cacheable_length, is_kept, partial_boundary

from .answers import is_used
from .contract import Contract


def _judge_plain(end: int, num_tokens: int, alignment: int, block_size: int) -> None:
    length = cacheable_length(end, num_tokens, alignment, block_size, is_eagle=False)
    assert 0 <= length <= end and length <= num_tokens, f"{length}"
    assert length % alignment == 0, f"{length}"
    assert length + alignment > end or length + alignment > num_tokens, f"{length}"


def keys_end_with_the_last_aligned_final_token(end: int, num_tokens: int) -> None:
    """Two blocks of 8 tokens between the lengths of hits."""
    assert end >= 0 and num_tokens >= 0
    _judge_plain(end, num_tokens, 16, 8)


def keys_end_with_the_last_unit_of_final_tokens(end: int, num_tokens: int) -> None:
    """Hits by units of 4 tokens in blocks of 16."""
    assert end >= 0 and num_tokens >= 0
    _judge_plain(end, num_tokens, 4, 16)


def _judge_eagle(end: int, num_tokens: int, aligned: int, alignment: int, block_size: int) -> None:
    """``aligned`` is a length that a hit may have, out of final tokens; the longest of them decides."""
    length = cacheable_length(end, num_tokens, alignment, block_size, is_eagle=True)
    assert length <= end and length <= num_tokens, f"{length}"
    if aligned > 0:
        assert length >= aligned + block_size or length in (end, num_tokens), f"{length}"
    if aligned + alignment > end or aligned + alignment > num_tokens:
        assert length <= (aligned + block_size if aligned else 0), f"{length}"


def keys_of_eagle_go_one_block_further(end: int, num_tokens: int, aligned: int) -> None:
    """Two blocks of 8 tokens between the lengths of hits."""
    assert aligned % 16 == 0 and 0 <= aligned <= end and aligned <= num_tokens
    _judge_eagle(end, num_tokens, aligned, 16, 8)


def keys_of_eagle_by_units_go_to_the_end(end: int, num_tokens: int, aligned: int) -> None:
    """Hits by units of 4 tokens in blocks of 16: the block further is longer than what is left."""
    assert aligned % 4 == 0 and 0 <= aligned <= end and aligned <= num_tokens
    _judge_eagle(end, num_tokens, aligned, 4, 16)


def keys_never_go_back(end: int, later: int, num_tokens: int, is_eagle: bool) -> None:
    """A call that computes more publishes no less."""
    assert 0 <= end <= later and num_tokens >= 0
    before, after = (cacheable_length(x, num_tokens, 16, 8, is_eagle) for x in (end, later))
    assert before <= after, f"{before} and {after}"


def partial_entry_is_the_last_unit_inside_a_block(num_prompt_tokens: int, boundary: int) -> None:
    """``boundary`` is the last unit boundary of the prompt; units of 4 tokens, blocks of 12."""
    assert boundary >= 0 and boundary % 4 == 0 and boundary <= num_prompt_tokens < boundary + 4
    entry = partial_boundary(num_prompt_tokens, 4, 12)
    assert entry == (0 if boundary % 12 == 0 else boundary), f"{entry}"


def partial_entry_needs_room_inside_a_block(num_prompt_tokens: int) -> None:
    """Blocks that are units have no inside."""
    assert num_prompt_tokens >= 0
    entry = partial_boundary(num_prompt_tokens, 4, 4)
    assert entry == 0, f"{entry}"


def windows_keep_what_any_hit_uses(i: int, length: int, reach: int, is_eagle: bool) -> None:
    """Three blocks of 4 tokens between the lengths of hits."""
    assert i >= 0 and length > 0 and length % 12 == 0 and reach >= 1
    kept = is_kept("window", i, 4, reach, 12, is_eagle)
    assert kept or not is_used(i, length, reach, is_eagle, 4)


def _judge_kept(i: int, after: int, reach: int, is_eagle: bool, block_size: int, alignment: int) -> None:
    """``after`` is the first length of hits that is longer than what precedes block ``i``.

    Longer hits use no block before it that it does not use. Where hits leave none out, all are kept.
    """

    def is_wanted(block: int, end: int) -> bool:
        return any(is_used(block, n, reach, is_eagle, block_size) for n in (end - alignment, end))

    second = range(alignment // block_size, 2 * alignment // block_size)
    expected = is_wanted(i, after) or all(is_wanted(block, 2 * alignment) for block in second)
    kept = is_kept("window", i, block_size, reach, alignment, is_eagle)
    assert kept == expected, f"{kept}"


def windows_keep_no_more(i: int, after: int, reach: int, is_eagle: bool) -> None:
    """Three blocks of 4 tokens between the lengths of hits."""
    assert i >= 0 and after % 12 == 0 and after - 12 <= 4 * i < after and reach >= 1
    _judge_kept(i, after, reach, is_eagle, 4, 12)


def windows_of_short_blocks_keep_no_more(i: int, after: int, reach: int, is_eagle: bool) -> None:
    """Four blocks of one token."""
    assert i >= 0 and after % 4 == 0 and after - 4 <= i < after and reach >= 1
    _judge_kept(i, after, reach, is_eagle, 1, 4)


def windows_with_hits_at_every_block_keep_all_that_they_reach(i: int, reach: int, is_eagle: bool) -> None:
    """A window that reaches no earlier token needs no key, unless for EAGLE."""
    assert i >= 0 and reach >= 1
    _judge_kept(i, 4 * i + 4, reach, is_eagle, 4, 4)


def others_keep_everything(i: int, reach: int, by_units: bool, is_eagle: bool) -> None:
    """Full attention, states and chunks, with hits inside blocks or not."""
    assert i >= 0 and reach >= 1
    alignment = 2 if by_units else 8
    kept = [
        is_kept("prefix", i, 4, 0, alignment, is_eagle),
        is_kept("state", i, 4, 0, alignment, is_eagle),
        is_kept("chunk", i, 4, reach, alignment, is_eagle),
    ]
    assert all(kept), f"{kept}"


CONTRACTS = (
    *(
        Contract(
            check,
            cacheable_length,
            (allocation.FULL_BLOCKS_BECOME_KEYS,),
            lambda: product(range(50), repeat=2),
        )
        for check in (
            keys_end_with_the_last_aligned_final_token,
            keys_end_with_the_last_unit_of_final_tokens,
        )
    ),
    Contract(
        keys_of_eagle_go_one_block_further,
        cacheable_length,
        (allocation.FULL_BLOCKS_BECOME_KEYS,),
        lambda: product(range(50), range(50), range(0, 50, 16)),
    ),
    Contract(
        keys_of_eagle_by_units_go_to_the_end,
        cacheable_length,
        (allocation.FULL_BLOCKS_BECOME_KEYS,),
        lambda: product(range(50), range(50), range(0, 50, 4)),
    ),
    Contract(
        keys_never_go_back,
        cacheable_length,
        (allocation.FULL_BLOCKS_BECOME_KEYS,),
        lambda: product(range(0, 40, 3), range(40), range(0, 40, 5), (False, True)),
    ),
    Contract(
        partial_entry_is_the_last_unit_inside_a_block,
        partial_boundary,
        (allocation.PARTIAL_PROMPT_END,),
        lambda: product(range(40), range(0, 40, 4)),
    ),
    Contract(
        partial_entry_needs_room_inside_a_block,
        partial_boundary,
        (allocation.PARTIAL_PROMPT_END,),
        lambda: ((num_prompt_tokens,) for num_prompt_tokens in range(40)),
    ),
    Contract(
        windows_keep_what_any_hit_uses,
        is_kept,
        (allocation.FULL_BLOCKS_BECOME_KEYS,),
        lambda: product(range(10), range(12, 61, 12), range(1, 30), (False, True)),
    ),
    Contract(
        windows_keep_no_more,
        is_kept,
        (allocation.FULL_BLOCKS_BECOME_KEYS,),
        lambda: product(range(10), range(12, 49, 12), range(1, 20), (False, True)),
    ),
    Contract(
        windows_of_short_blocks_keep_no_more,
        is_kept,
        (allocation.FULL_BLOCKS_BECOME_KEYS,),
        lambda: product(range(12), range(4, 17, 4), range(1, 9), (False, True)),
    ),
    Contract(
        windows_with_hits_at_every_block_keep_all_that_they_reach,
        is_kept,
        (allocation.FULL_BLOCKS_BECOME_KEYS,),
        lambda: product(range(5), range(1, 12), (False, True)),
    ),
    Contract(
        others_keep_everything,
        is_kept,
        (allocation.FULL_BLOCKS_BECOME_KEYS,),
        lambda: product(range(5), range(1, 10), (False, True), (False, True)),
    ),
)
