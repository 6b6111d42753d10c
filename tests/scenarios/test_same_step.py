"""What a pass publishes or writes cannot be copied from in the same pass."""

from types import ModuleType
from typing import Any

from pagedkv.spec import Request

from .build import (
    ATTENTION,
    BLOCK,
    STATE,
    admit,
    decode,
    holder,
    hybrid,
    publish,
    request,
    table,
    words,
)


def refused_in_this_pass_only(manager: Any, newcomer: Request, expected_hit: int) -> None:
    """The newcomer has a hit but no admission now; with the next pass it has both."""
    free = manager.block_pool.get_num_free_blocks()
    blocks, hit, _ = manager.get_computed_blocks(newcomer)
    assert hit == expected_hit
    assert manager.allocate_slots(newcomer, newcomer.num_tokens - hit, hit, blocks) is None
    assert manager.block_pool.get_num_free_blocks() == free
    manager.new_step_starts()
    blocks, hit, _ = manager.get_computed_blocks(newcomer)
    assert hit == expected_hit
    assert manager.allocate_slots(newcomer, newcomer.num_tokens - hit, hit, blocks) is not None


def test_a_state_inside_a_block_waits_for_the_next_pass(side: ModuleType) -> None:
    manager = hybrid(side)
    publish(manager, "owner", words(20))
    refused_in_this_pass_only(manager, request("newcomer", words(24)), 20)


def test_a_state_of_a_whole_block_waits_for_the_next_pass(side: ModuleType) -> None:
    manager = hybrid(side)
    publish(manager, "owner", words(BLOCK))
    refused_in_this_pass_only(manager, request("newcomer", words(20)), BLOCK)


def test_a_state_moved_in_this_pass_waits_for_the_next_pass(side: ModuleType) -> None:
    manager = hybrid(side)
    owner = publish(manager, "owner", words(20))
    manager.new_step_starts()
    decode(manager, owner, 7)
    refused_in_this_pass_only(manager, request("newcomer", [*words(20), *words(4, first=500)]), 20)


def twins(side: ModuleType) -> tuple[Any, Request, Request]:
    """Two owners of one prefix, of which the older kept its state and the younger its attention.

    A new pass has begun; a newcomer finds the younger's attention block and the older's state.
    """
    manager = hybrid(side, BLOCK)
    older = publish(manager, "older", words(20))
    younger = publish(manager, "younger", words(20))
    manager.evict_blocks(set(table(manager, "older", ATTENTION)))
    manager.new_step_starts()
    assert holder(manager, younger, 20, ATTENTION).block_id == table(manager, "younger", ATTENTION)[1]
    assert holder(manager, older, 20, STATE).block_id == table(manager, "older", STATE)[1]
    return manager, older, younger


def test_an_attention_block_that_this_pass_writes_is_not_copied_in_it(side: ModuleType) -> None:
    manager, _, younger = twins(side)
    decode(manager, younger, 7)
    refused_in_this_pass_only(manager, request("newcomer", words(24)), 20)


def test_an_attention_block_at_rest_is_copied_in_any_pass(side: ModuleType) -> None:
    manager, _, _ = twins(side)
    assert admit(manager, request("newcomer", words(24))) is not None


def test_an_attention_block_that_this_pass_fills_by_a_copy_is_not_copied_in_it(side: ModuleType) -> None:
    manager = hybrid(side, BLOCK)
    older = publish(manager, "older", words(20))
    publish(manager, "shorter", words(16))
    manager.evict_blocks({table(manager, "older", ATTENTION)[1]})
    manager.new_step_starts()
    first = publish(manager, "first", words(20))
    (attention_copy, _), _ = manager.take_kv_cache_block_copies()
    # The state for 20 tokens is of an earlier pass, the attention is where the copy goes.
    assert holder(manager, older, 20, STATE).block_id == table(manager, "older", STATE)[1]
    assert holder(manager, first, 20, ATTENTION).block_id == attention_copy.dst_block_id
    refused_in_this_pass_only(manager, request("newcomer", words(24)), 20)


def test_an_older_holder_of_an_equal_key_serves_in_the_same_pass(side: ModuleType) -> None:
    manager = hybrid(side)
    publish(manager, "older", words(20))
    manager.new_step_starts()
    publish(manager, "younger", words(20))
    assert admit(manager, request("newcomer", words(24))) is not None
    copies, _ = manager.take_kv_cache_block_copies()
    assert [copy.src_block_id for copy in copies] == [table(manager, "older", STATE)[1]]


def test_whole_attention_blocks_of_this_pass_are_shared_in_it(side: ModuleType) -> None:
    manager = hybrid(side)
    publish(manager, "older", words(BLOCK))
    manager.evict_blocks(set(table(manager, "older", ATTENTION)))
    manager.new_step_starts()
    publish(manager, "younger", words(BLOCK))
    assert admit(manager, request("newcomer", words(20))) is not None
    assert table(manager, "newcomer", ATTENTION)[:3] == table(manager, "younger", ATTENTION)
