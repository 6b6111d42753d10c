"""Rounding between tokens and blocks."""

from itertools import product

from pagedkv.spec.clauses import hit
from pagedkv.spec.rules.sizes import blocks_for, floor_to

from .contract import Contract


def blocks_cover_and_one_less_does_not(num_tokens: int) -> None:
    """Blocks of 16 tokens."""
    assert num_tokens >= 0
    width = blocks_for(num_tokens, 16)
    assert width * 16 >= num_tokens and (width - 1) * 16 < num_tokens, f"{width}"


def blocks_of_any_size_cover(num_tokens: int, block_size: int) -> None:
    """The same for every small block."""
    assert num_tokens >= 0 and 1 <= block_size <= 8
    width = blocks_for(num_tokens, block_size)
    assert width * block_size >= num_tokens and (width - 1) * block_size < num_tokens, f"{width}"


def floor_is_the_last_multiple(num_tokens: int) -> None:
    """A grain of 12 tokens."""
    assert num_tokens >= 0
    floor = floor_to(num_tokens, 12)
    assert floor % 12 == 0 and 0 <= floor <= num_tokens < floor + 12, f"{floor}"


def floor_of_any_grain_is_the_last_multiple(num_tokens: int, grain: int) -> None:
    """The same for every small grain."""
    assert num_tokens >= 0 and 1 <= grain <= 8
    floor = floor_to(num_tokens, grain)
    assert floor % grain == 0 and 0 <= floor <= num_tokens < floor + grain, f"{floor}"


CONTRACTS = (
    Contract(
        blocks_cover_and_one_less_does_not,
        blocks_for,
        (hit.BLOCKS_COVER_IT,),
        lambda: ((num_tokens,) for num_tokens in range(50)),
    ),
    Contract(
        blocks_of_any_size_cover,
        blocks_for,
        (hit.BLOCKS_COVER_IT,),
        lambda: product(range(50), range(1, 9)),
    ),
    Contract(
        floor_is_the_last_multiple,
        floor_to,
        (hit.ALIGNED,),
        lambda: ((num_tokens,) for num_tokens in range(50)),
    ),
    Contract(
        floor_of_any_grain_is_the_last_multiple,
        floor_to,
        (hit.ALIGNED,),
        lambda: product(range(50), range(1, 9)),
    ),
)
