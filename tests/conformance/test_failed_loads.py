"""A load in a step that fails: what followed from it is taken back before anybody goes on."""

from collections.abc import Sequence

import pytest

from pagedkv.conformance.invalid_loads import Holder, spoilt
from pagedkv.conformance.loop import LoopState, apply_move, enabled_moves
from pagedkv.conformance.subjects import make_reference
from pagedkv.invariants.breach import Breach
from pagedkv.spec import World
from pagedkv.spec.clauses import worker
from pagedkv.spec.moves import (
    Admit,
    BeginPass,
    EndPass,
    Evict,
    Finish,
    Loaded,
    Move,
    Preempt,
    Schedule,
    Settle,
    Submit,
)
from pagedkv.spec.outcomes import Allocated
from pagedkv.spec.world import Group, Options, Prompt
from tests.invariants.build import TOKENS


def world_of(*groups: Group, max_in_flight: int = 0) -> World:
    """Three prompts: two equal ones, and a longer one that begins like them."""
    prompts = (Prompt(TOKENS, 7), Prompt(TOKENS, 7), Prompt(TOKENS, 9))
    options = Options(has_connector=True, max_in_flight=max_in_flight)
    return World(groups or (Group("full", 2),), 24, 2, prompts, 3, 24, options=options)


def told(world: World, *moves: Move) -> LoopState:
    """A loop after these moves, of which none breaks anything."""
    state = LoopState.start(world, make_reference(world))
    for move in moves:
        assert not apply_move(state, move)[1], move
    return state


def do(state: LoopState, *moves: Move) -> list[Breach]:
    """What the moves break."""
    return [breach for move in moves for breach in apply_move(state, move)[1]]


def keyed(state: LoopState) -> set[int]:
    """Blocks with keys."""
    snapshot = state.instance.snapshot()
    assert snapshot is not None
    return {block for block, keys in enumerate(snapshot.keys) if keys}


FAILS = Admit("r0", 12, available=6, valid=2)
SHARED = (Submit("r0", 0), Submit("r1", 1), BeginPass(), FAILS, Admit("r1", 12))


def test_who_shares_what_a_load_left_goes_back_with_it() -> None:
    state = told(world_of(), *SHARED, EndPass())
    valid, *invalid = state.instance.table(state.lives["r0"])[0]
    assert state.instance.table(state.lives["r1"])[0][:3] == (valid, *invalid[:2])
    assert enabled_moves(state, ()) == [Evict(state.to_evict)]
    assert set(invalid) <= set(state.to_evict) and valid not in state.to_evict
    assert not do(state, Evict(state.to_evict))
    assert keyed(state) == {valid}
    assert set(enabled_moves(state, (), probes=False)) == {
        move for r in ("r0", "r1") for move in (Preempt(r, False), Finish(r))
    }
    assert not do(state, Preempt("r1", False), Preempt("r0", False))
    # Of its step nothing was taken in, and what was valid is found again.
    life = state.lives["r0"]
    assert (life.num_tokens, life.computed, life.is_running) == (7, 0, False)
    apply_move(state, BeginPass())
    outcome, _ = apply_move(state, Admit("r0", 12))
    assert isinstance(outcome, Allocated) and outcome.found and outcome.found.hit == 2
    assert not do(state, EndPass())


def test_who_does_not_share_it_goes_on() -> None:
    state = told(world_of(), *SHARED[:3], Admit("r1", 12), Admit("r0", 12, available=6), EndPass())
    assert not state.misled
    before = (Submit("r1", 1), BeginPass(), Admit("r1", 12), EndPass(), Evict((1, 2, 3)), Submit("r0", 0))
    state = told(world_of(), *before, BeginPass(), FAILS, EndPass())
    assert state.misled == {"r0"}


def test_a_step_that_is_not_processed_hides_it_from_nobody() -> None:
    arrive = (Submit("r0", 0), Submit("r1", 2), Submit("r2", 1))
    steps = [move for r in ("r1", "r2") for move in (BeginPass(), Admit(r, 12), EndPass())]
    state = told(world_of(max_in_flight=2), *arrive, BeginPass(), FAILS, EndPass(), *steps)
    # One of those that share it has left, and with it who has computed the block behind.
    assert not do(state, Finish("r1"), Settle())
    assert state.misled == {"r0", "r2"}
    assert not do(state, Evict(state.to_evict), Finish("r0"), Preempt("r2", False))
    assert len(keyed(state)) == 1
    assert not do(state, Settle(), Settle(), BeginPass(), Admit("r2", 12), EndPass())


