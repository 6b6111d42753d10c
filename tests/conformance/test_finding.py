"""Traces worth keeping are found, shortened and written."""

from pathlib import Path

import pytest

from pagedkv.conformance import coverage
from pagedkv.conformance.campaign.runs import replay_moves
from pagedkv.conformance.subjects import reference
from pagedkv.spec import World
from pagedkv.spec.moves import BeginPass, EndPass, Move
from pagedkv.spec.trace import read_trace

from .finding import find_trace, keep_trace


def is_wanted(moves: list[Move], world: World) -> bool:
    """Whether moves show that keys were evicted by call, with a pass that ended."""
    run = replay_moves(reference(), world, moves)
    passes = [type(move) for move in run.moves if isinstance(move, (BeginPass, EndPass))]
    return run.shown[coverage.EVICT] > 0 and passes[-1:] == [EndPass]


def test_the_trace_found_shows_the_behaviour_and_no_move_can_be_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    trace = keep_trace(path, coverage.EVICT, runs=2)
    assert read_trace(path) == trace
    moves = [step.move for step in trace.steps]
    assert is_wanted(moves, trace.world)
    assert all(step.lawful == (step.outcome,) for step in trace.steps)
    for left_out in range(len(moves)):
        assert not is_wanted(moves[:left_out] + moves[left_out + 1 :], trace.world)


def test_what_no_run_shows_is_not_found() -> None:
    with pytest.raises(LookupError, match="none of 1 runs of seed 0 shows no such thing"):
        find_trace("no such thing", runs=1)
