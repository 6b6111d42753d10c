"""A snapshot beside what the engine loop knows of its requests."""

from collections.abc import Mapping
from typing import NamedTuple

from pagedkv.spec import World
from pagedkv.spec.moves import Admit, EndPass, Finish, Preempt, Schedule
from pagedkv.spec.outcomes import Allocated
from pagedkv.spec.snapshot import KeyName, Snapshot

from .shape import Shape
from .view import Transition


class Standing(NamedTuple):
    """How far a running request is."""

    prompt: int
    computed: int
    """Tokens whose steps are processed, or that its hit gave it."""
    end: int
    """The same with what the open pass has scheduled."""


class State:
    """One snapshot, and who holds which block in it."""

    __slots__ = ("entries", "holders", "is_idle", "keyed", "running", "shape", "snapshot", "world")

    def __init__(
        self,
        world: World,
        shape: Shape,
        snapshot: Snapshot[KeyName],
        running: Mapping[str, Standing],
        is_idle: bool,
    ) -> None:
        self.world = world
        self.shape = shape
        self.snapshot = snapshot
        self.running = running
        self.is_idle = is_idle
        """No request runs, and no pass is open."""
        self.entries = entries = [0] * world.num_blocks
        """By block, how many entries of tables name it."""
        for rows in snapshot.tables.values():
            for row in rows:
                for block in row:
                    entries[block] += 1
        self.holders = holders = entries.copy()
        """By block, how many hold it; of null that means nothing."""
        for copy in snapshot.copies:
            holders[copy.src] += 1
            holders[copy.dst] += 1
        for pinned in snapshot.pins.values():
            for block in pinned:
                holders[block] += 1
        self.keyed = [(block, keys) for block, keys in enumerate(snapshot.keys) if keys]
        """Blocks with keys, and these."""


def state_after(t: Transition, shape: Shape) -> State:
    """The state that the move led to."""
    move, outcome = t.move, t.outcome
    ends_pass = isinstance(move, EndPass)
    running = {}
    for life in t.lives.values():
        if life.is_running:
            work = t.work.get(life.request)
            end = work.end if work else life.computed
            running[life.request] = Standing(life.prompt, end if ends_pass else life.computed, end)
    if isinstance(move, (Preempt, Finish)):
        running.pop(move.request, None)
    elif isinstance(move, (Admit, Schedule)) and isinstance(outcome, Allocated) and outcome.rows is not None:
        life = t.lives[move.request]
        start = life.computed + (outcome.found.hit if outcome.found else 0)
        running[life.request] = Standing(life.prompt, start, start + outcome.num_new_tokens)
    is_idle = not running and (t.pass_began is None or ends_pass)
    return State(t.world, shape, t.after, running, is_idle)
