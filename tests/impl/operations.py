"""Every operation that changes a manager, as a call on one that is ``busy``."""

from collections.abc import Callable
from typing import Any

from pagedkv.impl import KVCacheManager
from pagedkv.spec import Request
from tests.scenarios.build import request, words

Operation = Callable[[KVCacheManager, list[Request]], Any]


def _move_keys(manager: KVCacheManager, requests: list[Request]) -> None:
    pool = manager.block_pool
    keyed = next(block for block in pool.blocks if block.block_hash is not None)
    pool.move_block_hashes(keyed, pool.blocks[int(pool.queued()[0])])


def _cache_full(manager: KVCacheManager, requests: list[Request]) -> None:
    (block,) = manager.block_pool.get_new_blocks(1)
    manager.block_pool.cache_full_blocks(requests[0], [block], 0, 1, 12, 0)


def _cache_partial(manager: KVCacheManager, requests: list[Request]) -> None:
    (block,) = manager.block_pool.get_new_blocks(1)
    manager.block_pool.cache_partial_block(requests[0], block, 4, 0, 12)


def _reset(manager: KVCacheManager, requests: list[Request]) -> bool:
    for one in requests:
        manager.free(one)
    pool = manager.block_pool
    held = [block for block in pool.blocks for _ in range(block.ref_cnt)]
    pool.free_blocks(held)
    return manager.reset_prefix_cache()


def _cache_late(manager: KVCacheManager, requests: list[Request]) -> None:
    late = request("late", words(24, first=700))
    assert manager.allocate_slots(late, 24, delay_cache_blocks=True) is not None
    manager.cache_blocks(late, 24)


OPERATIONS: dict[str, Operation] = {
    "allocate_slots": lambda m, r: m.allocate_slots(request("new", words(30, first=800)), 30),
    "allocate_slots_batch": lambda m, r: m.allocate_slots_batch(r[:2], 13),
    "cache_blocks": _cache_late,
    "remove_skipped_blocks": lambda m, r: m.remove_skipped_blocks(r[1].request_id, r[1].num_tokens + 12),
    "new_step_starts": lambda m, r: m.new_step_starts(),
    "take_kv_cache_block_copies": lambda m, r: m.take_kv_cache_block_copies(),
    "take_new_block_ids": lambda m, r: m.take_new_block_ids(),
    "record_blocks_for_zeroing": lambda m, r: m.record_blocks_for_zeroing(r[0].request_id, 0),
    "take_partial_tail_offloads": lambda m, r: m.take_partial_tail_offloads(),
    "free": lambda m, r: m.free(r[0]),
    "pop_blocks_for_free": lambda m, r: m.pop_blocks_for_free(r[1], withdraw=True),
    "evict_blocks": lambda m, r: m.evict_blocks(range(m.block_pool.num_gpu_blocks)),
    "reset_prefix_cache": _reset,
    "block_pool.get_new_blocks": lambda m, r: m.block_pool.get_new_blocks(5),
    "block_pool.touch": lambda m, r: m.block_pool.touch(m.block_pool.blocks[1:]),
    "block_pool.free_blocks": lambda m, r: m.block_pool.free_blocks(m.get_blocks(r[0].request_id).blocks[0]),
    "block_pool.cache_full_blocks": _cache_full,
    "block_pool.cache_partial_block": _cache_partial,
    "block_pool.move_block_hashes": _move_keys,
    "block_pool.evict_blocks": lambda m, r: m.block_pool.evict_blocks(range(1, 9)),
}
"""By name. Each changes what a snapshot shows."""

VIEWS = {
    "copy",
    "snapshot",
    "get_computed_blocks",
    "get_computed_blocks_for_connector",
    "create_kv_cache_blocks",
    "truncate_computed_blocks",
    "get_blocks",
    "get_block_ids",
    "get_num_common_prefix_blocks",
}
"""Methods of a manager that change nothing."""
