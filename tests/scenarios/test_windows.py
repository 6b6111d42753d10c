"""Groups whose steps read the end of the prefix: sliding windows and chunked local attention."""

from types import ModuleType
from typing import Any

import pytest

from pagedkv.spec import UnsupportedError

from .build import (
    UNIT,
    admit,
    attention,
    chunked,
    decode,
    deployment,
    drain,
    holder,
    leave_behind,
    publish,
    request,
    table,
    widths,
    window,
    words,
)


def cached(side: ModuleType, spec: Any, *blocks: int) -> tuple[Any, Any]:
    """A pool in which the units `blocks` of 48 tokens are cached, block n by id n + 1, and the hashes."""
    pool = side.BlockPool(20, True, UNIT)
    keyed = request("keyed", words(48))
    for i in blocks:
        # Block i of a row of blocks whose ids are one more than their place.
        row = [pool.blocks[n + 1] for n in range(12)]
        pool.cache_full_blocks(keyed, row, i, i + 1, UNIT, 0)
    return pool, keyed.block_hashes


def found(
    side: ModuleType, kind: str, spec: Any, blocks: tuple[int, ...], most: int, drop: bool = False
) -> Any:
    """What a lookup of up to `most` tokens finds: block ids and length."""
    pool, hashes = cached(side, spec, *blocks)
    rows, length = getattr(side, kind).find_longest_cache_hit(
        block_hashes=hashes,
        max_length=most,
        kv_cache_group_ids=[0],
        block_pool=pool,
        kv_cache_spec=spec,
        drop_eagle_block=drop,
        alignment_tokens=UNIT,
    )
    return [block.block_id for block in rows[0]], length


@pytest.mark.parametrize(
    ("sliding_window", "blocks", "most", "expected"),
    [
        (5, (4,), 47, ([0, 0, 0, 0, 5], 20)),  # 4 tokens before the next one: one block
        (6, (4,), 47, ([], 0)),  # 5 tokens: two blocks
        (6, (3, 4), 47, ([0, 0, 0, 4, 5], 20)),
        (6, (0,), 47, ([1], 4)),  # a run from the start may be shorter
        (6, (3, 4, 7), 47, ([0, 0, 0, 4, 5], 20)),  # a later block alone is not enough
        (6, (3, 4, 5), 23, ([0, 0, 0, 4, 5], 20)),  # one token is left to compute
        (1, (), 47, ([0] * 11, 44)),  # a token that reads itself only
    ],
)
def test_a_window_needs_the_blocks_before_the_next_token(
    side: ModuleType, sliding_window: int, blocks: tuple[int, ...], most: int, expected: object
) -> None:
    assert found(side, "SlidingWindowManager", window(UNIT, sliding_window), blocks, most) == expected


@pytest.mark.parametrize(
    ("blocks", "most", "expected"),
    [
        ((3, 4, 5), 47, ([0, 0, 0, 4, 5], 20)),  # one block more is there, and given up
        ((3, 4), 47, ([], 0)),
        ((0, 1), 47, ([1], 4)),
        ((3, 4, 5), 23, ([], 0)),  # what is given up must be before the last token, too
    ],
)
def test_a_window_that_a_draft_model_reads_gives_up_a_block(
    side: ModuleType, blocks: tuple[int, ...], most: int, expected: object
) -> None:
    assert found(side, "SlidingWindowManager", window(UNIT, 6), blocks, most, drop=True) == expected


@pytest.mark.parametrize(
    ("blocks", "most", "expected"),
    [
        ((2,), 15, ([0, 0, 3], 12)),
        ((), 15, ([0, 0], 8)),
        ((), 16, ([0, 0, 0, 0], 16)),
        ((1,), 7, ([], 0)),
        ((0,), 7, ([1], 4)),
    ],
)
def test_chunks_before_that_of_the_next_token_need_no_block(
    side: ModuleType, blocks: tuple[int, ...], most: int, expected: object
) -> None:
    assert found(side, "ChunkedLocalAttentionManager", chunked(UNIT, 8), blocks, most) == expected


def test_a_chunk_that_begins_inside_a_block_needs_that_block(side: ModuleType) -> None:
    # Token 4 reads tokens 0 to 3, token 8 only 6 and 7 of the block before it.
    assert found(side, "ChunkedLocalAttentionManager", chunked(UNIT, 6), (), 8) == ([], 0)
    assert found(side, "ChunkedLocalAttentionManager", chunked(UNIT, 6), (1,), 8) == ([0, 2], 8)


