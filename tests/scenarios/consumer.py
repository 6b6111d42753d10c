"""Who has nothing but the events."""

from collections.abc import Iterable
from typing import Any

from pagedkv.spec import AllBlocksCleared, BlockStored, make_block_hash_with_group_id


def replayed(events: Iterable[Any], known: Iterable[bytes] = ()) -> set[bytes]:
    """The keys that a consumer has after the events. Fails where they contradict what it has."""
    keys = set(known)
    for event in events:
        if isinstance(event, AllBlocksCleared):
            keys.clear()
            continue
        named = {make_block_hash_with_group_id(h, event.group_idx) for h in event.block_hashes}
        if isinstance(event, BlockStored):
            assert keys.isdisjoint(named)
            keys |= named
        else:
            assert named <= keys
            keys -= named
    return keys
