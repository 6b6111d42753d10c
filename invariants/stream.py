"""What a consumer of events takes to be in the index."""

from collections.abc import Iterable, Iterator, Set

from pagedkv.spec.event_names import Cleared, EventName, Removed, Stored
from pagedkv.spec.snapshot import KeyName


def _take_in(keys: set[KeyName], event: EventName) -> None:
    match event:
        case Stored(key):
            keys.add(key)
        case Removed(key):
            keys.discard(key)
        case Cleared():
            keys.clear()


def replay(known: Iterable[KeyName], events: Iterable[EventName]) -> Iterator[tuple[EventName, Set[KeyName]]]:
    """Each event with the keys known just before it; the set is the same one, and changes as it goes on."""
    keys = set(known)
    for event in events:
        yield event, keys
        _take_in(keys, event)


def replayed(known: Iterable[KeyName], events: Iterable[EventName]) -> frozenset[KeyName]:
    """The keys known after the events."""
    keys = set(known)
    for event in events:
        _take_in(keys, event)
    return frozenset(keys)
