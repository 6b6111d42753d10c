"""A snapshot beside what the engine loop knows of its requests."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pagedkv.spec import World
from pagedkv.spec.life import Life
from pagedkv.spec.moves import EndPass
from pagedkv.spec.snapshot import KeyName, Snapshot

from .shape import Shape
from .view import Transition


class Standing(NamedTuple):
    """How far a running request is."""

    life: Life
    end: int
    """Its computed tokens, and those that the open pass has scheduled."""


class State:
    """One snapshot, and who holds which block in it."""

    __slots__ = ("entries", "holders", "is_idle", "keyed", "running", "shape", "snapshot", "used", "world")

    def __init__(
        self,
        world: World,
        shape: Shape,
        snapshot: Snapshot[KeyName],
        running: Mapping[str, Standing],
        is_idle: bool,
        held: Sequence[int] = (),
        used: frozenset[int] = frozenset(),
    ) -> None:
        self.world = world
        self.shape = shape
        self.snapshot = snapshot
        self.running = running
        self.is_idle = is_idle
        """No request runs, no pass is open, and no step is in flight."""
        self.used = used
        """Blocks that steps in flight read or write."""
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
        for block in (*held, *world.sinks):
            holders[block] += 1
        self.keyed = [(block, keys) for block, keys in enumerate(snapshot.keys) if keys]
        """Blocks with keys, and these."""


def state_after(t: Transition, shape: Shape) -> State:
    """The state that the move led to."""
    running = {}
    for life in t.flight.lives.values():
        if life.is_running:
            work = t.flight.work.get(life.request)
            running[life.request] = Standing(life, work.end if work else life.computed)
    is_open = t.pass_began is not None and not isinstance(t.move, EndPass)
    is_idle = not running and not is_open and not t.flight.held and not t.flight.used_after
    return State(t.world, shape, t.after, running, is_idle, t.flight.held, t.flight.used_after)
