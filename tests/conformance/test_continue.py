"""A request that goes on with more prompt: when it can, what is told, and what a manager can do wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from pagedkv.conformance.loop import LoopState, apply_move, is_enabled
from pagedkv.conformance.standard import StandardInstance
from pagedkv.conformance.subjects import OwnRequests, make_reference, standard_arguments
from pagedkv.conformance.wording import step_in_words
from pagedkv.invariants.breach import Breach
from pagedkv.reference import KVCacheManager
from pagedkv.spec import BlockHash, Request, World
from pagedkv.spec.clauses import worker
from pagedkv.spec.life import Continued
from pagedkv.spec.moves import Admit, BeginPass, Continue, EndPass, Finish, Move, Schedule, Submit
from pagedkv.spec.outcomes import Allocated, Nothing
from pagedkv.spec.world import Group, Prompt

TOKENS = (1, 2, 3, 4, 5, 6)
WORLD = World(
    (Group("full", 1),),
    6,
    1,
    (
        Prompt(TOKENS, 2),
        Prompt((1, 2, 9, 8, 7), 4),
        Prompt((1, 2, 3), 2),
        Prompt((1, 8, 9), 3),
        Prompt((1, 2, 9), 3, salt="a"),
    ),
    2,
    12,
)
FIRST_TURN: tuple[Move, ...] = (Submit("r0", 0), BeginPass(), Admit("r0", 12), EndPass())


def play(state: LoopState, moves: Sequence[Move]) -> list[Breach]:
    """What the worker finds wrong in the moves."""
    breaches = []
    for move in moves:
        assert is_enabled(state, move), move
        breaches += apply_move(state, move)[1]
    return breaches


def test_the_life_goes_on_with_the_other_prompt() -> None:
    state = LoopState.start(WORLD, make_reference(WORLD))
    assert play(state, [*FIRST_TURN, Continue("r0", 1)]) == []
    life = state.lives["r0"]
    assert (life.prompt, life.num_tokens, life.computed, life.is_running) == (1, 4, 2, True)
    assert life.continued == Continued(before=0, computed=2)
    assert play(state, [BeginPass(), Schedule("r0", 12), EndPass(), Finish("r0")]) == []
    # What it left behind is found by a fresh request for the longer prompt.
    play(state, [Submit("r1", 1), BeginPass()])
    outcome, _ = apply_move(state, Admit("r1", 12))
    assert isinstance(outcome, Allocated) and outcome.found and outcome.found.hit == 3


@pytest.mark.parametrize(
    ("moves", "prompt"),
    [
        (FIRST_TURN[:1], 1),
        (FIRST_TURN[:3], 1),
        ((*FIRST_TURN, BeginPass()), 1),
        (FIRST_TURN, 2),
        (FIRST_TURN, 3),
        (FIRST_TURN, 4),
        (FIRST_TURN, 5),
        ((*FIRST_TURN, BeginPass(), Schedule("r0", 12), EndPass()), 1),
        ((*FIRST_TURN, Continue("r0", 1)), 1),
    ],
    ids=[
        "waiting",
        "scheduled",
        "in a pass",
        "no longer prompt",
        "other tokens",
        "another salt",
        "no prompt",
        "its next token is computed",
        "no output",
    ],
)
def test_a_request_cannot_go_on(moves: tuple[Move, ...], prompt: int) -> None:
    state = LoopState.start(WORLD, make_reference(WORLD))
    play(state, moves)
    assert not is_enabled(state, Continue("r0", prompt))


def test_it_is_told_in_words() -> None:
    assert (
        step_in_words(Continue("r0", 1), Nothing(), False) == "r0 goes on with p1 in place of its last token"
    )


class Remembers(KVCacheManager):
    """Goes on with the hashes that it saw first."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.seen: list[BlockHash] = []

    def allocate_slots(self, request: Request, *args: Any, **kwargs: Any) -> Any:
        if request.request_id == "r0":
            self.seen += request.block_hashes[len(self.seen) :]
            request.block_hashes[:] = self.seen
        return super().allocate_slots(request, *args, **kwargs)


@pytest.mark.parametrize(("manager_type", "is_seen"), [(KVCacheManager, False), (Remembers, True)])
def test_the_worker_sees_a_key_of_a_replaced_token(manager_type: type[KVCacheManager], is_seen: bool) -> None:
    """r1 fills the pool, so that a call of r0 sees the token after its prompt and cannot be served."""
    manager = manager_type(WORLD.kv_cache_config(), **standard_arguments(WORLD))
    instance = StandardInstance(WORLD, manager, OwnRequests(WORLD), KVCacheManager.snapshot)
    state = LoopState.start(WORLD, instance)
    moves: list[Move] = [
        *FIRST_TURN,
        *(Submit("r1", 3), BeginPass(), Admit("r1", 12, "none"), Schedule("r0", 1), EndPass()),
        *(Continue("r0", 1), Finish("r1"), BeginPass(), Schedule("r0", 12)),
    ]
    assert play(state, moves) == []
    breaches = play(state, [EndPass()])
    assert [breach.clause for breach in breaches] == [worker.KEYS_TELL_THE_TRUTH] * is_seen
