"""Both sides of a copy stay held until the step that copies is processed."""

from collections import deque
from types import ModuleType, SimpleNamespace

from .build import STATE, decode, hybrid, ids, publish, table, words


def test_the_held_sides_of_a_copy_go_to_whoever_takes_the_copy(side: ModuleType) -> None:
    manager = hybrid(side)
    owner = publish(manager, "owner", words(20))
    decode(manager, owner, 7)
    # Another pass does not release them.
    manager.new_step_starts()

    (copy,), retained = manager.take_kv_cache_block_copies()
    assert ids(retained) == [copy.src_block_id, copy.dst_block_id]
    assert copy.src_block_id == table(manager, "owner", STATE)[1]
    # The owner's table holds the source too.
    assert [block.ref_cnt for block in retained] == [2, 1]
    manager.block_pool.free_blocks(retained)
    assert [block.ref_cnt for block in retained] == [1, 0]
    copies, again = manager.take_kv_cache_block_copies()
    assert (list(copies), list(again)) == ([], [])


def test_the_scheduler_frees_them_at_once_only_if_the_step_is_processed(side: ModuleType) -> None:
    freed: list[SimpleNamespace] = []
    held = [SimpleNamespace(block_id=block_id) for block_id in (11, 4, 6)]
    scheduler = SimpleNamespace(
        kv_cache_manager=SimpleNamespace(block_pool=SimpleNamespace(free_blocks=freed.extend)),
        deferred_frees=deque(),
        defer_block_free=True,
        processed_step_seq=8,
    )
    release = side.Scheduler._free_cow_retained_blocks

    release(scheduler, list(held), fence_seq=9)
    assert freed == []
    # What waits is kept last to first, and is freed from its end.
    assert scheduler.deferred_frees == deque([(9, held[::-1])])

    scheduler.processed_step_seq = 9
    release(scheduler, list(held), fence_seq=9)
    assert freed == held

    freed.clear()
    scheduler.processed_step_seq = 8
    scheduler.defer_block_free = False
    release(scheduler, list(held), fence_seq=9)
    assert freed == held
    assert len(scheduler.deferred_frees) == 1
