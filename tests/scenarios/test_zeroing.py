"""Which blocks a worker is told to zero before it uses them."""

from types import ModuleType
from typing import Any

import pytest

from pagedkv.spec import PreconditionError

from .build import (
    BLOCK,
    UNIT,
    admit,
    attention,
    decode,
    deployment,
    hybrid,
    leave_behind,
    publish,
    request,
    states,
    table,
    window,
    words,
)


def zeroing(side: ModuleType, attention_block: int = UNIT, **options: Any) -> Any:
    """A manager of attention and states whose worker zeroes."""
    return hybrid(side, attention_block, zeroes=True, **options)


def test_each_block_that_attention_hands_out_is_listed_once(side: ModuleType) -> None:
    specs = (attention(UNIT), states(), window(UNIT, 9))
    manager = deployment(side, *specs, zeroes=True)
    publish(manager, "first", words(8))
    publish(manager, "second", words(8, first=500))
    rows = [table(manager, name, group) for group in (0, 2) for name in ("first", "second")]
    # Group by group, and in each in the order in which they were given.
    assert manager.take_new_block_ids() == [block for row in rows for block in row]
    assert manager.take_new_block_ids() == []


def test_without_that_option_none_is_listed(side: ModuleType) -> None:
    manager = hybrid(side)
    running = publish(manager, "r", words(8))
    manager.record_blocks_for_zeroing(running.request_id, 0)
    assert manager.take_new_block_ids() == []


def test_blocks_of_a_hit_are_not_listed_and_the_private_one_is(side: ModuleType) -> None:
    manager = zeroing(side, BLOCK)
    leave_behind(manager, "owner", words(20))
    manager.take_new_block_ids()
    assert admit(manager, request("newcomer", words(28))) is not None
    # One block is shared, one is copied, one is new.
    row = table(manager, "newcomer", 0)
    assert manager.take_new_block_ids() == row[1:]
    assert len(row) == 3


def test_of_an_owner_that_moves_nothing_is_listed(side: ModuleType) -> None:
    manager = zeroing(side, num_blocks=20)
    running = publish(manager, "r", words(20))
    manager.take_new_block_ids()
    decode(manager, running, 7)
    assert manager.take_kv_cache_block_copies()[0] != []
    assert manager.take_new_block_ids() == table(manager, "r", 0)[5:]


def test_places_to_look_ahead_are_listed(side: ModuleType) -> None:
    manager = zeroing(side)
    assert manager.allocate_slots(request("r", words(8)), 8, num_lookahead_tokens=8) is not None
    assert manager.take_new_block_ids() == [1, 2, 3, 4]


def test_blocks_that_are_loaded_before_the_step_are_listed(side: ModuleType) -> None:
    manager = zeroing(side)
    loader = request("r", words(30))
    assert manager.allocate_slots(loader, 6, num_external_computed_tokens=24) is not None
    assert manager.take_new_block_ids() == table(manager, "r", 0) == [1, 2, 3, 4, 5, 6, 8, 9]


def test_blocks_that_are_loaded_later_are_listed_when_that_fails(side: ModuleType) -> None:
    manager = zeroing(side)
    loader = request("r", words(30))
    arguments = {"num_external_computed_tokens": 24, "delay_cache_blocks": True}
    assert manager.allocate_slots(loader, 6, **arguments) is not None
    assert manager.take_new_block_ids() == [8, 9]
    # The load has come as far as 12 tokens.
    manager.record_blocks_for_zeroing("r", 12)
    assert manager.take_new_block_ids() == [4, 5, 6, 8, 9]


def test_entries_without_storage_are_not_listed(side: ModuleType) -> None:
    manager = deployment(side, window(UNIT, 6), zeroes=True)
    running = publish(manager, "r", words(16))
    decode(manager, running, 7)
    manager.take_new_block_ids()
    assert table(manager, "r", 0) == [0, 0, 3, 4, 5]
    manager.record_blocks_for_zeroing("r", 4)
    assert manager.take_new_block_ids() == [3, 4, 5]


def test_of_an_unknown_request_nothing_is_listed(side: ModuleType) -> None:
    manager = zeroing(side)
    manager.record_blocks_for_zeroing("r", 0)
    assert manager.take_new_block_ids() == []


@pytest.mark.parametrize("start", [-4, 6])
def test_what_is_listed_again_begins_with_a_block(side: ModuleType, start: int) -> None:
    manager = zeroing(side)
    publish(manager, "r", words(16))
    with pytest.raises(PreconditionError, match="Allocate/lists_new_blocks"):
        manager.record_blocks_for_zeroing("r", start)
    assert manager.take_new_block_ids() == [1, 2, 3, 4]


def test_a_copy_has_a_list_of_its_own(side: ModuleType) -> None:
    manager = zeroing(side)
    publish(manager, "r", words(16))
    twin = manager.copy()
    assert twin.take_new_block_ids() == [1, 2, 3, 4]
    assert manager.take_new_block_ids() == [1, 2, 3, 4]
