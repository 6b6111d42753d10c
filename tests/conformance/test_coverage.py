"""What a move of a deployment with options shows, and what a move much like it does not."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from pagedkv.conformance import coverage
from pagedkv.conformance.campaign.runs import replay_moves
from pagedkv.conformance.coverage import DEFERRAL, FAILED, HIT, shown_by
from pagedkv.conformance.subjects import reference
from pagedkv.spec import World
from pagedkv.spec.moves import Admit, BeginPass, EndPass, Finish, Loaded, Move, Schedule, Settle, Submit
from pagedkv.spec.world import Group, Prompt
from tests.invariants.build import ATTENTION, HYBRID, TOKENS, last, run, with_options

WINDOW = World((Group("window", 2, reach=2),), 8, 2, (Prompt(TOKENS, 9),), 2, 12)
CONNECTED = with_options(ATTENTION, has_connector=True)
FLYING = with_options(ATTENTION, max_in_flight=1)
GUESSING = with_options(ATTENTION, max_drafts=2)
RESENT = with_options(HYBRID, resend_boundaries=True)
ASKS = (Submit("r0", 1), BeginPass())
BEHIND = Admit("r0", 12, "common", 8, True)
LOADS = (*ASKS, BEHIND, EndPass())
STARTS = (Submit("r0", 0), BeginPass(), Admit("r0", 12), EndPass())
DECODES = (*STARTS, BeginPass())

SHOWN: dict[str, tuple[World, Sequence[Move], World, Sequence[Move]]] = {
    coverage.LOADED_IN_STEP: (CONNECTED, (*ASKS, Admit("r0", 12, "common", 4)), CONNECTED, (*ASKS, BEHIND)),
    coverage.LOADED_BEHIND: (CONNECTED, (*ASKS, BEHIND), CONNECTED, (*ASKS, Admit("r0", 12, "common", 4))),
    coverage.LOAD_INVALID: (
        *(CONNECTED, (*ASKS, Admit("r0", 12, "common", 4, valid=2))),
        *(CONNECTED, (*ASKS, Admit("r0", 12, "common", 4))),
    ),
    coverage.LOAD_FAILED: (CONNECTED, (*LOADS, Loaded("r0", 0)), CONNECTED, (*LOADS, Loaded("r0", 4))),
    coverage.LOAD_FAILED_IN_PART: (
        *(CONNECTED, (*LOADS, Loaded("r0", 4))),
        *(CONNECTED, (*LOADS, Loaded("r0", 8))),
    ),
    coverage.PASS_IN_FLIGHT: (FLYING, DECODES, ATTENTION, DECODES),
    coverage.FREE_WAITED: (FLYING, (*STARTS, Finish("r0"), Settle()), FLYING, (*STARTS, Settle())),
    coverage.DRAFT_ACCEPTED: (
        *(GUESSING, (*DECODES, Schedule("r0", 3, 2, 1))),
        *(GUESSING, (*DECODES, Schedule("r0", 3, 2, 0))),
    ),
    coverage.DRAFT_REJECTED: (
        *(GUESSING, (*DECODES, Schedule("r0", 3, 2, 1))),
        *(GUESSING, (*DECODES, Schedule("r0", 3, 2, 2))),
    ),
    coverage.KEPT_FREE: (
        *(ATTENTION, (*ASKS, Admit("r0", 12, reserved=3))),
        *(replace(ATTENTION, num_blocks=4), (*ASKS, Admit("r0", 12, reserved=3))),
    ),
    coverage.TOO_LONG: (
        *(
            with_options(replace(ATTENTION, num_blocks=4), full_sequence_must_fit=True),
            (*ASKS, Admit("r0", 2)),
        ),
        *(
            with_options(replace(ATTENTION, num_blocks=4), full_sequence_must_fit=True),
            (*ASKS, Admit("r0", 12)),
        ),
    ),
    coverage.ZEROED: (with_options(ATTENTION, needs_zeroing=True), STARTS, ATTENTION, STARTS),
    coverage.LEFT_OUT: (with_options(WINDOW, retention_interval=4), STARTS[:3], WINDOW, STARTS[:3]),
    coverage.SENT_AGAIN: (
        *(RESENT, (*run("r0", 1, 2), Submit("r1", 1), BeginPass(), Admit("r1", 12))),
        *(HYBRID, (*run("r0", 1, 2), Submit("r1", 1), BeginPass(), Admit("r1", 12))),
    ),
}


@pytest.mark.parametrize("behaviour", SHOWN)
def test_a_move_shows_a_behaviour_and_its_like_does_not(behaviour: str) -> None:
    world, moves, other, others = SHOWN[behaviour]
    assert behaviour in set(shown_by(last(world, *moves)))
    assert behaviour not in set(shown_by(last(other, *others)))


def test_a_call_without_blocks_is_no_wait_for_what_the_pass_writes() -> None:
    # r1 hits blocks that r0 fills in this pass: whole blocks of attention may be read in the same step.
    world = World((Group("full", 1),), 4, 1, (Prompt((0, 0, 0, 0), 3),), 2, 8)
    run = replay_moves(
        reference(),
        world,
        [Submit("r0", 0), Submit("r1", 0), BeginPass(), Admit("r0", 8), Admit("r1", 5)],
    )
    assert {name: run.shown[name] for name in (HIT, FAILED, DEFERRAL)} == {HIT: 1, FAILED: 1, DEFERRAL: 0}
