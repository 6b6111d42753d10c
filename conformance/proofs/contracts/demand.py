"""The most blocks that a request holds are what it holds before some step, and no step needs more.

A step after ``start`` tokens needs the blocks that have a position it reads or writes.
"""

from itertools import product

from pagedkv.spec.clauses import schedule
from pagedkv.spec.rules.demand import most_blocks
from pagedkv.spec.rules.reach import Reads

from .answers import is_read
from .contract import Contract


def _needed(reads: Reads, start: int, end: int, reach: int, block_size: int) -> int:
    positions = [p for p in range(end) if p >= start or is_read(reads, p, start, reach)]
    return len({p // block_size for p in positions})


def _judge(reads: Reads, num_tokens: int, reach: int, block_size: int, step: int) -> None:
    most = most_blocks(reads, num_tokens, reach, block_size, step, 0)
    needed = [
        _needed(reads, start, min(num_tokens, start + step), reach, block_size) for start in range(num_tokens)
    ]
    assert most == max(needed), f"{most}"


def a_window_needs_at_most_that(num_tokens: int, reach: int, block_size: int, step: int) -> None:
    """Small windows, blocks and steps."""
    assert 1 <= num_tokens <= 8 and 1 <= reach <= 4 and 1 <= block_size <= 3 and 1 <= step <= 3
    _judge("window", num_tokens, reach, block_size, step)


def a_chunk_needs_at_most_that(num_tokens: int, reach: int, block_size: int, step: int) -> None:
    """Small chunks, blocks and steps."""
    assert 1 <= num_tokens <= 8 and 1 <= reach <= 4 and 1 <= block_size <= 3 and 1 <= step <= 3
    _judge("chunk", num_tokens, reach, block_size, step)


def attention_needs_a_block_for_each_begun_one(num_tokens: int, block_size: int, step: int) -> None:
    """Blocks of any size."""
    assert num_tokens >= 1 and block_size >= 1 and step >= 1
    most = most_blocks("prefix", num_tokens, 0, block_size, step, 0)
    assert (most - 1) * block_size < num_tokens <= most * block_size, f"{most}"


def a_state_needs_three_and_its_speculative(num_tokens: int, num_speculative: int) -> None:
    """The one it starts from, the running one, and one that is handed over or copied to."""
    assert num_tokens >= 1 and num_speculative >= 0
    most = most_blocks("state", num_tokens, 0, 4, 8, num_speculative)
    assert most - num_speculative == 3, f"{most}"


_MANY = "it compares with every start of a step"

CONTRACTS = (
    Contract(
        a_window_needs_at_most_that,
        most_blocks,
        (schedule.NEVER_FITS,),
        lambda: product(range(1, 9), range(1, 5), range(1, 4), range(1, 4)),
        _MANY,
    ),
    Contract(
        a_chunk_needs_at_most_that,
        most_blocks,
        (schedule.NEVER_FITS,),
        lambda: product(range(1, 9), range(1, 5), range(1, 4), range(1, 4)),
        _MANY,
    ),
    Contract(
        attention_needs_a_block_for_each_begun_one,
        most_blocks,
        (schedule.NEVER_FITS,),
        lambda: product(range(1, 20), range(1, 6), (1, 4)),
        "rounding by a block size that is not fixed",
    ),
    Contract(
        a_state_needs_three_and_its_speculative,
        most_blocks,
        (schedule.NEVER_FITS,),
        lambda: product(range(1, 20), range(3)),
    ),
)
