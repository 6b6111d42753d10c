"""A life that shows a fault is made small in every respect."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from pagedkv.conformance.campaign.expectations import Avoided
from pagedkv.conformance.campaign.minimise import is_same, minimise
from pagedkv.conformance.campaign.runs import Run, random_run, replay_moves
from pagedkv.conformance.campaign.smallest import smallest
from pagedkv.conformance.faults.catalogue import all_faults
from pagedkv.conformance.faults.subject import faulty_subject
from pagedkv.conformance.instance import Instance
from pagedkv.conformance.subjects import Subject, SubjectUnavailable
from pagedkv.spec import World
from pagedkv.spec.moves import EndPass, Submit


@pytest.fixture(scope="module")
def subject() -> Iterator[Subject]:
    fault = next(fault for fault in all_faults() if fault.name == "touched-block-stays-queued")
    with faulty_subject(fault) as faulty:
        yield faulty


@pytest.fixture(scope="module")
def run(subject: Subject) -> Run:
    """A life that was found by chance, in a world with prompts that it does not need, and with options."""
    runs = (random_run(subject, 0, number, ("full",), Avoided(frozenset())) for number in range(100))
    found = next(run for run in runs if run.breaches and len(run.world.prompts) > 1)
    moves = [EndPass(release_first=True) if isinstance(move, EndPass) else move for move in found.moves]
    spare = replace(found.world.prompts[0], salt="nobody's")
    played = replay_moves(subject, replace(found.world, prompts=(*found.world.prompts, spare)), moves)
    assert is_same(played, found)
    return played


def test_it_shows_the_same_fault_in_fewer_moves_and_blocks(subject: Subject, run: Run) -> None:
    small = smallest(run, subject)
    assert is_same(small, run)
    alone = minimise(run, lambda moves: replay_moves(subject, run.world, moves))
    assert len(small.moves) <= len(alone.moves) < len(run.moves)
    assert small.world.num_blocks < run.world.num_blocks
    again = replay_moves(subject, small.world, small.moves)
    assert (again.moves, again.outcomes, again.breaches) == (small.moves, small.outcomes, small.breaches)


def test_it_has_only_the_prompts_of_its_requests(subject: Subject, run: Run) -> None:
    small = smallest(run, subject)
    used = {move.prompt for move in small.moves if isinstance(move, Submit)}
    assert used == set(range(len(small.world.prompts)))
    assert len(small.world.prompts) < len(run.world.prompts)


def test_options_that_do_not_matter_are_left_at_their_defaults(subject: Subject, run: Run) -> None:
    ends = [move for move in smallest(run, subject).moves if isinstance(move, EndPass)]
    assert ends
    assert not any(move.release_first for move in ends)


@pytest.mark.parametrize("says", ["refuses", "raises"])
def test_worlds_that_are_not_for_the_subject_are_not_tried(subject: Subject, run: Run, says: str) -> None:
    def is_small(world: World) -> bool:
        return world.num_blocks < run.world.num_blocks

    def make(world: World) -> Instance:
        if is_small(world):
            raise SubjectUnavailable("too small")
        return subject.make(world)

    picky = (
        replace(subject, refuses=lambda world: "too small" if is_small(world) else None)
        if says == "refuses"
        else replace(subject, make=make)
    )
    small = smallest(run, picky)
    assert is_same(small, run)
    assert small.world.num_blocks == run.world.num_blocks