def test_a_load_whose_request_has_left_is_judged_all_the_same() -> None:
    world = world_of(max_in_flight=1)
    state = told(world, Submit("r0", 0), Submit("r1", 1), BeginPass(), FAILS, EndPass(), Finish("r0"))
    assert not do(state, BeginPass(), Admit("r1", 12), EndPass(), Settle())
    assert state.misled == {"r1"} and state.to_evict
    assert not do(state, Evict(state.to_evict), Preempt("r1", False))
    assert len(keyed(state)) == 1


def test_a_load_behind_the_steps_has_to_end_first() -> None:
    world = world_of(max_in_flight=1)
    state = told(world, Submit("r0", 0), Submit("r2", 2), BeginPass(), FAILS, EndPass())
    assert not do(state, BeginPass(), Admit("r2", 12, available=8, asynchronous=True), EndPass(), Settle())
    assert state.misled == {"r0", "r2"}
    apply_move(state, Evict(state.to_evict))
    assert Loaded("r2", 0) in enabled_moves(state, ())
    assert not any(isinstance(m, (Preempt, Finish)) and m.request == "r2" for m in enabled_moves(state, ()))
    assert not do(state, Loaded("r2", 0), Preempt("r0", False))
    assert not state.misled


@pytest.mark.parametrize("forgotten", ["keys", "r0", "r1"])
def test_what_is_not_taken_back_is_seen(forgotten: str) -> None:
    state = told(world_of(), *SHARED, EndPass())
    if forgotten == "keys":
        state.to_evict = ()
    else:
        apply_move(state, Evict(state.to_evict))
        state.misled -= {forgotten}
    *_, found = [apply_move(state, Preempt(request, False))[1] for request in sorted(state.misled)]
    assert {breach.clause for breach in found} == {worker.INVALID_LOADS}
    if forgotten == "r1":
        later = do(state, BeginPass(), Schedule("r1", 12), EndPass())
        assert {breach.clause for breach in later} == {worker.READS_ITS_PREFIX}


def test_states_that_follow_from_a_load_are_taken_back_with_their_copies() -> None:
    world = world_of(Group("full", 4), Group("mamba", 4), max_in_flight=1)
    load = Admit("r0", 12, available=4, valid=0)
    state = told(world, Submit("r0", 0), BeginPass(), load, EndPass(), BeginPass())
    assert not do(state, Schedule("r0", 12), EndPass(), Settle())
    assert state.misled == {"r0"}
    assert not do(state, Evict(state.to_evict))
    assert not keyed(state)


Tables = dict[Holder, tuple[tuple[int, ...], ...]]


def found(sizes: Sequence[int], tables: Tables, copies: Sequence[tuple[int, int]], right: int) -> set[object]:
    """The blocks and the holders that a load of the holder "fails" has spoilt, in one set."""
    blocks, holders = spoilt(sizes, tables, copies, {"fails": right})
    return {*blocks, *(f"{holder}" for holder in holders)}


def test_spoilt_blocks_are_followed_through_tables_and_copies() -> None:
    tables: Tables = {
        "fails": ((1, 2, 3),),
        "shares": ((1, 2, 4, 5),),
        0: ((1, 6, 7),),
        "apart": ((1, 8, 0),),
    }
    assert found((4,), tables, [], 8) == {3, "fails"}
    assert found((4,), tables, [], 4) == {2, 3, 4, 5, "fails", "shares"}
    assert found((4,), tables, [(5, 6)], 4) == {2, 3, 4, 5, 6, 7, "fails", "shares", "0"}
    assert found((4,), tables, [(7, 8), (5, 6)], 4) == {*range(2, 9), *map(str, tables)}
    # Groups of other sizes: what lies behind the first spoilt position.
    hybrid: Tables = {"fails": ((1, 2), (3, 4, 5, 6)), "shares": ((7, 8), (9, 10, 5, 11))}
    assert found((4, 2), hybrid, [], 4) == {2, 5, 6, 8, 11, "fails", "shares"}
