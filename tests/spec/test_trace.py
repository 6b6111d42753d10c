"""What is written is read back, whatever the move and the answer."""

import json
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagedkv.conformance.worlds import random_world
from pagedkv.spec import SPEC_VERSION
from pagedkv.spec.moves import (
    Admit,
    BeginPass,
    CommonPrefix,
    Continue,
    EndPass,
    Evict,
    Finish,
    Move,
    Preempt,
    Reset,
    Schedule,
    Submit,
    Truncate,
)
from pagedkv.spec.outcomes import (
    Allocated,
    Answered,
    Found,
    Nothing,
    Outcome,
    Raised,
    Stepped,
    Viewed,
    Waits,
)
from pagedkv.spec.snapshot import HandOffName
from pagedkv.spec.trace import (
    BadContent,
    BadTrace,
    Step,
    Trace,
    move_from_json,
    move_to_json,
    outcome_from_json,
    outcome_to_json,
    read_trace,
    world_from_json,
    world_to_json,
    write_trace,
)

from .trace_samples import MOVES, OUTCOMES, TRACE

names = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)
counts = st.integers(0, 1_000_000)
answers = st.integers(-(2**63), 2**63 - 1)
rows = st.lists(st.lists(answers, max_size=3).map(tuple), max_size=3).map(tuple)
found = st.builds(Found, answers, rows, answers, st.booleans())
hand_offs = st.builds(HandOffName, names, answers, answers, answers)

moves = st.one_of(
    st.builds(Submit, names, st.integers(0, 63)),
    st.builds(Continue, names, st.integers(0, 63)),
    st.builds(BeginPass),
    st.builds(Admit, names, counts, st.sampled_from(["common", "divergent", "none"])),
    st.builds(Schedule, names, counts),
    st.builds(Preempt, names, st.booleans(), st.booleans()),
    st.builds(Finish, names, st.booleans()),
    st.builds(EndPass, st.booleans()),
    st.builds(Evict, st.lists(counts, max_size=3).map(tuple)),
    st.builds(Reset),
    st.builds(Truncate, names, counts),
    st.builds(CommonPrefix, names),
)
outcomes = st.one_of(
    st.builds(Nothing),
    found,
    st.builds(Allocated, answers, st.none() | rows, st.none() | found),
    st.builds(Waits, st.none() | found),
    st.builds(
        Stepped,
        st.lists(st.tuples(answers, answers), max_size=3).map(tuple),
        st.lists(hand_offs, max_size=3).map(tuple),
    ),
    st.builds(Answered, st.booleans() | st.lists(answers, max_size=3).map(tuple)),
    st.builds(Viewed, found, st.none() | rows),
    st.builds(Raised, names, st.text(st.characters(exclude_categories=["Cs"]))),
)


def test_the_samples_have_every_kind() -> None:
    assert {type(move) for move in MOVES} == set(get_args(Move))
    assert {type(outcome) for outcome in OUTCOMES} == {*get_args(Outcome), type(None)}


@given(moves)
def test_every_move_comes_back(move: Move) -> None:
    assert move_from_json(json.loads(json.dumps(move_to_json(move)))) == move


@given(outcomes)
def test_every_outcome_comes_back(outcome: Outcome) -> None:
    read = outcome_from_json(json.loads(json.dumps(outcome_to_json(outcome))))
    assert read == outcome
    # True == 1, and an answer may be either.
    assert repr(read) == repr(outcome)


@pytest.mark.parametrize("seed", range(30))
def test_every_world_comes_back(seed: int) -> None:
    world = random_world(Random(seed))
    assert world_from_json(json.loads(json.dumps(world_to_json(world)))) == world


def test_a_world_that_no_manager_can_be_made_for_does_not_come_back() -> None:
    content = world_to_json(replace(TRACE.world, unit=3))
    with pytest.raises(BadContent, match="`world` is contradictory, and it has to be one whose unit divides"):
        world_from_json(content)


def test_a_trace_comes_back_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write_trace(path, TRACE)
    assert read_trace(path) == TRACE
    assert [file.name for file in tmp_path.iterdir()] == ["a.jsonl"]


def test_a_trace_is_ascii_lines_with_their_kinds_and_numbers(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write_trace(path, TRACE)
    header, *steps = [json.loads(line) for line in path.read_text(encoding="ascii").split("\n")[:-1]]
    assert (header["format"], header["format_version"]) == ("pagedkv-trace", 1)
    assert (header["spec_version"], header["steps"]) == (SPEC_VERSION, len(MOVES))
    assert [step["step"] for step in steps] == [*range(1, len(MOVES) + 1)]
    kinds = {step["move"]["kind"]: type(move) for step, move in zip(steps, MOVES, strict=True)}
    assert {
        kind: kinds[kind] for kind in ("begin_pass", "end_pass", "evict", "truncate", "common_prefix")
    } == {
        "begin_pass": BeginPass,
        "end_pass": EndPass,
        "evict": Evict,
        "truncate": Truncate,
        "common_prefix": CommonPrefix,
    }
    assert set(kinds.values()) == {type(move) for move in MOVES}
    assert ["lawful" in step for step in steps].count(True) == 1


class Number:
    """Not an int, but a whole number, like those of arrays."""

    def __index__(self) -> int:
        return 4


def test_a_whole_number_of_another_kind_is_written_as_one(tmp_path: Path) -> None:
    step = Step(BeginPass(), Found(Number(), ()))  # type: ignore[arg-type]
    write_trace(tmp_path / "a.jsonl", replace(TRACE, steps=(step,)))
    assert read_trace(tmp_path / "a.jsonl").steps[0].outcome == Found(4, ())


@pytest.mark.parametrize(
    ("broken", "line", "reason"),
    [
        (replace(TRACE, world=replace(TRACE.world, num_blocks=0)), 1, "num_blocks"),
        (replace(TRACE, world=replace(TRACE.world, unit=3)), 1, "unit divides every block_size"),
        (replace(TRACE, steps=()), 1, "steps"),
        (replace(TRACE, steps=(Step(Submit("r0", -1), None),)), 2, "line.move.prompt` is -1"),
        (
            replace(TRACE, steps=(Step(BeginPass(), Found(4.0, ())),)),  # type: ignore[arg-type]
            2,
            "cannot be written: `hit` is a float",
        ),
        (
            replace(TRACE, steps=(Step(BeginPass(), Raised("x", "\ud800")),)),
            2,
            "surrogates",
        ),
    ],
)
def test_what_could_not_be_read_is_not_written(tmp_path: Path, broken: Trace, line: int, reason: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("kept")
    with pytest.raises(BadTrace, match=f"a.jsonl, line {line}: ") as refusal:
        write_trace(path, broken)
    assert reason in str(refusal.value)
    assert path.read_text() == "kept"
    assert [file.name for file in tmp_path.iterdir()] == ["a.jsonl"]


def test_a_trace_that_cannot_be_put_in_place_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").mkdir()
    with pytest.raises(OSError, match="directory"):
        write_trace(tmp_path / "a.jsonl", TRACE)
    assert [file.name for file in tmp_path.iterdir()] == ["a.jsonl"]
