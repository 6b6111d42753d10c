"""The Hypothesis machine: quiet on the reference, and its failures can be kept."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from pagedkv.conformance.campaign.smallest import smallest
from pagedkv.conformance.driver import WEIGHTS
from pagedkv.conformance.faults.catalogue import all_faults
from pagedkv.conformance.faults.subject import faulty_subject
from pagedkv.conformance.machine import LifeMachine, machine_for
from pagedkv.conformance.replay import replay_trace, trace_of_run
from pagedkv.conformance.subjects import Subject, reference
from pagedkv.spec.moves import Move
from pagedkv.spec.trace import read_trace, write_trace

# Lives are made small by the harness: it knows which moves depend on which.
FEW = settings(
    derandomize=True,
    max_examples=60,
    stateful_step_count=40,
    phases=[Phase.generate],
    deadline=None,
    database=None,
)


def counted(subject: Subject, played: list[type[Move]]) -> type[LifeMachine]:
    """A machine that tells which kinds of moves it plays."""

    class Counted(machine_for(subject)):  # type: ignore[misc]
        def play(self, move: Move) -> None:
            played.append(type(move))
            super().play(move)

    return Counted


def test_it_plays_every_kind_of_move_and_finds_nothing_on_the_reference() -> None:
    played: list[type[Move]] = []
    machine = counted(reference(), played)
    machine.mixes = ("full",)
    run_state_machine_as_test(machine, settings=settings(FEW, max_examples=250, stateful_step_count=60))
    assert set(played) == set(WEIGHTS)
    assert machine.failed is None


def test_it_plays_in_the_mixes_it_is_given_and_leaves_out_what_the_subject_lacks() -> None:
    mixes: list[Sequence[str]] = []
    made = reference().make

    def make(world: Any) -> Any:
        mixes.append([group.kind for group in world.groups])
        return made(world)

    played: list[type[Move]] = []
    subject = replace(reference(), make=make, missing={"evict": "no such method"})
    machine = counted(subject, played)
    machine.mixes = ("mamba",)
    run_state_machine_as_test(machine, settings=settings(FEW, max_examples=10))
    assert mixes
    assert all(mix == ["mamba"] for mix in mixes)
    assert "Evict" not in {kind.__name__ for kind in played}
    assert "Reset" in {kind.__name__ for kind in played}


def test_a_planted_fault_is_found_and_its_trace_plays_again(tmp_path: Path) -> None:
    fault = next(fault for fault in all_faults() if fault.name == "touched-block-stays-queued")
    with faulty_subject(fault) as subject:
        machine = machine_for(subject, ("full",))
        with pytest.raises(AssertionError, match=r"^Pool/queued_when_unheld: the queue is "):
            run_state_machine_as_test(machine, settings=settings(FEW, max_examples=400))
        failed = machine.failed
        assert failed is not None
        small = smallest(failed, subject)
        assert len(small.moves) < len(failed.moves)
        write_trace(tmp_path / "t.jsonl", trace_of_run(small, subject, 0, 0))
        *_, last = replay_trace(read_trace(tmp_path / "t.jsonl"), subject)
    assert [breach.clause.id for breach in last.breaches][:1] == ["Pool/queued_when_unheld"]
    assert machine_for(subject).failed is None
