"""A prompt that is sent again hits as long a prefix as it can."""

from types import ModuleType
from typing import Any

import pytest

from pagedkv.spec import Request

from .build import (
    BLOCK,
    STATE,
    UNIT,
    attention,
    deployment,
    holder,
    hybrid,
    publish,
    request,
    states,
    table,
    window,
    words,
)
from .test_chunk_ends import stand_in


def run(side: ModuleType, manager: Any, prompt: Request, *, resends: bool = True) -> list[int]:
    """Compute a prompt chunk by chunk; how long each was."""
    scheduler = stand_in(BLOCK, UNIT, 100, eagle=manager.coordinator.single_type_managers[0].use_eagle)
    scheduler.resend_boundaries = resends
    scheduler.kv_cache_manager = manager
    lengths = []
    while prompt.num_computed_tokens < prompt.num_tokens:
        offered = prompt.num_tokens - prompt.num_computed_tokens
        lengths.append(side.Scheduler._mamba_block_aligned_split(scheduler, prompt, offered))
        assert manager.allocate_slots(prompt, lengths[-1]) is not None
        prompt.num_computed_tokens += lengths[-1]
        manager.new_step_starts()
    return lengths


@pytest.mark.parametrize(
    ("length", "chunks", "hit"),
    [
        (24, [20, 4], 20),  # the last token is computed again
        (22, [12, 8, 2], 20),
        (25, [24, 1], 24),
        (28, [24, 4], 24),
        (4, [4], 0),
    ],
)
def test_a_prompt_sent_again_hits_its_longest_prefix(
    side: ModuleType, length: int, chunks: list[int], hit: int
) -> None:
    manager, prompt = hybrid(side, resend_boundaries=True), request("r", words(length))
    assert manager.coordinator.resend_length(length) == hit
    assert run(side, manager, prompt) == chunks
    manager.free(prompt)
    again = request("again", words(length))
    assert manager.get_computed_blocks(again)[1] == hit


def test_without_that_option_a_prompt_of_whole_blocks_is_not_hit(side: ModuleType) -> None:
    manager, prompt = hybrid(side), request("r", words(24))
    assert manager.coordinator.resend_length(24) == 0
    assert run(side, manager, prompt, resends=False) == [24]
    manager.free(prompt)
    assert manager.get_computed_blocks(request("again", words(24)))[1] == 0


@pytest.mark.parametrize(
    ("attention_block", "length", "chunks", "hit"),
    [
        # A draft model gives up a unit: the state before 20 tokens, and attention up to 20.
        (UNIT, 24, [12, 4, 8], 16),
        (BLOCK, 24, [12, 4, 8], 16),
        (BLOCK, 28, [12, 8, 4, 4], 20),
        (UNIT, 21, [16, 4, 1], 16),
    ],
)
def test_with_a_draft_model_a_prompt_sent_again_hits_one_unit_before(
    side: ModuleType, attention_block: int, length: int, chunks: list[int], hit: int
) -> None:
    manager = hybrid(side, attention_block, resend_boundaries=True, use_eagle=True)
    assert manager.coordinator.resend_length(length) == hit
    prompt = request("r", words(length))
    assert run(side, manager, prompt) == chunks
    manager.free(prompt)
    assert manager.get_computed_blocks(request("again", words(length)))[1] == hit


def test_both_boundaries_of_a_prompt_are_keys_of_one_block(side: ModuleType) -> None:
    manager = hybrid(side, BLOCK, resend_boundaries=True)
    prompt = publish(manager, "r", words(20))
    assert [holder(manager, prompt, length, 0).block_id for length in (16, 20)] == [
        table(manager, "r", 0)[1]
    ] * 2
    # A state is what it is after 20 tokens only.
    assert holder(manager, prompt, 16, STATE) is None
    assert holder(manager, prompt, 20, STATE).block_id == table(manager, "r", STATE)[1]


def test_boundaries_are_named_one_after_the_other_and_once(side: ModuleType) -> None:
    manager, prompt = hybrid(side, BLOCK, resend_boundaries=True), request("r", words(20))
    for end, lengths in ((16, [16]), (18, [16]), (20, [16, 20])):
        assert manager.allocate_slots(prompt, end - prompt.num_computed_tokens) is not None
        prompt.num_computed_tokens = end
        named = [n for n in (16, 20) if holder(manager, prompt, n, 0) is not None]
        assert named == lengths
    manager.evict_blocks([table(manager, "r", 0)[1]])
    prompt.append_output_token_ids([7])
    assert manager.allocate_slots(prompt, 1) is not None
    assert holder(manager, prompt, 16, 0) is None


def test_the_state_of_each_boundary_moves_to_a_block_of_its_own(side: ModuleType) -> None:
    manager, prompt = hybrid(side, resend_boundaries=True), request("r", words(20))
    assert run(side, manager, prompt) == [12, 4, 4]
    # The entry of 16 tokens has moved, that of 20 stands in the row.
    (own, copied) = table(manager, "r", STATE)[1], holder(manager, prompt, 16, STATE).block_id
    assert holder(manager, prompt, 20, STATE).block_id == own != copied
    assert manager.take_partial_tail_offloads() == {"r": [(STATE, copied, 16)]}
    prompt.append_output_token_ids([7])
    assert manager.allocate_slots(prompt, 1) is not None
    moved = holder(manager, prompt, 20, STATE).block_id
    assert moved not in (own, copied)
    assert manager.take_partial_tail_offloads() == {"r": [(STATE, moved, 20)]}


@pytest.mark.parametrize(
    ("flagged", "resends", "expected", "hit"),
    [
        # Attention gives up 16 of the 48 tokens that it holds: windows keep what is read after 32.
        ((0, 1), True, [7, 8, 11, 12], 32),
        ((0, 1), False, [11, 12], 0),
        ((0,), True, [7, 11], 32),
        ((0,), False, [11], 0),
        # The window would need the block behind 48 tokens, which ends with the prompt.
        ((1,), True, [7, 8, 11, 12], 32),
        ((1,), False, [11, 12], 0),
        ((), True, [11], 48),
        ((), False, [11], 48),
    ],
)
def test_with_an_interval_windows_keep_what_a_prompt_sent_again_reads(
    side: ModuleType, flagged: tuple[int, ...], resends: bool, expected: list[int], hit: int
) -> None:
    manager = deployment(
        side,
        attention(4 * UNIT),
        window(UNIT, 5),
        flagged=flagged,
        retention_interval=0,
        resend_boundaries=resends,
    )
    prompt = publish(manager, "r", words(52))
    row = manager.get_blocks("r").blocks[1]
    assert [i for i, block in enumerate(row) if block.block_hash is not None] == expected
    manager.free(prompt)
    manager.new_step_starts()
    assert manager.get_computed_blocks(request("again", words(52)))[1] == hit


@pytest.mark.parametrize(("resends", "hit"), [(True, 24), (False, 0)])
def test_with_an_interval_states_are_kept_for_a_prompt_sent_again(
    side: ModuleType, resends: bool, hit: int
) -> None:
    # The window's blocks are longer than units, so hits end with blocks, and a draft model gives up one.
    specs = (attention(BLOCK), states(), window(BLOCK, 5))
    manager = deployment(side, *specs, use_eagle=True, retention_interval=0, resend_boundaries=resends)
    prompt = request("r", words(37))
    for length in (12, 12, 12, 1):
        assert manager.allocate_slots(prompt, length) is not None
        prompt.num_computed_tokens += length
    manager.free(prompt)
    manager.new_step_starts()
    assert manager.get_computed_blocks(request("again", words(37)))[1] == hit
