"""What an allocation is predicted to take is what it takes."""

from types import ModuleType
from typing import Any

import pytest

from .build import (
    BLOCK,
    STATE,
    UNIT,
    admit,
    holder,
    hybrid,
    publish,
    request,
    table,
    words,
)

# Blocks that must be there: the hit, whether held or queued, each private block, and what is appended.
NEEDS = [
    pytest.param(BLOCK, 24, 3 + 2, id="copies only"),
    pytest.param(BLOCK, 36, 3 + 2 + 2, id="copies and a block more in each group"),
    pytest.param(UNIT, 24, 6 + 1 + 1, id="a copy of the state, new attention"),
    pytest.param(UNIT, 36, 6 + 2 + 4, id="a copy and a new state, new attention"),
]


def pool_with_an_owner(side: ModuleType, attention_block: int, usable: int, running: bool) -> Any:
    """A manager over `usable` blocks and null, on which 20 tokens were published in an earlier pass."""
    manager = hybrid(side, attention_block, num_blocks=usable + 1)
    owner = publish(manager, "owner", words(20))
    if not running:
        manager.free(owner)
    manager.new_step_starts()
    return manager


@pytest.mark.parametrize("running", [False, True])
@pytest.mark.parametrize(("attention_block", "length", "needed"), NEEDS)
def test_a_partial_hit_fits_a_pool_that_has_exactly_its_blocks(
    side: ModuleType, attention_block: int, length: int, needed: int, running: bool
) -> None:
    manager = pool_with_an_owner(side, attention_block, needed, running)
    assert admit(manager, request("newcomer", words(length))) is not None
    assert manager.block_pool.get_num_free_blocks() == 0


@pytest.mark.parametrize("running", [False, True])
@pytest.mark.parametrize(("attention_block", "length", "needed"), NEEDS)
def test_with_one_block_fewer_it_is_not_admitted_and_nothing_changes(
    side: ModuleType, attention_block: int, length: int, needed: int, running: bool
) -> None:
    manager = pool_with_an_owner(side, attention_block, needed - 1, running)
    newcomer = request("newcomer", words(length))
    pool = manager.block_pool
    before = [(block.ref_cnt, block.block_hash, block.block_hash_num_tokens) for block in pool.blocks]
    free = pool.get_num_free_blocks()
    assert admit(manager, newcomer) is None
    assert [(block.ref_cnt, block.block_hash, block.block_hash_num_tokens) for block in pool.blocks] == before
    assert pool.get_num_free_blocks() == free
    copies, retained = manager.take_kv_cache_block_copies()
    assert (list(copies), list(retained)) == ([], [])
    # The hit is still there for a later try.
    assert manager.get_computed_blocks(newcomer)[1] == 20


def test_an_owner_needs_one_block_for_its_entry_and_no_other(side: ModuleType) -> None:
    manager = hybrid(side, BLOCK, num_blocks=5)
    owner = publish(manager, "owner", words(20))
    source = holder(manager, owner, 20, STATE)
    owner.append_output_token_ids([7])
    (last,) = manager.block_pool.get_new_blocks(1)
    assert manager.allocate_slots(owner, 1) is None
    assert holder(manager, owner, 20, STATE) == source
    manager.block_pool.free_blocks([last])
    assert manager.allocate_slots(owner, 1) is not None
    assert manager.block_pool.get_num_free_blocks() == 0
    assert holder(manager, owner, 20, STATE) == last
    assert table(manager, "owner", STATE) == [0, source.block_id]
