"""A request that dies in the pass that scheduled it takes back what it published there."""

from types import ModuleType
from typing import Any

import pytest

from pagedkv.spec import PreconditionError, Request

from .build import (
    ATTENTION,
    BLOCK,
    STATE,
    UNIT,
    admit,
    attention,
    decode,
    deployment,
    drain,
    holder,
    hybrid,
    leave_behind,
    publish,
    request,
    table,
    words,
)


def held_lengths(manager: Any, keyed: Request, group: int) -> list[int]:
    """The lengths, of all that the request has hashed, that some block of `group` answers for."""
    lengths = range(UNIT, keyed.num_tokens + 1, UNIT)
    return [length for length in lengths if holder(manager, keyed, length, group)]


@pytest.fixture
def fresh(side: ModuleType) -> tuple[Any, Request]:
    """A request that found 12 tokens of an earlier pass and published up to 20 in this one."""
    manager = hybrid(side)
    leave_behind(manager, "earlier", words(BLOCK))
    owner = publish(manager, "owner", words(20))
    assert held_lengths(manager, owner, ATTENTION) == [4, 8, 12, 16, 20]
    assert held_lengths(manager, owner, STATE) == [12, 20]
    return manager, owner


def test_withdrawing_takes_back_the_keys_of_this_pass_only(fresh: tuple[Any, Request]) -> None:
    manager, owner = fresh
    manager.free(owner, withdraw=True)
    assert held_lengths(manager, owner, ATTENTION) == [4, 8, 12]
    assert held_lengths(manager, owner, STATE) == [12]
    assert len(drain(manager.block_pool)) == 39


def test_keys_are_taken_back_of_who_has_left_in_the_pass(fresh: tuple[Any, Request]) -> None:
    manager, owner = fresh
    manager.free(owner)
    assert held_lengths(manager, owner, STATE) == [12, 20]
    manager.free(owner, withdraw=True)
    assert held_lengths(manager, owner, ATTENTION) == [4, 8, 12]
    assert held_lengths(manager, owner, STATE) == [12]


def test_who_has_left_is_not_withdrawn_where_others_took_its_blocks(side: ModuleType) -> None:
    manager = deployment(side, attention(UNIT))
    owner = publish(manager, "owner", words(16))
    manager.free(owner)
    taker = request("taker", words(17))
    blocks, hit, _ = manager.get_computed_blocks(taker)
    assert manager.allocate_slots(taker, 17 - hit, hit, blocks) is not None
    before = manager.snapshot()
    with pytest.raises(PreconditionError, match="Withdraw/not_what_others_took"):
        manager.free(owner, withdraw=True)
    assert manager.snapshot() == before


def test_a_deferred_free_withdraws_as_well(fresh: tuple[Any, Request]) -> None:
    manager, owner = fresh
    free = manager.block_pool.get_num_free_blocks()
    waiting = manager.pop_blocks_for_free(owner, withdraw=True)
    assert held_lengths(manager, owner, ATTENTION) == [4, 8, 12]
    assert held_lengths(manager, owner, STATE) == [12]
    # The blocks stay held until whoever popped them frees them.
    assert manager.block_pool.get_num_free_blocks() == free
    manager.block_pool.free_blocks(waiting)
    assert len(drain(manager.block_pool)) == 39


def test_a_plain_free_keeps_the_keys_of_this_pass(fresh: tuple[Any, Request]) -> None:
    manager, owner = fresh
    manager.free(owner)
    assert held_lengths(manager, owner, ATTENTION) == [4, 8, 12, 16, 20]
    assert held_lengths(manager, owner, STATE) == [12, 20]


def test_keys_of_an_earlier_pass_are_not_withdrawn(fresh: tuple[Any, Request]) -> None:
    manager, owner = fresh
    manager.new_step_starts()
    manager.free(owner, withdraw=True)
    assert held_lengths(manager, owner, ATTENTION) == [4, 8, 12, 16, 20]
    assert held_lengths(manager, owner, STATE) == [12, 20]


def test_an_equal_key_of_another_request_is_not_withdrawn(side: ModuleType) -> None:
    manager = hybrid(side)
    publish(manager, "older", words(20))
    manager.new_step_starts()
    younger = publish(manager, "younger", words(20))
    manager.free(younger, withdraw=True)
    assert held_lengths(manager, younger, ATTENTION) == [4, 8, 12, 16, 20]
    assert held_lengths(manager, younger, STATE) == [20]
    assert holder(manager, younger, 20, STATE).block_id == table(manager, "older", STATE)[1]


def test_an_entry_moved_in_this_pass_stays_and_its_copy_still_runs(side: ModuleType) -> None:
    manager = hybrid(side)
    owner = publish(manager, "owner", words(20))
    manager.new_step_starts()
    source = holder(manager, owner, 20, STATE).block_id
    decode(manager, owner, 7)
    target = holder(manager, owner, 20, STATE).block_id

    manager.free(owner, withdraw=True)

    assert holder(manager, owner, 20, STATE).block_id == target != source
    assert manager.take_partial_tail_offloads() == {}
    (copy,), retained = manager.take_kv_cache_block_copies()
    assert (copy.src_block_id, copy.dst_block_id) == (source, target)
    assert [block.ref_cnt for block in retained] == [1, 1]
    manager.block_pool.free_blocks(retained)
    manager.new_step_starts()
    blocks, hit, _ = manager.get_computed_blocks(request("newcomer", words(24)))
    assert (hit, blocks.get_block_ids()[STATE]) == (20, [0, target])


def test_the_copy_of_a_withdrawn_newcomer_still_runs(side: ModuleType) -> None:
    manager = hybrid(side, BLOCK)
    leave_behind(manager, "owner", words(20))
    newcomer = publish(manager, "newcomer", words(24))
    privates = [table(manager, "newcomer", group)[1] for group in (ATTENTION, STATE)]
    manager.free(newcomer, withdraw=True)
    assert [holder(manager, newcomer, 24, group) for group in (ATTENTION, STATE)] == [None, None]
    copies, retained = manager.take_kv_cache_block_copies()
    assert [copy.dst_block_id for copy in copies] == privates
    assert [manager.block_pool.blocks[private].ref_cnt for private in privates] == [1, 1]
    manager.block_pool.free_blocks(retained)
    assert len(drain(manager.block_pool)) == 39


@pytest.mark.parametrize("deferred", [False, True])
def test_withdrawing_is_refused_once_another_request_holds_such_a_block(
    side: ModuleType, deferred: bool
) -> None:
    manager = hybrid(side)
    publish(manager, "older", words(BLOCK))
    manager.evict_blocks(set(table(manager, "older", ATTENTION)))
    manager.new_step_starts()
    younger = publish(manager, "younger", words(BLOCK))
    assert admit(manager, request("newcomer", words(20))) is not None
    shared = table(manager, "younger", ATTENTION)
    assert table(manager, "newcomer", ATTENTION)[:3] == shared
    free = manager.block_pool.get_num_free_blocks()

    withdraw = manager.pop_blocks_for_free if deferred else manager.free
    with pytest.raises(PreconditionError, match="younger"):
        withdraw(younger, withdraw=True)

    assert table(manager, "younger", ATTENTION) == shared
    assert [manager.block_pool.blocks[block].ref_cnt for block in shared] == [2, 2, 2]
    assert held_lengths(manager, younger, ATTENTION) == [4, 8, 12]
    assert manager.block_pool.get_num_free_blocks() == free
    # Without the withdrawal the same free is lawful.
    manager.free(younger)
    assert [manager.block_pool.blocks[block].ref_cnt for block in shared] == [1, 1, 1]
