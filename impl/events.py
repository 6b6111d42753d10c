"""Events on their way to a consumer."""

from collections.abc import Callable, Iterable, Sequence

from pagedkv.spec import BlockHash, BlockRemoved, KVCacheEvent, Request, get_block_hash, get_group_id
from pagedkv.spec.blocks import Key
from pagedkv.spec.events import stored_event


class EventLog:
    """What was announced and not taken yet. It is output: no operation reads it."""

    def __init__(self, is_on: bool) -> None:
        self.is_on = is_on
        self.waiting: list[KVCacheEvent] = []

    def copy(self) -> "EventLog":
        """An independent log with the same events."""
        twin = EventLog(self.is_on)
        twin.waiting = self.waiting.copy()
        return twin

    def take(self) -> list[KVCacheEvent]:
        """Drain it."""
        taken, self.waiting = self.waiting, []
        return taken

    def removed(self, keys: Iterable[Key]) -> None:
        """Announce keys that left the index."""
        self.waiting += [BlockRemoved((get_block_hash(key.name),), get_group_id(key.name)) for key in keys]

    def stored(
        self,
        entries: Sequence[tuple[Request, int]],
        unit: int,
        block_size: int,
        group: int,
        find: Callable[[list[BlockHash]], list[bool]],
    ) -> None:
        """Announce, in order, prefixes that entered the index, each as a request and its first tokens.

        ``find`` says which hashes the group has now, with all of them.
        """
        starts = [(num_tokens - 1) // block_size * block_size for _, num_tokens in entries]
        parents = [
            request.block_hashes[start // unit - 1]
            for (request, _), start in zip(entries, starts, strict=True)
            if start
        ]
        known = {parent for parent, is_there in zip(parents, find(parents), strict=True) if is_there}
        own = [request.block_hashes[num_tokens // unit - 1] for request, num_tokens in entries]
        # A parent that enters in this very call is known once it has been announced.
        known.difference_update(own)
        for (request, num_tokens), digest in zip(entries, own, strict=True):
            self.waiting.append(
                stored_event(request, num_tokens, unit, block_size, group, known.__contains__)
            )
            known.add(digest)
