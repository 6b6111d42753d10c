"""A trace as data."""

from dataclasses import dataclass

from pagedkv.spec.event_names import EventName
from pagedkv.spec.moves import Move
from pagedkv.spec.outcomes import Outcome
from pagedkv.spec.version import VERSION
from pagedkv.spec.world import World


@dataclass(frozen=True)
class TracedSubject:
    """What was judged. Only told: nothing is ever imported because of it."""

    name: str
    version: str


@dataclass(frozen=True)
class RecordedBreach:
    """The clause that a life ended at, by its id: another version of the specification may have others."""

    clause: str
    because: str


@dataclass(frozen=True)
class Step:
    """One move and its answer."""

    move: Move
    outcome: Outcome | None
    """None when the process ended before it answered."""
    lawful: tuple[Outcome, ...] = ()
    """All that the specification allows here; empty: not told. Outcomes name blocks, so it binds only
    subjects that are equal to the reference in block ids."""
    events: tuple[EventName, ...] = ()
    """What the move announced."""


@dataclass(frozen=True)
class Trace:
    """One life of one manager, up to the move that broke a clause if one did."""

    subject: TracedSubject
    seed: int
    number: int
    """Which run of the seed it was."""
    world: World
    steps: tuple[Step, ...]
    """At least one."""
    breach: RecordedBreach | None = None
    """What the last step broke."""
    spec_version: str = VERSION
