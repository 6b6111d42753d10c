"""Who is refused although nobody else holds a block: only who can need more than the pool has."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from pagedkv.conformance.demand import refused_alone
from pagedkv.conformance.loop import LoopState, apply_move
from pagedkv.conformance.subjects import make_reference
from pagedkv.spec import World
from pagedkv.spec.clauses import allocation
from pagedkv.spec.moves import Admit, BeginPass, EndPass, Move, Schedule, Submit
from pagedkv.spec.outcomes import Allocated
from pagedkv.spec.world import Group
from tests.invariants.build import ATTENTION, TOKENS, with_options

FULL = replace(ATTENTION, max_step_tokens=12)
WINDOW = replace(FULL, groups=(Group("window", 2, reach=2),), max_step_tokens=2)
ADMITTED = (Submit("r0", 0), BeginPass())
DECODES = (*ADMITTED, Admit("r0", 12), EndPass(), BeginPass())


@pytest.mark.parametrize(
    ("world", "moves", "needed"),
    [
        # Five tokens in three blocks, three with one place ahead, four with three.
        (with_options(FULL, num_lookahead_tokens=1), (*ADMITTED, Admit("r0", 12)), 3),
        (with_options(FULL, num_lookahead_tokens=3), (*ADMITTED, Admit("r0", 12)), 4),
        # No place is behind the model's length.
        (with_options(FULL, num_lookahead_tokens=3, max_drafts=6), (*DECODES, Schedule("r0", 7, 6)), 6),
        # The sixth token and three guesses.
        (with_options(FULL, max_drafts=3), (*DECODES, Schedule("r0", 4, 3)), 5),
    ],
)
def test_places_ahead_are_needed_too(world: World, moves: Sequence[Move], needed: int) -> None:
    *before, last = moves
    for free in range(needed - 1, needed + 2):
        state = LoopState.start(
            replace(world, num_blocks=1 + free), make_reference(replace(world, num_blocks=9))
        )
        for move in before:
            apply_move(state, move)
        refusal = Allocated(1, None)
        found = [breach.clause for breach in refused_alone(state, state.lives, last, refusal)]
        assert found == ([allocation.PREDICTION_IS_EXACT] if free >= needed else [])
    assert len(TOKENS) == world.max_model_len


def test_a_window_with_places_ahead_reaches_further_than_a_step() -> None:
    world = with_options(WINDOW, num_lookahead_tokens=4)
    state = LoopState.start(replace(world, num_blocks=4), make_reference(replace(world, num_blocks=9)))
    for move in (Submit("r0", 1), BeginPass()):
        apply_move(state, move)
    # From inside a block two tokens are computed, and there are places for four more: four blocks.
    assert not list(refused_alone(state, state.lives, Admit("r0", 2), Allocated(2, None)))