@pytest.mark.parametrize(
    ("spec", "skipped"),
    [
        (window(UNIT, 6), {0: 0, 5: 0, 6: 1, 13: 8}),
        (chunked(UNIT, 8), {13: 8, 8: 8, 7: 0}),
        (attention(UNIT), {13: 0}),
    ],
)
def test_tokens_that_no_later_step_reads(side: ModuleType, spec: Any, skipped: dict[int, int]) -> None:
    (group,) = deployment(side, spec).coordinator.single_type_managers
    assert {n: group.get_num_skipped_tokens(n) for n in skipped} == skipped


def test_blocks_behind_the_window_return_to_the_pool(side: ModuleType) -> None:
    manager = deployment(side, window(UNIT, 6), num_blocks=8)
    running = publish(manager, "r", words(16))
    assert table(manager, "r", 0) == [1, 2, 3, 4]
    # Token 16 reads tokens 11 to 15: blocks 2 and 3 of the row.
    decode(manager, running, 7)
    assert table(manager, "r", 0) == [0, 0, 3, 4, 5]
    assert manager.block_pool.get_num_free_blocks() == 4
    # Still cached, the last of the row first; those that were never used are before them.
    assert drain(manager.block_pool) == [6, 7, 2, 1]


def test_a_hybrid_is_served_as_far_as_its_window_is_cached(side: ModuleType) -> None:
    manager = deployment(side, attention(UNIT), window(UNIT, 6))
    owner = leave_behind(manager, "owner", words(24))
    newcomer = request("newcomer", words(25))
    blocks, hit, junction = manager.get_computed_blocks(newcomer)
    assert (hit, widths(blocks), junction) == (24, [6, 6], 0)
    assert [block.is_null for block in blocks.blocks[1]] == [True] * 4 + [False] * 2

    manager.evict_blocks([holder(manager, owner, 24, 1).block_id])
    blocks, hit, junction = manager.get_computed_blocks(newcomer)
    # Attention had more; the window has an end at 20 tokens.
    assert (hit, widths(blocks), junction) == (20, [5, 5], 24)
    assert manager.allocate_slots(newcomer, 5, hit, blocks) is not None
    assert table(manager, "newcomer", 1)[:3] == [0, 0, 0]


def test_only_blocks_that_a_hit_can_read_become_keys(side: ModuleType) -> None:
    # Hits end on multiples of 16 tokens; the window reads the block before them.
    manager = deployment(side, attention(4 * UNIT), window(UNIT, 5))
    publish(manager, "r", words(32))
    keyed = [block.block_hash is not None for block in manager.get_blocks("r").blocks[1]]
    assert keyed == [False, False, False, True] * 2


def test_a_window_without_gaps_keeps_all(side: ModuleType) -> None:
    manager = deployment(side, attention(4 * UNIT), window(UNIT, 14))
    publish(manager, "r", words(32))
    assert all(block.block_hash is not None for block in manager.get_blocks("r").blocks[1])


@pytest.mark.parametrize(
    "make",
    [
        lambda side: deployment(side, chunked(UNIT, 8), use_eagle=True),
        lambda side: deployment(side, attention(UNIT), chunked(UNIT, 8), flagged=(1,)),
        lambda side: deployment(side, attention(2 * UNIT), chunked(UNIT, 8)),
    ],
)
def test_chunks_stand_alone(side: ModuleType, make: Any) -> None:
    with pytest.raises(UnsupportedError, match="Config/chunks_of_one_size"):
        make(side)


def test_a_draft_model_may_read_the_other_group_of_chunks(side: ModuleType) -> None:
    manager = deployment(side, attention(UNIT), chunked(UNIT, 8), flagged=(0,))
    leave_behind(manager, "owner", words(24))
    _, hit, _ = manager.get_computed_blocks(request("newcomer", words(25)))
    # Attention gives up a block; at 20 tokens the chunk that began at 16 has one.
    assert hit == 20


def test_a_hit_with_a_gap_in_its_window_is_refused(side: ModuleType) -> None:
    manager = deployment(side, window(UNIT, 6))
    leave_behind(manager, "owner", words(24))
    newcomer = request("newcomer", words(25))
    blocks, hit, _ = manager.get_computed_blocks(newcomer)
    gap = manager.create_kv_cache_blocks(
        tuple([manager.block_pool.null_block] * 5 + [row[5]] for row in blocks.blocks)
    )
    with pytest.raises(AssertionError, match="Allocate/fits_the_hit"):
        manager.allocate_slots(newcomer, 1, hit, gap)
    assert admit(manager, newcomer) is not None
