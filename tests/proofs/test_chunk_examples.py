"""Chunk ends worked out by hand."""

import pytest

from pagedkv.spec.rules.caching import partial_boundary
from pagedkv.spec.rules.chunks import chunk_tokens


def chunk_ends(
    num_prompt: int,
    budget: int,
    *,
    block: int,
    start: int = 0,
    unit: int = 0,
    max_step: int | None = None,
    is_eagle: bool = False,
) -> list[int]:
    """Where the chunks of a prompt end, up to the first that waits; hits by ``unit``, 0 for whole blocks."""
    ends = []
    boundary = partial_boundary(num_prompt, unit, block) if unit else 0
    limit = budget if max_step is None else max_step
    while start < num_prompt:
        offered = min(budget, num_prompt - start)
        length = chunk_tokens(start, offered, num_prompt, num_prompt, block, limit, is_eagle, 0, boundary)
        if length == 0:
            break
        start += length
        ends.append(start)
    return ends


def test_a_prompt_ends_at_its_last_block_then_at_its_last_unit() -> None:
    assert chunk_ends(10000, 8192, block=512, unit=32) == [8192, 9728, 9984, 10000]
    assert chunk_ends(10000, 8192, block=512) == [8192, 9728, 10000]


def test_a_start_inside_a_block_closes_that_block_first() -> None:
    assert chunk_ends(12000, 8192, block=512, unit=32, start=9984)[:2] == [10240, 11776]


def test_a_block_longer_than_any_step_is_computed_in_parts() -> None:
    assert chunk_ends(30000, 8192, block=11392) == [8192, 11392, 19584, 22784, 30000]
    assert chunk_ends(1300, 384, block=512) == [384, 512, 896, 1024, 1300]


def test_a_block_that_a_longer_step_could_hold_waits() -> None:
    assert chunk_ends(30000, 8192, block=11392, max_step=11392) == []


def test_eagle_keeps_the_state_one_block_before() -> None:
    assert chunk_ends(1000, 1000, block=96, is_eagle=True) == [864, 1000]


@pytest.mark.parametrize(("junction", "length"), [(300, 288), (95, 960), (960, 960), (961, 960)])
def test_a_junction_is_a_stop_in_whole_blocks(junction: int, length: int) -> None:
    assert chunk_tokens(0, 1000, 1000, 1000, 96, 1000, False, junction, 0) == length


def test_a_decode_step_is_not_cut() -> None:
    assert chunk_tokens(190, 6, 190, 191, 96, 800, False, 0, 176) == 6
