"""Several blocks under one key, several keys on one block, and how keys are taken off."""

from types import ModuleType
from typing import Any

import pytest

from pagedkv.spec import PreconditionError, Request, get_block_hash

from .build import (
    ATTENTION,
    BLOCK,
    STATE,
    UNIT,
    decode,
    holder,
    hybrid,
    leave_behind,
    publish,
    request,
    table,
    words,
)


def test_of_equal_blocks_the_longest_holder_answers(side: ModuleType) -> None:
    manager = hybrid(side)
    older = publish(manager, "older", words(20))
    publish(manager, "younger", words(20))
    assert table(manager, "older", ATTENTION) != table(manager, "younger", ATTENTION)
    for group in (ATTENTION, STATE):
        assert holder(manager, older, 20, group).block_id == table(manager, "older", group)[-1]
    # With its keys gone the younger one answers, and then nobody.
    for group in (ATTENTION, STATE):
        manager.evict_blocks({table(manager, "older", group)[-1]})
        assert holder(manager, older, 20, group).block_id == table(manager, "younger", group)[-1]
        manager.evict_blocks({table(manager, "younger", group)[-1]})
        assert holder(manager, older, 20, group) is None


def test_a_moved_entry_queues_behind_its_equals(side: ModuleType) -> None:
    pool = side.BlockPool(num_gpu_blocks=8, enable_caching=True, hash_block_size=UNIT)
    asker = request("asker", words(BLOCK))
    first, second, third, target = pool.get_new_blocks(4)
    for block in (first, second, third):
        pool.cache_full_blocks(
            request=asker,
            blocks=[block],
            num_cached_blocks=0,
            num_full_blocks=1,
            block_size=BLOCK,
            kv_cache_group_id=0,
        )
    pool.move_block_hashes(first, target)
    assert (first.block_hash, target.block_hash_num_tokens) == (None, BLOCK)
    for expected in (second, third, target):
        assert pool.get_cached_block(asker.block_hashes[2], [0]) == [expected]
        pool.evict_blocks({expected.block_id})
    assert pool.get_cached_block(asker.block_hashes[2], [0]) is None


def test_one_missing_group_leaves_all_without_answer(side: ModuleType) -> None:
    manager = hybrid(side, BLOCK)
    owner = publish(manager, "owner", words(20))
    pool, key = manager.block_pool, owner.block_hashes[4]
    tails = [table(manager, "owner", group)[1] for group in (ATTENTION, STATE)]
    assert [block.block_id for block in pool.get_cached_block(key, [ATTENTION, STATE])] == tails
    manager.evict_blocks({tails[1]})
    assert pool.get_cached_block(key, [ATTENTION, STATE]) is None
    assert [block.block_id for block in pool.get_cached_block(key, [ATTENTION])] == tails[:1]


def test_attention_that_fills_its_block_keeps_the_shorter_key(side: ModuleType) -> None:
    manager = hybrid(side, BLOCK)
    owner = publish(manager, "owner", words(20))
    tail = holder(manager, owner, 20, ATTENTION)
    decode(manager, owner, *words(4, first=120))
    assert tail.block_hash_num_tokens == 24
    assert get_block_hash(tail.block_hash) == owner.block_hashes[5]
    assert holder(manager, owner, 24, ATTENTION) == tail
    assert holder(manager, owner, 20, ATTENTION) == tail
    manager.new_step_starts()
    # Both keys are good for a hit, the shorter one for a prompt that differs from there on.
    newcomer = request("newcomer", [*words(20), *words(6, first=500)])
    blocks, hit, _ = manager.get_computed_blocks(newcomer)
    assert (hit, blocks.blocks[ATTENTION][1]) == (20, tail)


@pytest.fixture
def promoted(side: ModuleType) -> tuple[Any, Request]:
    """A request whose second block, in both groups, was keyed at 20 tokens and then at 24."""
    manager = hybrid(side, BLOCK)
    owner = request("owner", words(20))
    owner.append_output_token_ids(words(4, first=120))
    assert manager.allocate_slots(owner, 24, delay_cache_blocks=True) is not None
    manager.cache_blocks(owner, 20)
    for group in (ATTENTION, STATE):
        assert holder(manager, owner, 20, group).block_id == table(manager, "owner", group)[1]
    manager.cache_blocks(owner, 24)
    return manager, owner


def test_a_promoted_block_of_attention_keeps_its_shorter_key(promoted: tuple[Any, Request]) -> None:
    manager, owner = promoted
    tail = holder(manager, owner, 24, ATTENTION)
    assert tail.block_hash_num_tokens == 24
    assert holder(manager, owner, 20, ATTENTION) == tail


def test_a_promoted_block_of_states_drops_its_shorter_key(promoted: tuple[Any, Request]) -> None:
    manager, owner = promoted
    assert holder(manager, owner, 24, STATE).block_hash_num_tokens == 24
    assert holder(manager, owner, 20, STATE) is None


def test_eviction_takes_keys_and_frees_nothing(side: ModuleType) -> None:
    manager = hybrid(side)
    owner = publish(manager, "owner", words(20))
    victim = holder(manager, owner, 8, ATTENTION)
    free = manager.block_pool.get_num_free_blocks()
    manager.evict_blocks({victim.block_id})
    assert (victim.block_hash, victim.ref_cnt) == (None, 1)
    assert holder(manager, owner, 8, ATTENTION) is None
    assert holder(manager, owner, 12, ATTENTION) is not None
    assert manager.block_pool.get_num_free_blocks() == free


@pytest.mark.parametrize("outside", [40, 41, -1])
def test_eviction_outside_the_pool_names_the_block_and_changes_nothing(
    side: ModuleType, outside: int
) -> None:
    manager = hybrid(side, num_blocks=40)
    owner = publish(manager, "owner", words(20))
    inside = holder(manager, owner, 20, ATTENTION).block_id
    with pytest.raises(PreconditionError, match=rf"(?<!\d){outside}(?!\d)"):
        manager.evict_blocks([inside, outside])
    assert holder(manager, owner, 20, ATTENTION).block_id == inside


def test_a_reset_is_refused_while_a_block_is_in_use(side: ModuleType) -> None:
    manager = hybrid(side)
    gone = leave_behind(manager, "gone", words(20))
    running = publish(manager, "running", words(6, first=500))
    assert manager.reset_prefix_cache() is False
    assert holder(manager, gone, 20, ATTENTION) is not None
    assert holder(manager, running, 4, ATTENTION) is not None
    manager.free(running)
    assert manager.reset_prefix_cache() is True
    assert [holder(manager, gone, 20, group) for group in (ATTENTION, STATE)] == [None, None]
    assert holder(manager, running, 4, ATTENTION) is None
