"""The stored traces hold on the reference, answer by answer, and show what they are kept for."""

from pathlib import Path

import pytest

from pagedkv.conformance import coverage
from pagedkv.conformance.campaign.runs import replay_moves
from pagedkv.conformance.replay import Ending, ending_of, replay_trace
from pagedkv.conformance.subjects import reference
from pagedkv.spec.trace import read_trace

FOLDER = Path(__file__).parents[1] / "traces"
FINDINGS = Path(__file__).parents[2] / "findings"
PATHS = sorted(FOLDER.glob("*.jsonl"))

SCENARIOS = {
    "partial_hit_and_copy": (coverage.PARTIAL_HIT,),
    "owner_move_and_hand_off": (
        coverage.OWNER_MOVE,
        coverage.HAND_OFF_AFTER_RELEASE,
        coverage.PARTIAL_HIT,
    ),
    "withdrawal": (coverage.WITHDRAWN_KEYS, coverage.PARTIAL_HIT),
    "same_pass_wait": (coverage.DEFERRAL, coverage.PARTIAL_HIT),
    "eagle_unit_drop": (coverage.EAGLE_UNIT, coverage.PARTIAL_HIT),
}


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_stored_trace_holds_on_the_reference(path: Path) -> None:
    trace = read_trace(path)
    steps = list(replay_trace(trace, reference()))
    assert [step.obstacle for step in steps if step.obstacle] == []
    assert [str(breach) for breach in steps[-1].breaches] == []
    assert ending_of(trace, steps[-1]) is Ending.NO_BREACH
    assert len(steps) == len(trace.steps)


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_stored_scenario_still_shows_what_it_is_kept_for(name: str) -> None:
    trace = read_trace(FOLDER / f"{name}.jsonl")
    run = replay_moves(reference(), trace.world, [step.move for step in trace.steps])
    assert {behaviour: run.shown[behaviour] > 0 for behaviour in SCENARIOS[name]} == dict.fromkeys(
        SCENARIOS[name], True
    )
    assert all(step.lawful == (step.outcome,) for step in trace.steps)


def test_no_two_stored_traces_are_one_story() -> None:
    stories = [(trace.world, trace.steps) for trace in map(read_trace, PATHS)]
    assert len(set(stories)) == len(stories) >= len(SCENARIOS)


@pytest.mark.parametrize("path", sorted(FINDINGS.glob("*/*.jsonl")), ids=lambda path: path.stem)
def test_what_an_engine_did_wrong_the_reference_does_right(path: Path) -> None:
    trace = read_trace(path)
    assert trace.breach is not None
    steps = list(replay_trace(trace, reference()))
    assert [str(breach) for step in steps for breach in step.breaches] == []
