"""Context parallelism: a block of attention is spread over ranks, and covers as many times its size."""

from types import ModuleType
from typing import Any

import pytest

from pagedkv.spec import KVCacheConfig, KVCacheGroupSpec, KVCacheSpec, UnsupportedError

from .build import (
    UNIT,
    admit,
    attention,
    chunked,
    leave_behind,
    request,
    states,
    table,
    widths,
    window,
    words,
)


def spread(side: ModuleType, *specs: KVCacheSpec, size: int = 2 * UNIT, **ranks: int) -> Any:
    """A manager over 40 blocks whose scheduler counts in blocks of `size` tokens."""
    groups = [KVCacheGroupSpec([f"layer {g}"], spec) for g, spec in enumerate(specs)]
    config = KVCacheConfig(40, [], groups)
    return side.KVCacheManager(config, 4096, size, UNIT, **ranks)


@pytest.mark.parametrize("ranks", [{"dcp_world_size": 2}, {"pcp_world_size": 2}])
def test_a_block_covers_its_size_times_the_ranks(side: ModuleType, ranks: dict[str, int]) -> None:
    manager = spread(side, attention(UNIT), **ranks)
    assert widths(admit(manager, request("r", words(4 * UNIT + 1)))) == [3]
    manager.free(request("r", words(1)))
    manager.new_step_starts()
    # A hit ends with such a block.
    assert manager.get_computed_blocks(request("after", words(3 * UNIT + 1)))[1] == 2 * UNIT


def test_both_kinds_of_ranks_count(side: ModuleType) -> None:
    manager = spread(side, attention(UNIT), size=4 * UNIT, dcp_world_size=2, pcp_world_size=2)
    assert widths(admit(manager, request("r", words(4 * UNIT + 1)))) == [2]


def test_states_are_not_spread_and_hits_end_with_blocks(side: ModuleType) -> None:
    manager = spread(side, attention(UNIT), states(2 * UNIT), dcp_world_size=2)
    leave_behind(manager, "before", words(3 * UNIT))
    # Without ranks the boundary inside the blocks could be hit.
    assert manager.get_computed_blocks(request("after", words(3 * UNIT + 1)))[1] == 0
    assert admit(manager, request("r", words(3 * UNIT))) is not None
    assert [len(table(manager, "r", g)) for g in (0, 1)] == [2, 2]


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        ("SlidingWindowManager", window(UNIT, 3)),
        ("ChunkedLocalAttentionManager", chunked(UNIT, 3)),
        ("MambaManager", states(UNIT)),
    ],
)
def test_lookups_of_other_kinds_have_no_ranks(side: ModuleType, kind: str, spec: KVCacheSpec) -> None:
    pool, hashes = side.BlockPool(9, True, UNIT), request("r", words(12)).block_hashes
    with pytest.raises(UnsupportedError) as refusal:
        getattr(side, kind).find_longest_cache_hit(hashes, 11, [0], pool, spec, False, UNIT, dcp_world_size=2)
    assert getattr(refusal.value, "clause").id == "Config/context_parallel"  # noqa: B009


def test_a_lookup_of_full_attention_counts_by_ranks(side: ModuleType) -> None:
    manager = spread(side, attention(UNIT), dcp_world_size=2)
    leave_behind(manager, "before", words(4 * UNIT))
    rows, length = side.FullAttentionManager.find_longest_cache_hit(
        request("r", words(4 * UNIT)).block_hashes,
        4 * UNIT - 1,
        [0],
        manager.block_pool,
        attention(UNIT),
        False,
        2 * UNIT,
        dcp_world_size=2,
    )
    assert ([block.block_id for block in rows[0]], length) == ([1], 2 * UNIT)


def test_full_attention_may_look_up_over_a_spec_of_chunks(side: ModuleType) -> None:
    pool, keyed = side.BlockPool(20, True, UNIT), request("keyed", words(12))
    row = [pool.blocks[n + 1] for n in range(3)]
    pool.cache_full_blocks(keyed, row, 0, 3, UNIT, 0)
    pool.evict_blocks({2})
    asked = (keyed.block_hashes, 11, [0], pool, chunked(UNIT, UNIT), False, UNIT)
    # Chunks would need nothing before the last one; full attention needs all from the start.
    assert side.ChunkedLocalAttentionManager.find_longest_cache_hit(*asked)[1] == 2 * UNIT
    rows, length = side.FullAttentionManager.find_longest_cache_hit(*asked)
    assert ([block.block_id for block in rows[0]], length) == ([1], UNIT)
