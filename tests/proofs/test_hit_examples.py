"""Hits of windows and chunks worked out by hand: blocks of 4 tokens, by the lengths of their keys."""

import pytest

from pagedkv.spec.rules.hits import Kind, longest_hit
from pagedkv.spec.rules.reach import Reads, skipped_entries

BLOCK = 4


def hit_of(
    reads: Reads, reach: int, keys: set[int], max_length: int, is_eagle: bool = False
) -> tuple[int, tuple[int, ...]]:
    """Length and names of a kind's hit, of which the prefixes of ``keys`` tokens are cached."""
    cached = tuple(end in keys for end in range(BLOCK, max_length + 1, BLOCK))
    found = longest_hit([Kind(reads, reach, BLOCK, is_eagle, cached)], max_length, BLOCK, BLOCK)
    return found.length, found.named_by[0]


def test_blocks_before_the_chunk_of_the_next_token_count_as_there() -> None:
    assert hit_of("chunk", 8, {12}, 15) == (12, (12,))
    assert hit_of("chunk", 8, set(), 15) == (8, ())
    assert hit_of("chunk", 8, {12}, 16) == (16, ())


def test_a_window_needs_the_blocks_that_it_touches() -> None:
    assert hit_of("window", 5, {12}, 15) == (12, (12,))
    assert hit_of("window", 6, {12}, 15) == (0, ())
    assert hit_of("window", 6, {8, 12}, 15) == (12, (8, 12))


def test_a_window_that_reaches_the_start_needs_no_more_than_there_is() -> None:
    assert hit_of("window", 100, {4, 8}, 15) == (8, (4, 8))
    assert hit_of("window", 100, {8, 12}, 15) == (0, ())


def test_a_window_with_a_draft_model_gives_up_its_last_block() -> None:
    assert hit_of("window", 5, {8, 12}, 15, is_eagle=True) == (8, (8,))
    assert hit_of("window", 100, {4, 8, 12}, 15, is_eagle=True) == (8, (4, 8))
    assert hit_of("window", 5, {12}, 15, is_eagle=True) == (0, ())


@pytest.mark.parametrize(("num_processed", "first"), [(13, 8), (8, 8), (7, 0), (16, 16)])
def test_a_chunk_is_skipped_when_the_next_token_begins_another(num_processed: int, first: int) -> None:
    assert skipped_entries("chunk", num_processed, 8, BLOCK) * BLOCK == first
