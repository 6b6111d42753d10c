"""Which blocks of windows and states become keys when hits are kept once in an interval."""

from types import ModuleType
from typing import Any

import pytest

from pagedkv.spec import ValuePreconditionError

from .build import (
    BLOCK,
    STATE,
    UNIT,
    admit,
    attention,
    chunked,
    deployment,
    hybrid,
    publish,
    request,
    states,
    table,
    window,
    words,
)

SPARSE = 4 * UNIT
"""Hits of a window beside attention end on multiples of this."""


def kept(manager: Any, name: str, group: int) -> list[int]:
    """The entries of a request's row that have a key."""
    row = manager.get_blocks(name).blocks[group]
    return [i for i, block in enumerate(row) if not block.is_null and block.block_hash is not None]


@pytest.mark.parametrize(
    ("interval", "junction", "expected"),
    [
        (None, 0, [3, 7, 11, 15]),
        (32, 0, [7, 15]),
        (48, 0, [11, 15]),  # the prompt's last token is in the block after 64 tokens
        (0, 0, [15]),
        (0, 20, [3, 15]),  # 20 tokens, rounded down to 16
        (32, 50, [7, 11, 15]),
        (0, 10, [15]),  # no hit is that short
    ],
)
def test_windows_keep_what_hits_at_intervals_and_boundaries_read(
    side: ModuleType, interval: int | None, junction: int, expected: list[int]
) -> None:
    manager = deployment(side, attention(SPARSE), window(UNIT, 5), retention_interval=interval)
    newcomer = request("r", words(70))
    newcomer.shared_prefix_boundary = junction
    assert admit(manager, newcomer) is not None
    assert kept(manager, "r", 1) == expected
    assert kept(manager, "r", 0) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("interval", "junction", "expected"),
    [(32, 0, [7, 8, 15, 16]), (0, 0, [15, 16]), (0, 20, [3, 4, 15, 16])],
)
def test_with_a_draft_model_the_block_behind_a_hit_is_kept_too(
    side: ModuleType, interval: int, junction: int, expected: list[int]
) -> None:
    specs = (attention(SPARSE), window(UNIT, 5))
    manager = deployment(side, *specs, use_eagle=True, retention_interval=interval)
    newcomer = request("r", words(70))
    newcomer.shared_prefix_boundary = junction
    assert admit(manager, newcomer) is not None
    assert kept(manager, "r", 1) == expected


def test_a_longer_window_keeps_a_longer_tail(side: ModuleType) -> None:
    # Eight tokens before the next one: two blocks.
    manager = deployment(side, attention(SPARSE), window(UNIT, 9), retention_interval=32)
    publish(manager, "r", words(70))
    assert kept(manager, "r", 1) == [6, 7, 14, 15]


def test_a_hit_at_what_is_kept_is_found(side: ModuleType) -> None:
    manager = deployment(side, attention(SPARSE), window(UNIT, 5), retention_interval=32)
    owner = publish(manager, "owner", words(70))
    manager.free(owner)
    manager.new_step_starts()
    for length, hit in ((70, 64), (64, 32), (40, 32), (33, 32), (31, 0)):
        assert manager.get_computed_blocks(request("r", words(length)))[1] == hit


@pytest.mark.parametrize(
    ("interval", "junction", "expected"),
    [
        (None, 0, [12, 24, 36, 48, 60]),
        (24, 0, [24, 48]),
        (36, 0, [36, 48]),  # the prompt's last token is in the block after 48 tokens
        (0, 0, [48]),
        (0, 30, [24, 48]),  # the last state before 28 tokens
        (12, 0, [12, 24, 36, 48, 60]),
    ],
)
def test_states_are_kept_at_intervals_and_boundaries(
    side: ModuleType, interval: int | None, junction: int, expected: list[int]
) -> None:
    manager, running = hybrid(side, retention_interval=interval), request("r", words(60))
    running.shared_prefix_boundary = junction
    for _ in range(5):
        assert manager.allocate_slots(running, BLOCK) is not None
        running.num_computed_tokens += BLOCK
    held = [
        length
        for length in range(UNIT, 61, UNIT)
        if manager.block_pool.get_cached_block(running.block_hashes[length // UNIT - 1], [STATE])
    ]
    assert held == expected
    assert len(kept(manager, "r", 0)) == 15


def test_a_state_that_is_not_kept_is_the_first_to_be_taken_again(side: ModuleType) -> None:
    manager, running = hybrid(side, retention_interval=0), request("r", words(60))
    for _ in range(3):
        assert manager.allocate_slots(running, BLOCK) is not None
        running.num_computed_tokens += BLOCK
    # The third call let go of the first state, and took its block for its first one.
    assert table(manager, "r", STATE)[0] == 0
    assert table(manager, "r", 0)[6] == 4


@pytest.mark.parametrize("interval", [-16, 8, 24])
def test_an_interval_between_whose_ends_no_hit_ends_is_refused(side: ModuleType, interval: int) -> None:
    with pytest.raises(ValuePreconditionError, match="Config/retention_by_hits"):
        deployment(side, attention(SPARSE), window(UNIT, 5), retention_interval=interval)


def mask(side: ModuleType, kind: str, spec: Any, *arguments: Any) -> Any:
    """Which of nine blocks become keys, by place; None for all."""
    answer = getattr(side, kind).reachable_block_mask(0, 9, *arguments)
    return None if answer is None else [i for i, is_kept in enumerate(answer) if is_kept]


@pytest.mark.parametrize(
    ("kind", "spec", "arguments", "expected"),
    [
        ("SlidingWindowManager", window(UNIT, 5), (16, False), [3, 7]),
        ("SlidingWindowManager", window(UNIT, 5), (16, True), [3, 4, 7, 8]),
        ("SlidingWindowManager", window(UNIT, 9), (16, False), [2, 3, 6, 7]),
        ("SlidingWindowManager", window(UNIT, 14), (16, False), None),
        ("SlidingWindowManager", window(UNIT, 10), (16, True), None),
        ("SlidingWindowManager", window(UNIT, 5), (None, False), None),
        ("SlidingWindowManager", window(UNIT, 5), (16, True, 32), [7, 8]),
        ("SlidingWindowManager", window(UNIT, 5), (16, True, 0, (20, 8)), [3, 4]),  # no hit ends before 8
        ("SlidingWindowManager", window(UNIT, 5), (16, False, 0, (20, 8)), [3]),
        ("MambaManager", states(UNIT), (UNIT, True), None),
        ("MambaManager", states(UNIT), (None, True, 0, (20,)), None),
        ("MambaManager", states(UNIT), (UNIT, True, UNIT), None),
        ("MambaManager", states(UNIT), (UNIT, True, 12), [2, 5, 8]),
        ("MambaManager", states(UNIT), (UNIT, True, 12, (21, 6)), [0, 2, 4, 5, 8]),
        ("MambaManager", states(UNIT), (UNIT, True, 0, (21,)), [4]),
        ("FullAttentionManager", attention(UNIT), (UNIT, True, 0, (21,)), None),
        ("ChunkedLocalAttentionManager", chunked(UNIT, 8), (UNIT, False, 0, (21,)), None),
    ],
)
def test_worked_examples_of_what_is_kept(
    side: ModuleType, kind: str, spec: Any, arguments: tuple[Any, ...], expected: list[int] | None
) -> None:
    alignment, is_eagle, *retention = arguments
    assert mask(side, kind, spec, alignment, spec, is_eagle, *retention) == expected
    if expected is not None:
        part = getattr(side, kind).reachable_block_mask(3, 6, alignment, spec, is_eagle, *retention)
        assert part == [i in expected for i in range(3, 6)]
