"""Ids of blocks and numbers of cells up to 2**31 - 2."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from pagedkv.impl import KVCacheManager
from pagedkv.impl.layout import NOBODY
from pagedkv.impl.ops.ring import leave, put_back, put_front, queued, take
from pagedkv.spec import Request
from tests.scenarios.build import BLOCK, hybrid, request, words
from tests.scenarios.sides import load

from .highest_ids import NUM_BLOCKS, shift, size_on_disk, with_highest_ids

FEW = 40
LAST = NUM_BLOCKS - 1
DISK = 4 * 2**20


@pytest.fixture
def highest(tmp_path: Path) -> Iterator[KVCacheManager]:
    """A manager whose blocks have the highest ids."""
    yield with_highest_ids(tmp_path, FEW, attention_block=BLOCK, speculative=1)
    assert 0 < size_on_disk(tmp_path) < DISK


def test_the_ring_goes_on_in_the_first_cell(highest: KVCacheManager) -> None:
    ring = highest.block_pool.queue
    first = NUM_BLOCKS - FEW + 1
    assert ring.position[first].item() == NUM_BLOCKS - 5
    assert ring.position[LAST].item() == FEW - 1 - 6
    assert queued(ring).tolist() == [*range(first, NUM_BLOCKS)]
    leave(ring, torch.tensor([first + 2, LAST]))
    assert take(ring, 4).tolist() == [first, first + 1, first + 3, first + 4]
    put_front(ring, torch.tensor([LAST, first, first + 1]))
    put_back(ring, torch.tensor([first + 2, first + 3, first + 4]))
    assert ring.position[[LAST, first + 4]].tolist() == [(ring.head) % NUM_BLOCKS, FEW - 1 - 6 + 3]
    assert queued(ring)[:4].tolist() == [LAST, first, first + 1, first + 5]
    assert queued(ring)[-3:].tolist() == [first + 2, first + 3, first + 4]
    assert take(ring, FEW - 1)[-1].item() == first + 4
    assert (ring.position[first:] == NOBODY).all()


def history(manager: KVCacheManager) -> Iterator[Any]:
    """What a manager answers: block ids in lists, and numbers of other things in tuples."""

    def asked(newcomer: Request) -> Iterator[Any]:
        blocks, hit, junction = manager.get_computed_blocks(newcomer)
        yield (hit, junction)
        yield from blocks.get_block_ids()
        answer = manager.allocate_slots(newcomer, newcomer.num_tokens - hit, hit, blocks)
        assert answer is not None
        yield from answer.get_block_ids()
        newcomer.num_computed_tokens = newcomer.num_tokens

    def drained() -> Iterator[Any]:
        copies, retained = manager.take_kv_cache_block_copies()
        yield [block for copy in copies for block in (copy.src_block_id, copy.dst_block_id)]
        yield [block.block_id for block in retained]
        for entries in manager.take_partial_tail_offloads().values():
            yield [block for _, block, _ in entries]
        manager.block_pool.free_blocks(retained)

    one, other, third = request("one", words(20)), request("other", words(20)), request("third", words(32))
    yield from asked(one)
    # The state that it ends with is written in this pass: whoever would read it has to wait.
    early = request("early", words(24))
    blocks, hit, _ = manager.get_computed_blocks(early)
    yield (hit, manager.allocate_slots(early, early.num_tokens - hit, hit, blocks) is None)
    yield from asked(other)
    manager.new_step_starts()
    for number in range(14):
        _, answers = manager.allocate_slots_batch([one, other], 1, [number, number])
        for answer in answers:
            assert answer is not None
            yield from answer.get_block_ids()
        for running in (one, other):
            running.num_computed_tokens += 1
        yield from drained()
    manager.new_step_starts()
    yield from asked(third)
    yield from drained()
    yield tuple(manager.get_num_common_prefix_blocks("one"))
    (held,) = manager.get_block_ids("third")[0:1]
    yield [block.block_id for block in manager.pop_blocks_for_free(other)]
    manager.free(third, withdraw=True)
    manager.evict_blocks([held[0]])
    manager.free(one)
    pool = manager.block_pool
    yield pool.queued().tolist()
    yield [holders[0].block_id for key in one.block_hashes if (holders := pool.get_cached_block(key, [0]))]
    yield [view.block_id for view in pool.get_new_blocks(pool.get_num_free_blocks())]
    yield (pool.get_usage() > 0, pool.get_num_free_blocks())


def test_it_answers_as_with_the_lowest_ids(highest: KVCacheManager) -> None:
    lowest: KVCacheManager = hybrid(load("impl"), BLOCK, num_blocks=FEW, speculative=1)
    seen, numbers = set[int](), list[tuple[int, ...]]()
    for low, high in zip(history(lowest), history(highest), strict=True):
        if isinstance(low, list):
            assert high == [shift(block, FEW) for block in low]
            seen.update(high)
        else:
            assert high == low
            numbers.append(low)
    # The third request found what the others had left, and nothing was trivial.
    assert [hit for hit, _ in numbers[:4]] == [0, 20, 0, 20]
    assert numbers[1] == (20, True)
    assert seen >= {0, LAST, LAST - 1, NUM_BLOCKS - FEW + 1}
