"""Where a chunk of a prompt ends when states are kept at block boundaries."""

from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from .build import request


def stand_in(
    block: int, unit: int, limit: int, *, threshold: int = 0, fine: bool = True, eagle: bool = False
) -> Any:
    """What the rule reads of a scheduler; `limit` is the most tokens of one step."""
    return SimpleNamespace(
        cache_config=SimpleNamespace(block_size=block),
        max_num_scheduled_tokens=limit,
        scheduler_config=SimpleNamespace(long_prefill_token_threshold=threshold),
        use_eagle=eagle,
        hash_block_size=unit,
        mamba_partial_cache_hit=fine,
    )


def chunk(
    side: ModuleType, scheduler: Any, prompt: int, start: int, offered: int, *, junction: int = 0
) -> int:
    """How many of the offered tokens are run for a prompt of which `start` tokens are computed."""
    asker = request("asker", [0] * prompt, unit=scheduler.hash_block_size)
    asker.num_computed_tokens = start
    asker.shared_prefix_boundary = junction
    length: int = side.Scheduler._mamba_block_aligned_split(
        self=scheduler, request=asker, num_new_tokens=offered
    )
    return length


def chunks(side: ModuleType, scheduler: Any, prompt: int, offered: int, *, start: int = 0) -> list[int]:
    """All chunks of a prompt that is offered at most `offered` tokens in each pass."""
    lengths: list[int] = []
    while start < prompt:
        lengths.append(chunk(side, scheduler, prompt, start, min(offered, prompt - start)))
        assert 0 < lengths[-1] <= offered
        start += lengths[-1]
    return lengths


def test_a_prompt_stops_at_its_last_block_and_at_its_last_unit(side: ModuleType) -> None:
    fine = stand_in(96, 16, 800)
    assert chunks(side, fine, 1000, 800) == [768, 192, 32, 8]
    assert chunks(side, stand_in(96, 16, 800, fine=False), 1000, 800) == [768, 192, 40]
    # A start inside a block first closes that block, then ends are block boundaries again.
    assert chunk(side, fine, 1200, 992, 208) == 64
    assert chunk(side, fine, 1200, 1056, 100) == 96


def test_a_block_longer_than_any_step_is_reached_in_parts(side: ModuleType) -> None:
    never_fits = stand_in(700, 20, 500, fine=False)
    assert chunks(side, never_fits, 1777, 500) == [500, 200, 500, 200, 377]
    # A later step could give the whole block, so this one waits.
    assert chunk(side, stand_in(700, 20, 700, fine=False), 1777, 0, 500) == 0


def test_a_long_prefill_limit_below_the_block_counts_as_the_longest_step(side: ModuleType) -> None:
    limited = stand_in(160, 16, 2000, threshold=100, fine=False)
    assert chunks(side, limited, 390, 100) == [100, 60, 100, 60, 70]


@pytest.mark.parametrize(
    ("scheduler", "prompt", "start", "offered", "expected"),
    [
        pytest.param(stand_in(512, 32, 8192), 10000, 0, 8192, [8192, 1536, 256, 16], id="fine hits"),
        pytest.param(stand_in(512, 32, 8192, fine=False), 10000, 0, 8192, [8192, 1536, 272], id="block hits"),
        pytest.param(
            stand_in(512, 32, 8192), 12000, 9984, 8192, [256, 1536, 224], id="resumed inside a block"
        ),
        pytest.param(
            stand_in(11392, 32, 8192, fine=False),
            30000,
            0,
            8192,
            [8192, 3200, 8192, 3200, 7216],
            id="block beyond the budget",
        ),
        pytest.param(
            stand_in(512, 32, 8192, threshold=384, fine=False),
            1300,
            0,
            384,
            [384, 128, 384, 128, 276],
            id="block beyond the long-prefill limit",
        ),
    ],
)
def test_the_worked_examples_of_chunk_ends(
    side: ModuleType, scheduler: Any, prompt: int, start: int, offered: int, expected: list[int]
) -> None:
    assert chunks(side, scheduler, prompt, offered, start=start) == expected


def test_the_worked_example_of_waiting(side: ModuleType) -> None:
    assert chunk(side, stand_in(11392, 32, 11392, fine=False), 30000, 0, 8192) == 0


def test_eagle_moves_the_last_block_stop_one_block_back(side: ModuleType) -> None:
    assert chunks(side, stand_in(96, 16, 800, eagle=True), 1000, 800) == [768, 96, 128, 8]


def test_a_shared_prefix_junction_is_a_stop_in_whole_blocks(side: ModuleType) -> None:
    scheduler = stand_in(96, 16, 800)
    assert chunk(side, scheduler, 1000, 0, 800, junction=300) == 288
    # Less than a block ahead, or behind the chunk: no stop.
    assert chunk(side, scheduler, 1000, 96, 800, junction=180) == 768
    assert chunk(side, scheduler, 1000, 0, 400, junction=700) == 384


def test_a_decoding_request_is_not_cut(side: ModuleType) -> None:
    scheduler = stand_in(96, 16, 800)
    asker = request("asker", [0] * 190, unit=16)
    asker.append_output_token_ids([1])
    asker.num_computed_tokens = 190
    # One token and five drafts run over the boundary at 192.
    assert side.Scheduler._mamba_block_aligned_split(self=scheduler, request=asker, num_new_tokens=6) == 6
