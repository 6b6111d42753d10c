"""What the laws are told beside two snapshots."""

from collections.abc import Mapping
from dataclasses import dataclass

from pagedkv.spec import World
from pagedkv.spec.event_names import EventName
from pagedkv.spec.life import Life
from pagedkv.spec.moves import Move
from pagedkv.spec.outcomes import Outcome
from pagedkv.spec.snapshot import KeyName, Snapshot

from .worker import Work


@dataclass(frozen=True)
class Transition:
    """One move: the state before and after, and what the loop knew when it chose the move."""

    world: World
    before: Snapshot[KeyName]
    after: Snapshot[KeyName]
    move: Move
    outcome: Outcome
    lives: Mapping[str, Life]
    """All requests, before the move."""
    work: Mapping[str, Work]
    """What the open pass had scheduled before the move."""
    pass_began: Snapshot[KeyName] | None
    """The state when the open pass began; None between passes."""
    announced: frozenset[KeyName] = frozenset()
    """What a consumer of all events took to be in the index before the move."""
    events: tuple[EventName, ...] | None = None
    """What the move announced; None where the manager announces nothing."""
