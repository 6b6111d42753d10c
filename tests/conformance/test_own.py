"""What a manager with the least interface may answer, and how it is told what it may not."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from examples.own_manager import OwnManager
from pagedkv.conformance.judge import Bout
from pagedkv.conformance.own import subject_of_factory
from pagedkv.conformance.subjects import Subject, SubjectUnavailable
from pagedkv.invariants.breach import Breach
from pagedkv.spec import Request, World
from pagedkv.spec.moves import Admit, BeginPass, EndPass, Submit
from pagedkv.spec.world import Group, Prompt

WORLD = World((Group("full", 2),), 6, 2, (Prompt((7, 8, 9), 3),), 1, 4)


def answering(method: str, answer: Callable[[World], Any]) -> Subject:
    """A subject that answers one method otherwise."""

    class Other(OwnManager):
        def __init__(self, world: World) -> None:
            super().__init__(world)
            setattr(self, method, lambda *_: answer(world))

    return subject_of_factory("other:make", Other)


def breach_of(subject: Subject) -> Breach:
    """What it breaks when the first request is admitted."""
    bout = Bout(WORLD, subject)
    assert [*bout.play(Submit("r0", 0)), *bout.play(BeginPass())] == []
    (breach,) = bout.play(Admit("r0", 4))
    return breach


PAIR = "it has to be the number of tokens cached and the blocks per group, (0, [[]]) for none"
ROWS = "as blocks: it has to be a row of ids from 0 to 5 for each group of full"

NO_PAIRS: tuple[Any, ...] = (None, 0, (), (0,), (0, [[]], 0), ([[]], 0), (True, [[]]), (None, [[]]))
NO_ROWS: tuple[Any, ...] = (
    *(2, True, "1", [], [1], [1, 2], [None], [[], 1]),
    *([[], []], [[1], [2]], [[6]], [[-1]], [[True]], [["1"]]),
)


@pytest.mark.parametrize(
    ("method", "answer", "clause", "because"),
    [
        *(
            ("lookup", answer, "Hit/blocks_cover_it", f"lookup answered {answer!r}: {PAIR}")
            for answer in NO_PAIRS
        ),
        ("lookup", (3, [[1, 2]]), "Hit/leaves_a_token", "a hit of 3 for a request of 3 tokens"),
        ("lookup", (-1, [[]]), "Hit/leaves_a_token", "a hit of -1 for a request of 3 tokens"),
        *(
            ("lookup", (0, blocks), "Hit/blocks_cover_it", f"lookup answered {blocks!r} {ROWS}")
            for blocks in (None, *NO_ROWS)
        ),
        *(
            ("allocate", blocks, "Allocate/answers_new_entries", f"allocate answered {blocks!r} {ROWS}")
            for blocks in NO_ROWS
        ),
    ],
)
def test_what_is_no_answer_is_told_with_what_it_has_to_be(
    method: str, answer: Any, clause: str, because: str
) -> None:
    breach = breach_of(answering(method, lambda world: answer))
    assert breach.clause.id == clause
    assert breach.because.startswith("raised PreconditionError: ")
    assert breach.because.endswith(because)


NO_COPIES: tuple[Any, ...] = (
    *(None, 3),
    *([1], [(1,)], [(1, 2, 3)], [(1, 6)], [(-1, 2)], ["12"], [(1, None)]),
)
COPIES = "copies answered {!r}: it has to be (source, destination) for each copy, as ids from 0 to 5"
EVENTS = "events answered {!r}: it has to be what was announced since it was asked last"


@pytest.mark.parametrize(
    ("method", "answer", "clause", "because"),
    [
        *(("copies", answer, "Copy/drained_in_order", COPIES) for answer in NO_COPIES),
        *(("events", answer, "Events/taken_once", EVENTS) for answer in NO_COPIES[:2]),
    ],
)
def test_what_is_told_at_the_end_of_a_pass_is_told_in_its_form(
    method: str, answer: Any, clause: str, because: str
) -> None:
    bout = Bout(replace(WORLD, events=True), answering(method, lambda world: answer))
    moves = (Submit("r0", 0), BeginPass(), Admit("r0", 4), EndPass())
    breach = next(breach for move in moves for breach in bout.play(move))
    assert breach.clause.id == clause
    assert breach.because == f"raised PreconditionError: {clause}: {because.format(answer)}"


@pytest.mark.parametrize("answer", [None, {}])
def test_a_state_has_the_form_of_states(answer: object) -> None:
    told = f"snapshot answered a {type(answer).__name__}: it has to be a pagedkv.spec.Snapshot"
    with pytest.raises(SubjectUnavailable, match=re.escape(told)):
        Bout(WORLD, answering("snapshot", lambda world: answer))


def test_a_factory_says_which_mixes_it_manages() -> None:
    class Hybrid(OwnManager):
        groups = ("full", "full+mamba")

    assert subject_of_factory("own:make", OwnManager).mixes == ("full",)
    assert subject_of_factory("own:make", Hybrid).mixes == ("full", "full+mamba")


def test_rows_may_be_anything_that_can_be_gone_through_once() -> None:
    class Lazy(OwnManager):
        def allocate(self, request: Request, num_new_tokens: int) -> Any:
            return map(iter, super().allocate(request, num_new_tokens) or ())

    bout = Bout(WORLD, subject_of_factory("lazy:make", Lazy))
    assert [b for move in (Submit("r0", 0), BeginPass(), Admit("r0", 4)) for b in bout.play(move)] == []
