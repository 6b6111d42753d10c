"""The state of the engine loop around one manager."""

from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from pagedkv.invariants.work import Work
from pagedkv.invariants.worker import Worker
from pagedkv.spec import World
from pagedkv.spec.event_names import EventName
from pagedkv.spec.life import Life
from pagedkv.spec.rules.caching import partial_boundary, resend_length
from pagedkv.spec.rules.chunks import chunk_tokens
from pagedkv.spec.snapshot import HandOffName, KeyName, Rows

from .instance import Instance


class Step(NamedTuple):
    """A step that was dispatched and is not processed."""

    works: tuple[Work, ...]
    """Without those of requests that have gone since."""
    blocks: frozenset[int]
    """What it reads and writes."""


class Held(NamedTuple):
    """Blocks that the engine holds until a step is processed."""

    fence: int
    """The number of that step."""
    kind: Literal["copies", "popped"]
    blocks: tuple[int, ...]
    """In the order in which they are freed."""
    rows: Rows = ()
    """Of popped ones, the tables in which they were."""
    lost: tuple[int, int] | None = None
    """Of the table of a load in a step whose end is not known yet and that fails: the number of that step,
    and up to where what it loads is right."""


@dataclass
class LoopState:
    """A manager in its world, with the scheduler's and the worker's bookkeeping."""

    world: World
    instance: Instance
    worker: Worker | None
    """None: nobody looks at what is read."""
    checks_claims: bool = True
    """Whether the worker also compares what tables and keys claim after each step: that takes a snapshot."""
    lives: dict[str, Life] = field(default_factory=dict)
    in_pass: bool = False
    tokens_left: int = 0
    """Of the open pass."""
    work: dict[str, Work] = field(default_factory=dict)
    """What the open pass has scheduled, by request."""
    attempted: frozenset[str] = frozenset()
    """Requests that the open pass asked slots for and that got none."""
    handed_over: dict[str, list[HandOffName]] = field(default_factory=dict)
    """Hand-offs that a connector still reads, by request."""
    flight: tuple[Step, ...] = ()
    """Steps that are dispatched and not processed, the oldest first."""
    held: tuple[Held, ...] = ()
    """What waits for them, first in, first out."""
    dispatched: int = 0
    """Steps so far."""
    submitted: int = 0
    """Requests that have arrived so far."""
    disturbances: int = 0
    """Preemptions, evictions and resets so far."""
    to_evict: tuple[int, ...] = ()
    """Blocks that a failed load, or what followed from it, has filled: next, they lose their keys."""
    misled: frozenset[str] = frozenset()
    """Requests that hold such blocks: then they are let go."""
    operations: int = 0
    """Calls on the manager so far; taking events is none."""
    announced: frozenset[KeyName] = frozenset()
    """What a consumer of all events takes to be in the index."""
    events: tuple[EventName, ...] | None = None
    """What the last move announced; None: the manager announces nothing."""

    @classmethod
    def start(cls, world: World, instance: Instance, *, has_worker: bool = True) -> "LoopState":
        """A loop around a new manager. Without a worker nothing is judged, and no snapshot is taken."""
        return cls(world, instance, Worker(world) if has_worker else None)

    def copy(self) -> "LoopState":
        """An independent loop in the same state."""
        return replace(
            self,
            instance=self.instance.copy(),
            worker=self.worker and self.worker.copy(),
            lives=self.lives.copy(),
            work=self.work.copy(),
            handed_over={request: entries.copy() for request, entries in self.handed_over.items()},
        )


def chunk_of(state: LoopState, life: Life, start: int, limit: int) -> int:
    """How many tokens from ``start`` on the request gets of ``limit``; not positive: it waits."""
    world = state.world
    num_new = min(limit, life.num_tokens + life.pending - start)
    if not world.state_block_size:
        return num_new
    length = world.prompts[life.prompt].length
    boundary = partial_boundary(length, world.unit, world.state_block_size)
    resent = (
        resend_length(length, world.hit_alignment, world.resend_margin)
        if world.options.resend_boundaries
        else 0
    )
    return chunk_tokens(
        start,
        num_new,
        length,
        life.num_tokens,
        world.state_block_size,
        world.max_step_tokens,
        bool(world.eagle_groups),
        life.junction,
        boundary if world.is_fine_grained else 0,
        resent,
        life.high,
    )
