"""A hit cut shorter: a view, which leaves the hit it came from alone."""

from types import ModuleType
from typing import Any

import pytest

from .build import hybrid, leave_behind, request, widths, words


@pytest.fixture
def found(side: ModuleType) -> tuple[Any, Any]:
    """A manager, and a hit of 32 tokens on it whose state is one block behind two nulls."""
    manager = hybrid(side)
    leave_behind(manager, "owner", words(32))
    blocks, hit, _ = manager.get_computed_blocks(request("newcomer", words(40)))
    assert (hit, widths(blocks)) == (32, [8, 3])
    return manager, blocks


@pytest.mark.parametrize(("length", "expected"), [(24, [6, 2]), (12, [3, 1]), (0, [0, 0])])
def test_a_cut_hit_keeps_its_null_positions(found: tuple[Any, Any], length: int, expected: list[int]) -> None:
    manager, blocks = found
    before = blocks.get_block_ids()
    free_before = manager.block_pool.get_num_free_blocks()
    cut = manager.truncate_computed_blocks(blocks, length)
    assert widths(cut) == expected
    assert all(block.is_null for block in cut.blocks[1])
    assert list(cut.get_block_ids()[0]) == list(before[0][: expected[0]])
    # Nothing else has changed.
    assert blocks.get_block_ids() == before
    assert manager.block_pool.get_num_free_blocks() == free_before


def test_only_states_may_be_shorter_than_the_cut(found: tuple[Any, Any]) -> None:
    manager, blocks = found
    full, state = (list(group) for group in blocks.blocks)
    without_state = manager.create_kv_cache_blocks((full, []))
    assert widths(manager.truncate_computed_blocks(without_state, 24)) == [6, 0]
    with pytest.raises(AssertionError):
        manager.truncate_computed_blocks(manager.create_kv_cache_blocks((full[:5], state)), 24)


def test_a_hit_is_not_cut_inside_a_block(found: tuple[Any, Any]) -> None:
    manager, blocks = found
    with pytest.raises(AssertionError):
        manager.truncate_computed_blocks(blocks, 20)
    assert widths(blocks) == [8, 3]
