"""The owner of a state inside a block runs on: its entry moves, and a connector may take the moved block."""

from types import ModuleType
from typing import Any

import pytest

from pagedkv.spec import KVCacheBlockCopy, get_block_hash, get_group_id

from .build import (
    ATTENTION,
    STATE,
    admit,
    decode,
    drain,
    holder,
    hybrid,
    publish,
    request,
    table,
    words,
)


def moved(manager: Any) -> tuple[int, int]:
    """Publish a state at 20, run one token more, and take the copy: ids of the old and of the new block."""
    owner = publish(manager, "owner", words(20))
    source = holder(manager, owner, 20, STATE).block_id
    decode(manager, owner, 7)
    return source, holder(manager, owner, 20, STATE).block_id


def test_the_owner_keeps_its_block_and_the_entry_moves(side: ModuleType) -> None:
    manager = hybrid(side)
    owner = publish(manager, "owner", words(20))
    source = holder(manager, owner, 20, STATE)
    before = table(manager, "owner", STATE)
    assert before[1] == source.block_id

    answered = decode(manager, owner, 7)

    # The worker is told of no new block, and its table is as before.
    assert answered.get_block_ids()[STATE] == []
    assert table(manager, "owner", STATE) == before
    target = holder(manager, owner, 20, STATE)
    assert target.block_id != source.block_id
    copies, _ = manager.take_kv_cache_block_copies()
    assert list(copies) == [KVCacheBlockCopy(src_block_id=source.block_id, dst_block_id=target.block_id)]
    assert (source.block_hash, source.block_hash_num_tokens) == (None, None)
    assert get_block_hash(target.block_hash) == owner.block_hashes[4]
    assert (get_group_id(target.block_hash), target.block_hash_num_tokens) == (STATE, 20)


def test_an_owner_whose_entry_was_evicted_runs_on_without_a_copy(side: ModuleType) -> None:
    manager = hybrid(side)
    owner = publish(manager, "owner", words(20))
    manager.evict_blocks({holder(manager, owner, 20, STATE).block_id})
    decode(manager, owner, 7)
    copies, retained = manager.take_kv_cache_block_copies()
    assert (list(copies), list(retained)) == ([], [])
    assert manager.take_partial_tail_offloads() == {}


def test_a_later_request_finds_the_moved_entry_and_copies_from_it(side: ModuleType) -> None:
    manager = hybrid(side)
    _, target = moved(manager)
    manager.take_kv_cache_block_copies()
    manager.new_step_starts()

    newcomer = request("newcomer", [*words(20), *words(4, first=500)])
    blocks, hit, _ = manager.get_computed_blocks(newcomer)
    assert (hit, blocks.get_block_ids()[STATE]) == (20, [0, target])
    answered = manager.allocate_slots(newcomer, 4, hit, blocks)
    (private,) = answered.get_block_ids()[STATE]
    assert private != target
    copies, _ = manager.take_kv_cache_block_copies()
    assert list(copies) == [KVCacheBlockCopy(src_block_id=target, dst_block_id=private)]


def test_the_hand_off_names_the_moved_block_and_pins_it_until_the_owner_is_freed(side: ModuleType) -> None:
    manager = hybrid(side)
    owner = publish(manager, "owner", words(20))
    # Published, but not yet moved: nothing to take.
    assert manager.take_partial_tail_offloads() == {}
    source = holder(manager, owner, 20, STATE).block_id
    decode(manager, owner, 7)
    target = holder(manager, owner, 20, STATE)
    assert target.block_id != source

    assert manager.take_partial_tail_offloads() == {"owner": [(STATE, target.block_id, 20)]}
    assert manager.take_partial_tail_offloads() == {}
    # Two holders: the queued copy and the pin.
    assert target.ref_cnt == 2
    manager.free(owner)
    assert target.ref_cnt == 1


def test_the_pin_takes_a_released_block_back_out_of_the_free_queue(side: ModuleType) -> None:
    manager = hybrid(side)
    _, target = moved(manager)
    _, retained = manager.take_kv_cache_block_copies()
    manager.block_pool.free_blocks(retained)
    assert manager.block_pool.blocks[target].ref_cnt == 0

    assert manager.take_partial_tail_offloads() == {"owner": [(STATE, target, 20)]}
    assert manager.block_pool.blocks[target].ref_cnt == 1
    assert target not in drain(manager.block_pool)


@pytest.mark.parametrize("deferred", [False, True])
def test_a_hand_off_dies_with_its_request(side: ModuleType, deferred: bool) -> None:
    manager = hybrid(side)
    owner = publish(manager, "owner", words(20))
    decode(manager, owner, 7)
    if deferred:
        manager.block_pool.free_blocks(manager.pop_blocks_for_free(owner))
    else:
        manager.free(owner)
    assert manager.take_partial_tail_offloads() == {}


def test_a_prompt_of_whole_blocks_has_nothing_to_hand_off(side: ModuleType) -> None:
    manager = hybrid(side)
    owner = publish(manager, "owner", words(24))
    assert manager.take_partial_tail_offloads() == {}
    decode(manager, owner, 7)
    assert manager.take_partial_tail_offloads() == {}
    copies, _ = manager.take_kv_cache_block_copies()
    assert list(copies) == []


def test_a_newcomer_hands_its_own_last_unit_off_and_not_the_one_it_found(side: ModuleType) -> None:
    manager = hybrid(side)
    publish(manager, "owner", words(16))
    manager.new_step_starts()
    newcomer = request("newcomer", words(20))
    assert admit(manager, newcomer) is not None
    newcomer.num_computed_tokens = 20
    assert manager.take_partial_tail_offloads() == {}
    manager.new_step_starts()
    decode(manager, newcomer, 7)
    target = holder(manager, newcomer, 20, STATE).block_id
    assert manager.take_partial_tail_offloads() == {"newcomer": [(STATE, target, 20)]}
    assert holder(manager, newcomer, 16, ATTENTION).block_id in table(manager, "owner", ATTENTION)
