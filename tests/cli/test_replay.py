"""`pagedkv replay`: a trace is data, and it is played on what the user names."""

from dataclasses import replace
from pathlib import Path

import pytest

from pagedkv.conformance.campaign.runs import replay_moves
from pagedkv.conformance.replay import trace_of_run
from pagedkv.conformance.subjects import reference
from pagedkv.spec.moves import Admit, BeginPass, EndPass, Evict, Finish, Move, Submit
from pagedkv.spec.trace import Trace, TracedSubject, write_trace
from pagedkv.spec.world import Group, Prompt, World

from .conftest import Command

WORLD = World((Group("full", 1),), 4, 1, (Prompt((0, 1), 1), Prompt((1, 0), 1)), 1, 2)
LIFE: tuple[Move, ...] = (Submit("r0", 0), BeginPass(), Admit("r0", 2), EndPass())


def trace_on(name: str, *further: Move) -> Trace:
    """A trace of the reference that tells of another subject."""
    trace = trace_of_run(replay_moves(reference(), WORLD, (*LIFE, *further)), reference(), 0, 0)
    return replace(trace, subject=TracedSubject(name, "1"))


def test_a_trace_of_a_built_in_subject_is_played_on_it(command: Command, folder: Path) -> None:
    write_trace(folder / "t.jsonl", trace_on("reference"))
    result = command("replay", "t.jsonl")
    assert result.exit_code == 0
    assert "No clause broke on reference." in result.output
    assert "  3. admit r0 for 1 token: hit 0, got [[1]]" in result.output


def test_a_trace_never_causes_an_import(command: Command, folder: Path) -> None:
    (folder / "evil.py").write_text("open('imported', 'w')\n")
    write_trace(folder / "t.jsonl", trace_on("evil:make"))
    result = command("replay", "t.jsonl")
    assert result.exit_code == 2
    assert "name what to play it on with --on SUBJECT" in result.output
    assert not (folder / "imported").exists()
    assert command("replay", "t.jsonl", "--on", "reference").exit_code == 0
    assert not (folder / "imported").exists()


def test_a_clause_that_breaks_ends_it_with_1(command: Command, folder: Path) -> None:
    (folder / "twice.py").write_text(
        "from examples.own_manager import OwnManager\n"
        "class make(OwnManager):\n    def _take(self):\n        return self.queue[0]\n"
    )
    write_trace(folder / "t.jsonl", trace_on("twice:make", Finish("r0"), *LIFE[:2], Admit("r0", 2)))
    told = command("replay", "t.jsonl", "--on", "twice:make")
    assert told.exit_code == 0
    two = replace(WORLD, max_requests=2, max_step_tokens=4)
    moves = (Submit("r0", 0), Submit("r1", 1), BeginPass(), Admit("r0", 2), Admit("r1", 2), EndPass())
    write_trace(folder / "u.jsonl", trace_of_run(replay_moves(reference(), two, moves), reference(), 0, 0))
    told = command("replay", "u.jsonl", "--on", "twice:make")
    assert told.exit_code == 1
    assert told.output.startswith("Worker/reads_its_prefix is broken by end_pass with full\n")


def test_a_move_that_the_subject_does_not_have_ends_it_with_2(command: Command, folder: Path) -> None:
    write_trace(folder / "t.jsonl", trace_on("reference", Evict((1,))))
    result = command("replay", "t.jsonl", "--on", "examples.own_manager:make")
    assert result.exit_code == 2
    assert "Step 5 cannot be played on examples.own_manager:make: " in result.output
    assert "its manager has no method `evict`" in result.output


@pytest.mark.parametrize("name", ["nobody", "nowhere:make"])
def test_a_subject_that_is_not_there_ends_it_with_2(command: Command, folder: Path, name: str) -> None:
    write_trace(folder / "t.jsonl", trace_on("reference"))
    result = command("replay", "t.jsonl", "--on", name)
    assert result.exit_code == 2
    assert result.output.startswith("pagedkv: ")
