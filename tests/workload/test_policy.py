"""The policy only chooses what the loop allows, serves everybody, and gives way as it says."""

from collections.abc import Callable, Sequence

import pytest

from pagedkv.conformance.enabled import is_enabled
from pagedkv.conformance.loop import LoopState, apply_move
from pagedkv.conformance.scheduling.service import Service
from pagedkv.conformance.subjects import make_reference
from pagedkv.conformance.workload.arrivals import serve_all
from pagedkv.spec import World
from pagedkv.spec.moves import Admit, BeginPass, EndPass, Finish, Move, Preempt, Schedule, Submit
from pagedkv.spec.outcomes import Allocated, Outcome

from .build import asking, made, world


def played(
    made_for: World,
    arrivals: Sequence[float] | None = None,
    max_running: int = 64,
    see: Callable[[LoopState], None] = lambda state: None,
) -> tuple[list[tuple[Move, Outcome]], LoopState]:
    """The moves of a run on the reference, each allowed by the state it was chosen in, and its end.

    ``see`` is shown the state after each.
    """
    state = LoopState.start(made_for, make_reference(made_for), has_worker=False)
    moves: list[tuple[Move, Outcome]] = []

    def play(move: Move) -> Outcome:
        assert is_enabled(state, move), move
        outcome, _ = apply_move(state, move)
        moves.append((move, outcome))
        see(state)
        return outcome

    serve_all(Service(state, play, max_running), len(made_for.prompts), arrivals, max_running)
    return moves, state


def times(requests: Sequence[object]) -> list[float]:
    """When they arrive."""
    return [request.timestamp for request in requests]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("groups", "blocks", "unit", "budget"),
    [
        ("full:512", 400, 512, 8192),
        ("full:128", 90, 64, 1000),
        ("full:256,mamba:512", 45, 64, 2048),
        ("full:64,full:128,mamba:256", 180, 64, 700),
        ("mamba:512", 16, 512, 512),
    ],
)
@pytest.mark.parametrize("is_closed", [False, True])
def test_every_move_is_allowed_and_everybody_is_served(
    groups: str, blocks: int, unit: int, budget: int, is_closed: bool
) -> None:
    requests = made(25)
    small = world(requests, groups, blocks, unit, budget)
    most = 0

    def see(state: LoopState) -> None:
        nonlocal most
        most = max(most, sum(life.is_running for life in state.lives.values()))

    moves, state = played(small, None if is_closed else times(requests), 6, see)
    assert 2 <= most <= 6
    ended = [move.request for move, _ in moves if isinstance(move, Finish)]
    assert sorted(ended, key=lambda name: int(name[1:])) == [f"r{i}" for i in range(25)]
    assert not state.lives
    assert state.instance.num_free_blocks() == blocks - 1


def test_all_of_the_output_is_made_and_no_more() -> None:
    requests = (asking(700, 1, 1, 2), asking(100, 5, 3), asking(257, 0, 4))
    tokens = {f"r{i}": 0 for i in range(3)}
    for move, outcome in played(world(requests, "full:128,mamba:256", 60, 64, 256))[0]:
        if isinstance(move, (Admit, Schedule)) and isinstance(outcome, Allocated):
            tokens[move.request] += outcome.num_new_tokens
    # Whoever has the last token does not compute it.
    assert tokens == {"r0": 700, "r1": 100 + 4, "r2": 257}


def test_requests_arrive_at_their_time_and_idle_time_is_skipped() -> None:
    requests = tuple(asking(100, 3, i, timestamp=t, line=i) for i, t in enumerate((0, 60, 10_000, 10_010)))
    passes, arrived = 0, {}
    for move, _ in played(world(requests), times(requests))[0]:
        passes += isinstance(move, EndPass)
        if isinstance(move, Submit):
            arrived[move.request] = passes
    # r0 has three passes, at 0, 50 and 100 ms; r1 comes for the third and has two more.
    assert arrived == {"r0": 0, "r1": 2, "r2": 5, "r3": 6}
    assert passes == 9


def test_in_a_closed_loop_the_next_arrives_when_one_has_ended() -> None:
    there: set[str] = set()
    most = 0
    for move, _ in played(world(made(20)), None, max_running=2)[0]:
        if isinstance(move, Submit):
            there.add(move.request)
        if isinstance(move, Finish):
            there.remove(move.request)
        most = max(most, len(there))
    assert most == 2


def test_first_come_first_served_and_nobody_overtakes_one_that_does_not_fit() -> None:
    requests = (asking(1000, 60, 1, 2), asking(2000, 2, 3, 4, 5, 6), asking(10, 2, 7))
    admitted = [
        move.request
        for move, outcome in played(world(requests, "full:256", 10, 256))[0]
        if isinstance(move, Admit) and isinstance(outcome, Allocated) and outcome.rows is not None
    ]
    assert admitted == ["r0", "r1", "r2"]


def test_the_latest_gives_way_and_is_the_first_to_come_back() -> None:
    # There are places for three, and the fourth waits.
    requests = (asking(200, 100, 1), asking(200, 100, 2), asking(200, 100, 3), asking(10, 1, 4))
    moves = [move for move, _ in played(world(requests, "full:16", 46, 16), times(requests), 3)[0]]
    preempted = [move.request for move in moves if isinstance(move, Preempt)]
    assert preempted[0] == "r2"
    after = moves[next(i for i, move in enumerate(moves) if isinstance(move, Preempt)) :]
    # No admission in the pass that was short of slots.
    until = after[: after.index(EndPass())]
    assert not [move for move in until if isinstance(move, Admit)]
    come_back = [move.request for move in after if isinstance(move, Admit)]
    assert come_back[0] == "r2"


def test_one_whose_hit_and_copy_do_not_fit_is_admitted_without_a_hit() -> None:
    # The whole pool is needed, and the hit ends inside a block of each group.
    requests = (asking(1000, 2, 1, 2), asking(1000, 2, 1, 2))
    lookups = [
        (move.lookup, outcome.rows is not None)
        for move, outcome in played(world(requests, "full:512,full:512,mamba:512", 8, 64), None, 1)[0]
        if isinstance(move, Admit) and isinstance(outcome, Allocated)
    ]
    assert lookups == [("common", True), ("common", False), ("none", True)]


def test_a_pass_stays_within_its_budget_and_spends_it_in_order() -> None:
    requests = made(10)
    budget, spent = 600, 0
    for move, outcome in played(world(requests, "full:64", 1000, 64, budget))[0]:
        if isinstance(move, BeginPass):
            spent = 0
        if isinstance(outcome, Allocated):
            spent += outcome.num_new_tokens
        assert spent <= budget
