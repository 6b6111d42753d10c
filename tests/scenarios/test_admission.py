"""What an allocation leaves free for others, and what a whole sequence may claim."""

from types import ModuleType
from typing import Any

import pytest

from pagedkv.spec import PreconditionError, RequestStatus, ValuePreconditionError

from .build import (
    UNIT,
    admit,
    attention,
    chunked,
    deployment,
    hybrid,
    leave_behind,
    publish,
    request,
    table,
    window,
    words,
)


@pytest.mark.parametrize(("usable", "fits"), [(10, True), (9, False)])
def test_the_whole_sequence_must_fit_though_a_chunk_is_asked_for(
    side: ModuleType, usable: int, fits: bool
) -> None:
    manager, newcomer = deployment(side, attention(UNIT), num_blocks=usable + 1), request("r", words(40))
    before = manager.snapshot()
    assert (manager.allocate_slots(newcomer, 4, full_sequence_must_fit=True) is not None) == fits
    if not fits:
        assert manager.snapshot() == before
        assert manager.allocate_slots(newcomer, 4) is not None
    assert len(table(manager, "r", 0)) == 1


@pytest.mark.parametrize(("usable", "fits"), [(10, True), (9, False)])
def test_what_is_hit_and_loaded_counts_for_the_whole_sequence(
    side: ModuleType, usable: int, fits: bool
) -> None:
    # Blocks of the hit that are queued are taken from there like any others.
    manager = deployment(side, attention(UNIT), num_blocks=usable + 1)
    leave_behind(manager, "owner", words(12))
    newcomer = request("newcomer", words(40))
    blocks, hit, _ = manager.get_computed_blocks(newcomer)
    answer = manager.allocate_slots(
        newcomer, 4, hit, blocks, num_external_computed_tokens=8, full_sequence_must_fit=True
    )
    assert (answer is not None) == fits


@pytest.mark.parametrize(
    ("spec", "in_flight", "claim"),
    [
        (window(UNIT, 9), 8, 5),  # 8 tokens behind and 8 in flight, and one block for where they begin
        (window(UNIT, 9), 9, 6),
        (window(UNIT, 9), 100, 11),  # no more than the model's 40 tokens
        (chunked(UNIT, 8), 8, 4),
        (chunked(UNIT, 8), 9, 5),
        (window(UNIT, 9), None, 10),  # without a limit of what is in flight all tokens count
    ],
)
def test_windows_and_chunks_claim_what_they_hold_at_a_time(
    side: ModuleType, spec: Any, in_flight: int | None, claim: int
) -> None:
    claim = min(claim, 10)
    for usable, fits in ((claim, True), (claim - 1, False)):
        manager = deployment(
            side, spec, num_blocks=usable + 1, max_model_len=40, max_in_flight_tokens=in_flight
        )
        answer = manager.allocate_slots(request("r", words(40)), 4, full_sequence_must_fit=True)
        assert (answer is not None) == fits


def test_what_a_request_holds_already_counts_for_its_claim(side: ModuleType) -> None:
    manager = deployment(side, window(UNIT, 9), num_blocks=1 + 6, max_in_flight_tokens=8)
    running = request("r", words(60))
    assert manager.allocate_slots(running, 8) is not None
    running.num_computed_tokens = 8
    blocks = manager.block_pool.get_new_blocks(1)
    # It may hold five and holds two; three are free.
    assert manager.allocate_slots(running, 4, full_sequence_must_fit=True) is not None
    running.num_computed_tokens = 12
    blocks += manager.block_pool.get_new_blocks(1)
    assert manager.allocate_slots(running, 4, full_sequence_must_fit=True) is None
    manager.block_pool.free_blocks(blocks)
    assert manager.allocate_slots(running, 4, full_sequence_must_fit=True) is not None


def test_tokens_of_the_call_count_where_there_are_more_than_the_sequence_has(side: ModuleType) -> None:
    manager = deployment(side, attention(UNIT), num_blocks=4)
    running = publish(manager, "r", words(8))
    running.append_output_token_ids([7])
    # One token and four drafts: 13 places in four blocks.
    assert manager.allocate_slots(running, 5, full_sequence_must_fit=True) is None
    assert manager.allocate_slots(running, 4, full_sequence_must_fit=True) is not None


def test_states_claim_what_their_last_step_needs(side: ModuleType) -> None:
    # Ten blocks of attention and one state: entries before the running state are null.
    for usable, fits in ((11, True), (10, False)):
        manager = hybrid(side, num_blocks=usable + 1)
        answer = manager.allocate_slots(request("r", words(40)), 40, full_sequence_must_fit=True)
        assert (answer is not None) == fits


def test_reserved_blocks_stay_free(side: ModuleType) -> None:
    manager = deployment(side, attention(UNIT), num_blocks=6)
    newcomer = request("r", words(12))
    assert manager.allocate_slots(newcomer, 12, reserved_blocks=3) is None
    assert manager.allocate_slots(newcomer, 12, reserved_blocks=2) is not None
    newcomer.num_computed_tokens = 12
    newcomer.append_output_token_ids([7])
    # Of running requests, too; and where no block is taken none has to be left.
    assert manager.allocate_slots(newcomer, 1, reserved_blocks=2) is None
    assert manager.allocate_slots(newcomer, 1, reserved_blocks=1) is not None


def test_less_than_nothing_cannot_be_reserved(side: ModuleType) -> None:
    manager = deployment(side, attention(UNIT))
    with pytest.raises(ValuePreconditionError, match="Allocate/asks_for_something"):
        manager.allocate_slots(request("r", words(12)), 12, reserved_blocks=-1)


@pytest.mark.parametrize(
    ("status", "has_scheduled", "most"),
    [
        (RequestStatus.WAITING, True, 7),
        (RequestStatus.PREEMPTED, True, 7),
        (RequestStatus.WAITING, False, 9),
        (RequestStatus.RUNNING, True, 9),
    ],
)
def test_the_watermark_stays_free_of_whom_others_can_do_without(
    side: ModuleType, status: RequestStatus, has_scheduled: bool, most: int
) -> None:
    # A quarter of ten blocks, rounded down, of the nine that can be used.
    for blocks, fits in ((most, True), (most + 1, False)):
        manager = deployment(side, attention(UNIT), num_blocks=10, watermark=0.25)
        newcomer = request("r", words(UNIT * blocks))
        newcomer.status = status
        assert (admit(manager, newcomer, has_scheduled_reqs=has_scheduled) is not None) == fits


def test_watermark_and_reserve_add_up(side: ModuleType) -> None:
    manager = deployment(side, attention(UNIT), num_blocks=10, watermark=0.25)
    assert admit(manager, request("r", words(24)), reserved_blocks=2) is None
    assert admit(manager, request("r", words(24)), reserved_blocks=1) is not None


@pytest.mark.parametrize("share", [1.0, -0.1, 2])
def test_a_watermark_that_is_no_share_is_refused(side: ModuleType, share: float) -> None:
    with pytest.raises(PreconditionError, match="Config/watermark_is_a_share"):
        deployment(side, attention(UNIT), watermark=share)


def test_at_least_a_token_is_in_flight(side: ModuleType) -> None:
    with pytest.raises(PreconditionError, match="Config/sizes_are_positive"):
        deployment(side, attention(UNIT), max_in_flight_tokens=0)
