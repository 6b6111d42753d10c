"""Breadth-first search of a small world: every state that the loop can reach, every law on every edge."""

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from pagedkv.invariants.breach import Breach
from pagedkv.invariants.laws import check_transition
from pagedkv.spec import World
from pagedkv.spec.moves import BeginPass, EndPass, Move
from pagedkv.spec.snapshot import KeyName, Snapshot

from .canonical import canonical_state
from .coverage import shown_by
from .loop import LoopState, apply_move, enabled_moves
from .subjects import Subject
from .telling import Telling


@dataclass
class Exploration:
    """What a search has seen."""

    states: int = 0
    edges: int = 0
    depth: int = 0
    is_closed: bool = False
    """Whether every reachable state was seen."""
    shown: Counter[str] = field(default_factory=Counter)
    breach: Breach | None = None
    trace: tuple[Move, ...] = ()
    """The moves to the breach, as few as any."""


@dataclass(frozen=True)
class _Node:
    state: LoopState
    snapshot: Snapshot[KeyName]
    pass_began: Snapshot[KeyName] | None
    path: "tuple[_Node, Move] | None"
    depth: int


def explore(
    world: World,
    subject: Subject,
    max_states: int | None = None,
    progress: Callable[[Exploration, int], None] = lambda seen, waiting: None,
) -> Exploration:
    """Search until nothing new is reachable, a law breaks, or ``max_states`` states are seen.

    The subject's instances must be copyable and tell their state.
    """
    seen_names: set[int] = set()
    result = Exploration()
    start = LoopState.start(world, subject.make(world))
    snapshot = start.instance.snapshot()
    assert snapshot is not None, f"{subject.name} does not tell its state"
    waiting = deque([_Node(start, snapshot, None, None, 0)])
    seen_names.add(hash(canonical_state(start, snapshot)))
    while waiting:
        node = waiting.popleft()
        result.states += 1
        result.depth = node.depth
        if max_states and result.states >= max_states:
            return result
        if result.states % 1000 == 0:
            progress(result, len(waiting))
        keyed = [block for block, keys in enumerate(node.snapshot.keys) if keys]
        for move in enabled_moves(node.state, keyed, probes=False):
            state = node.state.copy()
            outcome, breaches = apply_move(state, move)
            after = state.instance.snapshot()
            assert after is not None
            pass_began = node.snapshot if isinstance(move, BeginPass) else node.pass_began
            t = Telling(node.state).transition(state, node.snapshot, after, move, outcome, pass_began)
            result.edges += 1
            result.shown.update(shown_by(t))
            broken = next(iter((*check_transition(t), *breaches)), None)
            if broken:
                result.breach, result.trace = broken, (*_path(node), move)
                return result
            name = hash(canonical_state(state, after))
            if name not in seen_names:
                seen_names.add(name)
                kept = None if isinstance(move, EndPass) else pass_began
                waiting.append(_Node(state, after, kept, (node, move), node.depth + 1))
    result.is_closed = True
    return result


def _path(node: _Node) -> tuple[Move, ...]:
    moves: list[Move] = []
    step = node.path
    while step:
        moves.append(step[1])
        step = step[0].path
    return tuple(reversed(moves))
