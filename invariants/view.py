"""What the laws are told beside two snapshots."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from pagedkv.spec import World
from pagedkv.spec.event_names import EventName
from pagedkv.spec.life import Life
from pagedkv.spec.moves import Move
from pagedkv.spec.outcomes import Outcome
from pagedkv.spec.snapshot import KeyName, Snapshot

from .work import Work


class Flight(NamedTuple):
    """Steps that are dispatched and not processed, and what the engine holds because of them."""

    is_busy: bool = False
    """Whether there were any before the move."""
    used: frozenset[int] = frozenset()
    """Blocks that they read and write, before the move."""
    used_after: frozenset[int] = frozenset()
    frees: tuple[tuple[int, ...], ...] = ()
    """What the move freed because a step was processed, one call each, in order."""
    held: tuple[int, ...] = ()
    """Blocks that the engine still holds after the move, once per holder."""
    lives: Mapping[str, Life] = MappingProxyType({})
    """All requests, after the move."""
    work: Mapping[str, Work] = MappingProxyType({})
    """What the open pass has scheduled, after the move."""


NOTHING_IN_FLIGHT = Flight()


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
    flight: Flight = NOTHING_IN_FLIGHT
    unspoilt: frozenset[str] = frozenset()
    """Requests since whose arrival no key has left the index, as far as somebody kept count."""
    announced: frozenset[KeyName] = frozenset()
    """What a consumer of all events took to be in the index before the move."""
    events: tuple[EventName, ...] | None = None
    """What the move announced; None where the manager announces nothing."""
