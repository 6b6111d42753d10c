"""Transitions of the reference, and changes to the states in them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pagedkv.conformance.loop import LoopState, apply_move
from pagedkv.conformance.subjects import make_reference
from pagedkv.conformance.telling import Telling
from pagedkv.invariants.edge import Edge
from pagedkv.invariants.law import Law
from pagedkv.invariants.laws import STATE_LAWS, check_transition
from pagedkv.invariants.shape import shape_of
from pagedkv.invariants.state import state_after
from pagedkv.invariants.view import Transition
from pagedkv.spec import Snapshot, World
from pagedkv.spec.moves import Admit, BeginPass, EndPass, Move, Schedule, Submit
from pagedkv.spec.outcomes import Allocated, Found, Viewed, Waits
from pagedkv.spec.snapshot import KeyName
from pagedkv.spec.world import Group, Prompt

TOKENS = (0, 1, 0, 0, 1, 1, 1, 0, 0, 1, 1, 0)

ATTENTION = World((Group("full", 2),), 8, 2, (Prompt(TOKENS, 5), Prompt(TOKENS, 9)), 2, 12)
"""One group of attention; the second prompt goes on from the first."""

HYBRID = World(
    (Group("full", 4), Group("mamba", 4)),
    16,
    2,
    (Prompt(TOKENS, 6), Prompt(TOKENS, 7), Prompt((1, *TOKENS), 6)),
    3,
    12,
)
"""Attention and states with hits that may end inside blocks; the first prompt ends inside one."""


@dataclass
class Story:
    """A life of the reference, told move by move."""

    world: World
    loop: LoopState
    pass_began: Snapshot[KeyName] | None = None

    def move(self, move: Move) -> Transition:
        """Do the move; answers the transition."""
        before = self._snapshot()
        telling = Telling(self.loop)
        if isinstance(move, BeginPass):
            self.pass_began = before
        outcome, _ = apply_move(self.loop, move)
        told = telling.transition(self.loop, before, self._snapshot(), move, outcome, self.pass_began)
        if isinstance(move, EndPass):
            self.pass_began = None
        return told

    def _snapshot(self) -> Snapshot[KeyName]:
        snapshot = self.loop.instance.snapshot()
        assert snapshot is not None
        return snapshot


def start(world: World) -> Story:
    """A story in which nothing has happened."""
    return Story(world, LoopState.start(world, make_reference(world)))


def last(world: World, *moves: Move) -> Transition:
    """The last of these moves."""
    story = start(world)
    return [story.move(move) for move in moves][-1]


def run(request: str, prompt: int, passes: int = 1, lookup: Any = "common") -> tuple[Move, ...]:
    """A request arrives and runs alone for so many passes."""
    moves: list[Move] = [Submit(request, prompt), BeginPass(), Admit(request, 12, lookup), EndPass()]
    for _ in range(passes - 1):
        moves += [BeginPass(), Schedule(request, 12), EndPass()]
    return tuple(moves)


def after(t: Transition, **parts: object) -> Transition:
    """The transition with these parts of the state after it replaced."""
    return replace(t, after=replace(t.after, **parts))  # type: ignore[arg-type]


def before(t: Transition, **parts: object) -> Transition:
    """The transition with these parts of the state before it replaced."""
    return replace(t, before=replace(t.before, **parts))  # type: ignore[arg-type]


def put(values: tuple[Any, ...], i: int, value: object) -> tuple[Any, ...]:
    """``values`` with another ``i``-th."""
    return (*values[:i], value, *values[i + 1 :])


def table(t: Transition, request: str, g: int, row: tuple[int, ...]) -> Mapping[str, Any]:
    """The tables after the transition, with another row."""
    return {**t.after.tables, request: put(t.after.tables[request], g, row)}


def objections(law: Law[Any], t: Transition) -> list[str]:
    """What one law says against a transition."""
    shape = shape_of(t.world)
    if law in STATE_LAWS:
        return list(law.reasons(state_after(t, shape)))
    return list(law.reasons(Edge(t, shape)))


def found_in(t: Transition) -> Found:
    """What the lookup in the transition found."""
    assert isinstance(t.outcome, (Allocated, Waits, Viewed)) and t.outcome.found
    return t.outcome.found


def said(t: Transition, **parts: object) -> Transition:
    """The transition with these parts of what the lookup in it found replaced."""
    return answered(t, found=replace(found_in(t), **parts))  # type: ignore[arg-type]


def answered(t: Transition, **parts: object) -> Transition:
    """The transition with these parts of its answer replaced."""
    return replace(t, outcome=replace(t.outcome, **parts))  # type: ignore[arg-type]


def keys(t: Transition, block: int, *names: KeyName) -> Transition:
    """The transition with these keys on a block after it; the index stays."""
    return after(t, keys=put(t.after.keys, block, names))


def name(group: int, num_tokens: int, prompt: int = 0) -> KeyName:
    """A key of the sequence that all but the last prompt of the worlds here follow."""
    return KeyName(group, prompt, num_tokens)


Case = tuple[Law[Any], Transition, Sequence[Transition]]
"""A law, a transition that keeps it, and some that break it."""


def judge(law: Law[Any], good: Transition, bad: Sequence[Transition]) -> None:
    """Assert that the law sees the difference, and that all laws together do, with its clause."""
    assert list(check_transition(good)) == []
    assert objections(law, good) == []
    for broken in bad:
        assert objections(law, broken), f"{law.meaning} Not seen: {broken}"
        assert law.clause in {breach.clause for breach in check_transition(broken)}


def label(value: object) -> str:
    """How a law is called in the list of tests."""
    return value.reasons.__name__ if isinstance(value, Law) else ""
