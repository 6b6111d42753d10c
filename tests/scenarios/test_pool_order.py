"""The free queue: what comes back goes where, and what is refused takes nothing."""

from types import ModuleType

import pytest

from .build import ATTENTION, STATE, UNIT, drain, hybrid, ids, publish, request, table, words


def test_taking_more_than_is_free_takes_nothing(side: ModuleType) -> None:
    pool = side.BlockPool(num_gpu_blocks=6, enable_caching=True, hash_block_size=UNIT)
    assert ids(pool.get_new_blocks(2)) == [1, 2]
    with pytest.raises(ValueError, match="4"):
        pool.get_new_blocks(4)
    assert pool.get_num_free_blocks() == 3
    assert drain(pool) == [3, 4, 5]


def test_tails_are_evicted_before_heads_and_blocks_without_keys_first(side: ModuleType) -> None:
    manager = hybrid(side, num_blocks=9)
    # Ten tokens: two whole attention blocks with keys, a third without, and a state at no boundary.
    owner = publish(manager, "owner", words(10))
    assert [table(manager, "owner", group) for group in (ATTENTION, STATE)] == [[1, 2, 3], [4]]
    manager.free(owner)
    assert drain(manager.block_pool) == [4, 3, 5, 6, 7, 8, 2, 1]


def test_blocks_without_keys_go_to_the_front_as_one_run(side: ModuleType) -> None:
    manager = hybrid(side, num_blocks=9)
    owner = publish(manager, "owner", words(10), delay_cache_blocks=True)
    manager.free(owner)
    assert drain(manager.block_pool) == [4, 3, 2, 1, 5, 6, 7, 8]


def test_without_caching_every_block_goes_to_the_front(side: ModuleType) -> None:
    manager = hybrid(side, num_blocks=9, enable_caching=False)
    owner = publish(manager, "owner", words(10))
    manager.free(owner)
    assert drain(manager.block_pool) == [4, 3, 2, 1, 5, 6, 7, 8]


def test_a_block_that_is_taken_again_loses_its_keys(side: ModuleType) -> None:
    manager = hybrid(side, num_blocks=9)
    owner = publish(manager, "owner", words(10))
    manager.free(owner)
    pool = manager.block_pool
    pool.get_new_blocks(7)
    # All but the head is taken: the first four tokens are the last that are found.
    assert [bool(pool.get_cached_block(key, [ATTENTION])) for key in owner.block_hashes] == [True, False]
    assert drain(pool) == [1]
    assert pool.get_cached_block(owner.block_hashes[0], [ATTENTION]) is None


def test_a_block_that_is_held_twice_at_once_leaves_the_queue_once(side: ModuleType) -> None:
    pool = side.BlockPool(num_gpu_blocks=6, enable_caching=True, hash_block_size=UNIT)
    block = pool.blocks[3]
    pool.touch([block, pool.null_block, block])
    assert (block.ref_cnt, pool.get_num_free_blocks()) == (2, 4)
    pool.free_blocks([block])
    assert drain(pool) == [1, 2, 4, 5]


def test_a_block_that_is_evicted_twice_at_once_loses_its_keys_once(side: ModuleType) -> None:
    manager = hybrid(side, num_blocks=9)
    owner = publish(manager, "owner", words(10))
    manager.evict_blocks([1, 2, 1])
    assert manager.snapshot().index == {}
    others = [publish(manager, f"other {n}", words(4, first=200 * n)) for n in (1, 2)]
    for other in others:
        (key,) = other.block_hashes
        (holder,) = manager.block_pool.get_cached_block(key, [ATTENTION])
        assert holder.block_id == table(manager, other.request_id, ATTENTION)[0]
    assert len(manager.snapshot().index) == 4
    assert manager.get_computed_blocks(request("again", [*owner.all_token_ids, 0]))[1] == 0


def test_freeing_a_stranger_has_no_effect(side: ModuleType) -> None:
    manager = hybrid(side, num_blocks=9)
    gone = publish(manager, "gone", words(3, first=700))
    stays = publish(manager, "stays", words(10))
    manager.free(gone)
    tables = [table(manager, "stays", group) for group in (ATTENTION, STATE)]
    for stranger in (request("stranger", words(10)), gone):
        manager.free(stranger)
        assert list(manager.pop_blocks_for_free(stranger)) == []
    assert [table(manager, "stays", group) for group in (ATTENTION, STATE)] == tables
    assert drain(manager.block_pool) == [2, 1, 7, 8]
    assert stays.num_computed_tokens == 10
