"""The hit of one kind asked alone is the longest of its answers, and its blocks are named by keys they have.

The caches are tuples of a fixed length, so that a search over them ends; ``max_length`` has no bound
where the rule does not walk down from it.
"""

from collections.abc import Sequence
from itertools import product

from pagedkv.spec.clauses import hit
from pagedkv.spec.rules.hits import full_attention_hit, mamba_hit

from .answers import (
    Grid,
    all_cached,
    attention_answers,
    is_fewest_blocks,
    keys_in_block,
    state_answers,
)
from .contract import Contract

Four = tuple[bool, bool, bool, bool]
Five = tuple[bool, bool, bool, bool, bool]

FINE = Grid(block_size=6, unit=2, alignment=2)
BLOCKS = Grid(block_size=4, unit=2, alignment=4)
PAIRS_OF_BLOCKS = Grid(block_size=2, unit=2, alignment=4)
BLOCK_IS_UNIT = Grid(block_size=3, unit=3, alignment=3)


def _judge_full(cached: Sequence[bool], max_length: int, grid: Grid, drop_eagle: bool) -> None:
    found = full_attention_hit(cached, max_length, *grid, drop_eagle)
    assert found.length == max(attention_answers(cached, max_length, grid, drop_eagle)), f"{found}"
    assert is_fewest_blocks(len(found.named_by), found.length, grid.block_size), f"{found}"
    for block, name in enumerate(found.named_by):
        assert name == max(keys_in_block(cached, block, max_length, grid), default=None), f"{found}"


def full_hit_by_units(cached: Five, max_length: int, drop_eagle: bool) -> None:
    """Hits that may end inside a block of three units."""
    assert max_length >= 0
    _judge_full(cached, max_length, FINE, drop_eagle)


def full_hit_by_blocks(cached: Five, max_length: int, drop_eagle: bool) -> None:
    """Hits of whole blocks of two units: keys inside a block do not count."""
    assert max_length >= 0
    _judge_full(cached, max_length, BLOCKS, drop_eagle)


def full_hit_by_pairs_of_blocks(cached: Five, max_length: int, drop_eagle: bool) -> None:
    """Hits that end with every second block."""
    assert max_length >= 0
    _judge_full(cached, max_length, PAIRS_OF_BLOCKS, drop_eagle)


def full_hit_of_one_unit_blocks(cached: Four, max_length: int, drop_eagle: bool) -> None:
    """Blocks that are units: nothing lies inside them."""
    assert max_length >= 0
    _judge_full(cached, max_length, BLOCK_IS_UNIT, drop_eagle)


def _judge_drop(cached: Sequence[bool], max_length: int, grid: Grid) -> None:
    plain = full_attention_hit(cached, max_length, *grid, drop_eagle=False).length
    dropped = full_attention_hit(cached, max_length, *grid, drop_eagle=True).length
    assert dropped == 0 if plain == 0 else plain - dropped == grid.step, f"{plain} and {dropped}"


def eagle_drops_one_unit(cached: Four, max_length: int) -> None:
    """With hits by units, what EAGLE costs is one unit."""
    assert max_length >= 0
    _judge_drop(cached, max_length, FINE)


def eagle_drops_one_block(cached: Four, max_length: int) -> None:
    """With hits by blocks, what EAGLE costs is one block."""
    assert max_length >= 0
    _judge_drop(cached, max_length, BLOCKS)


def _judge_state(cached: Sequence[bool], max_length: int, unit: int, alignment: int) -> None:
    found = mamba_hit(cached, max_length, unit, alignment)
    assert found.length == max(state_answers(cached, max_length, unit, alignment)), f"{found}"
    assert found.named_by == ((found.length,) if found.length else ()), f"{found}"


def state_hit_by_units(cached: Four, max_length: int) -> None:
    """A state may lie after any unit."""
    assert 0 <= max_length <= 12
    _judge_state(cached, max_length, unit=2, alignment=2)


def state_hit_by_blocks(cached: Five, max_length: int) -> None:
    """States between the boundaries of two units do not count."""
    assert 0 <= max_length <= 13
    _judge_state(cached, max_length, unit=2, alignment=4)


CONTRACTS = (
    *(
        Contract(
            check,
            full_attention_hit,
            (hit.LONGEST, hit.ALIGNED, hit.BLOCKS_COVER_IT, hit.LEAVES_A_TOKEN, hit.EAGLE_DROPS_ONE),
            lambda: product(all_cached(6), range(21), (False, True)),
        )
        for check in (
            full_hit_by_units,
            full_hit_by_blocks,
            full_hit_by_pairs_of_blocks,
            full_hit_of_one_unit_blocks,
        )
    ),
    *(
        Contract(
            check,
            full_attention_hit,
            (hit.EAGLE_DROPS_ONE,),
            lambda: product(all_cached(6), range(15)),
        )
        for check in (eagle_drops_one_unit, eagle_drops_one_block)
    ),
    *(
        Contract(
            check,
            mamba_hit,
            (hit.LONGEST, hit.ALIGNED, hit.LEAVES_A_TOKEN),
            lambda: product(all_cached(6), range(13)),
        )
        for check in (state_hit_by_units, state_hit_by_blocks)
    ),
)
