"""Drafts in the engine loop: who may guess, and where the states of guesses are."""

from collections.abc import Sequence

import pytest

from pagedkv.conformance.loop import LoopState, apply_move, enabled_moves
from pagedkv.conformance.subjects import make_reference
from pagedkv.invariants.shape import used_blocks
from pagedkv.spec import World
from pagedkv.spec.moves import Admit, BeginPass, EndPass, Schedule, Settle, Submit
from pagedkv.spec.world import Group, GroupKind, Options, Prompt
from tests.invariants.build import TOKENS

SIZES: dict[GroupKind, int] = {"mamba": 2, "mamba-all": 2, "mamba-none": 12}


def world_of(kind: GroupKind, max_in_flight: int = 0) -> World:
    """States with one speculative block each, and room for two drafts in every other respect."""
    groups = (Group(kind, SIZES[kind], speculative=1),)
    options = Options(max_drafts=2, max_in_flight=max_in_flight)
    caches = kind != "mamba-none"
    return World(groups, 12, 2, (Prompt(TOKENS, 2),), 2, 12, enable_caching=caches, options=options)


def decoding(world: World) -> LoopState:
    """A loop in a pass, whose request has the states of its first two tokens and knows the third."""
    state = LoopState.start(world, make_reference(world))
    for move in (Submit("r0", 0), BeginPass(), Admit("r0", 12), EndPass()):
        assert not apply_move(state, move)[1]
    if world.options.max_in_flight:
        apply_move(state, Settle())
    apply_move(state, BeginPass())
    return state


def guesses(state: LoopState) -> set[tuple[int, int]]:
    """The drafts that the next step may have, and how many may be right."""
    moves: Sequence[object] = enabled_moves(state, ())
    return {(m.drafts, m.accepted) for m in moves if isinstance(m, Schedule) and m.drafts}


@pytest.mark.parametrize("kind", SIZES)
def test_who_runs_may_have_as_many_drafts_as_states_have_places(kind: GroupKind) -> None:
    assert guesses(decoding(world_of(kind))) == {(1, 0), (1, 1)}


@pytest.mark.parametrize("accepted", [0, 1])
@pytest.mark.parametrize("kind", SIZES)
def test_the_next_step_finds_the_state_of_the_last_right_draft(kind: GroupKind, accepted: int) -> None:
    state = decoding(world_of(kind))
    apply_move(state, Schedule("r0", 12, 1, accepted))
    assert not apply_move(state, EndPass())[1]
    life = state.lives["r0"]
    # The step ended with four tokens.
    assert life.state_entry == 3 // SIZES[kind] + accepted
    for move in (BeginPass(), Schedule("r0", 12), EndPass()):
        assert not apply_move(state, move)[1]
    assert state.lives["r0"].state_entry is None
    assert state.lives["r0"].computed == 4 + accepted


@pytest.mark.parametrize("kind", SIZES)
def test_a_step_in_flight_uses_the_places_of_its_drafts(kind: GroupKind) -> None:
    state = decoding(world_of(kind, max_in_flight=1))
    apply_move(state, Schedule("r0", 12, 1, 1))
    (work,), table = state.work.values(), state.instance.table(state.lives["r0"])
    (row,) = table
    first = 3 // SIZES[kind]
    assert set(row[first : first + 2]) <= used_blocks(state.world, work, table)
    assert row[first + 1] != row[first]
