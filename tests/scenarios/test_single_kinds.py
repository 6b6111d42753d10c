"""Full attention and aligned states each for itself: lookup, skipped tokens, placement."""

from types import ModuleType
from typing import Any

import pytest

from .build import (
    ATTENTION,
    BLOCK,
    STATE,
    UNIT,
    attention,
    hybrid,
    publish,
    request,
    states,
    table,
    words,
)


def keyed(side: ModuleType, *, full: tuple[int, ...] = (), inside: tuple[int, ...] = ()) -> tuple[Any, Any]:
    """A pool with a block at each end in `full` (whole blocks) and `inside` (in tokens), and their asker."""
    pool = side.BlockPool(num_gpu_blocks=12, enable_caching=True, hash_block_size=UNIT)
    asker = request("asker", words(48))
    for index in full:
        pool.cache_full_blocks(
            request=asker,
            blocks=[pool.null_block] * index + pool.get_new_blocks(1),
            num_cached_blocks=index,
            num_full_blocks=index + 1,
            block_size=BLOCK,
            kv_cache_group_id=0,
        )
    for length in inside:
        (block,) = pool.get_new_blocks(1)
        pool.cache_partial_block(
            request=asker, block=block, num_tokens=length, kv_cache_group_id=0, block_size=BLOCK
        )
    return pool, asker


def look_up(
    kind: Any, spec: Any, found_in: tuple[Any, Any], most: int, alignment: int
) -> tuple[list[int], int]:
    """Ids of the blocks found within `most` tokens, and the length of the hit."""
    pool, asker = found_in
    (blocks,), hit = kind.find_longest_cache_hit(
        block_hashes=asker.block_hashes,
        max_length=most,
        kv_cache_group_ids=[0],
        block_pool=pool,
        kv_cache_spec=spec,
        drop_eagle_block=False,
        alignment_tokens=alignment,
    )
    return [block.block_id for block in blocks], hit


@pytest.mark.parametrize(
    ("most", "alignment", "expected"),
    [
        pytest.param(48, BLOCK, ([1, 2], 24), id="up to the first gap"),
        pytest.param(23, BLOCK, ([1], 12), id="cut by the length"),
        pytest.param(23, 2 * BLOCK, ([], 0), id="rounded to the alignment"),
        pytest.param(48, UNIT, ([1, 2, 5], 32), id="the longest entry inside the missing block"),
        pytest.param(31, UNIT, ([1, 2, 4], 28), id="the longest entry within the length"),
        pytest.param(27, UNIT, ([1, 2], 24), id="no entry within the length"),
        pytest.param(23, UNIT, ([1], 12), id="a full key does not stand for a shorter prefix"),
    ],
)
def test_full_attention_is_a_run_and_then_one_entry(
    side: ModuleType, most: int, alignment: int, expected: tuple[list[int], int]
) -> None:
    # Blocks 0, 1 and 3 are whole; block 2 is not, but has entries at 28 and 32 tokens.
    found_in = keyed(side, full=(0, 1, 3), inside=(28, 32))
    assert look_up(side.FullAttentionManager, attention(BLOCK), found_in, most, alignment) == expected


@pytest.mark.parametrize(
    ("most", "alignment", "expected"),
    [
        pytest.param(48, BLOCK, ([0, 0, 2], 36), id="one block behind nulls"),
        pytest.param(35, BLOCK, ([1], 12), id="the next to the left"),
        pytest.param(48, 2 * BLOCK, ([], 0), id="only at the alignment"),
        pytest.param(48, UNIT, ([0, 0, 0, 3], 40), id="an entry inside a block"),
        pytest.param(39, UNIT, ([0, 0, 2], 36), id="a whole block where no entry fits"),
        pytest.param(11, UNIT, ([], 0), id="nothing"),
    ],
)
def test_a_state_is_one_block_searched_from_the_right(
    side: ModuleType, most: int, alignment: int, expected: tuple[list[int], int]
) -> None:
    found_in = keyed(side, full=(0, 2), inside=(40,))
    assert look_up(side.MambaManager, states(), found_in, most, alignment) == expected


@pytest.mark.parametrize(
    ("processed", "nulls"),
    [(0, 0), (1, 0), (12, 0), (13, 1), (24, 1), (25, 2), (36, 2)],
)
def test_after_n_tokens_a_state_skips_all_but_the_last_and_attention_none(
    side: ModuleType, processed: int, nulls: int
) -> None:
    manager = hybrid(side)
    runner = request("runner", words(100))
    # All three chunks are in flight, so that no allocation lets go of an entry.
    for _ in range(3):
        assert manager.allocate_slots(runner, BLOCK) is not None
        runner.num_computed_tokens += BLOCK
        runner.num_in_flight_tokens += BLOCK
    before = [table(manager, "runner", group) for group in (ATTENTION, STATE)]
    assert [0 in row for row in before] == [False, False]
    manager.remove_skipped_blocks("runner", processed)
    assert table(manager, "runner", ATTENTION) == before[0]
    assert table(manager, "runner", STATE) == [0] * nulls + before[1][nulls:]
    assert [manager.block_pool.blocks[block].ref_cnt for block in before[1]] == [0] * nulls + [1] * (
        3 - nulls
    )


def test_both_kinds_answer_inside_a_block(side: ModuleType) -> None:
    assert side.FullAttentionManager.supports_fine_grained_hash_lookup
    assert side.MambaManager.supports_fine_grained_hash_lookup


def test_common_prefix_blocks_are_those_that_every_request_holds(side: ModuleType) -> None:
    manager = hybrid(side)
    publish(manager, "first", words(12))
    manager.new_step_starts()
    assert list(manager.get_num_common_prefix_blocks("first")) == [3, 0]
    publish(manager, "second", [*words(12), *words(6, first=500)])
    for running in ("first", "second"):
        assert list(manager.get_num_common_prefix_blocks(running)) == [3, 0]
    publish(manager, "third", words(5, first=700))
    assert list(manager.get_num_common_prefix_blocks("first")) == [0, 0]


def test_the_running_state_is_placed_behind_nulls_and_before_its_drafts(side: ModuleType) -> None:
    manager = hybrid(side, speculative=2)
    runner = request("runner", words(100))
    assert manager.allocate_slots(runner, 20) is not None
    _, state, *drafts = table(manager, "runner", STATE)
    assert (table(manager, "runner", STATE)[0], len(drafts)) == (0, 2)
    runner.num_computed_tokens = 20

    # Five blocks long now: the drafts' blocks are used again at their new place, one block is new.
    answered = manager.allocate_slots(runner, 40)
    (last,) = set(table(manager, "runner", STATE)) - {0, state, *drafts}
    assert table(manager, "runner", STATE) == [0, state, 0, 0, *drafts, last]
    assert list(answered.get_block_ids()[STATE]) == [*drafts, last]
    runner.num_computed_tokens = 60

    # The state before the last is freed once its successor is computed.
    assert manager.allocate_slots(runner, 1) is not None
    assert manager.block_pool.blocks[state].ref_cnt == 0
    assert table(manager, "runner", STATE)[:6] == [0, 0, 0, 0, *drafts]
    assert all(manager.block_pool.blocks[block].ref_cnt == 1 for block in (*drafts, last))
    assert len(table(manager, "runner", ATTENTION)) == 16
