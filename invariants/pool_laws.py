"""How a move may change the free queue and the keys it guards."""

from collections.abc import Iterator

from pagedkv.spec.clauses import pool
from pagedkv.spec.moves import Admit, EndPass, Evict, Reset, Schedule
from pagedkv.spec.outcomes import Answered

from .edge import Edge
from .law import law


@law(pool.TAKEN_FROM_THE_FRONT, Admit, Schedule)
def taken_from_the_front(edge: Edge) -> Iterator[str]:
    """A call takes the front of the queue less its hit, in order, and the old keys of that are gone."""
    call = edge.served
    if call is None:
        return
    front = [block for block in call.queue if block not in call.touched][: len(call.taken)]
    if call.taken != front:
        yield f"request {call.request} took {call.taken}, the front of the queue was {front}"
    used = sorted(edge.flight.used.intersection(call.taken))
    if used:
        yield f"request {call.request} took {call.taken}, of which a step that is not processed uses {used}"
    made = edge.arrived().union(*((edge.names.whole, edge.names.partial) if edge.names else ()))
    for block in call.taken:
        old = [key for key in edge.after.keys[block] if (block, key) not in made]
        if old:
            yield f"block {block} was taken by request {call.request} and has {old}"


@law(pool.FREED_TAILS_FIRST)
def freed_tails_first(edge: Edge) -> Iterator[str]:
    """What a move lets go goes to its place in the queue, the rest stays in order."""
    expected = edge.expected_queue()
    if list(edge.after.queue) != list(expected):
        yield f"the queue was {list(edge.before.queue)} and is {list(edge.after.queue)}, not {list(expected)}"


@law(pool.TOUCHED_LEAVES_QUEUE, Admit, EndPass)
def touched_leaves_queue(edge: Edge) -> Iterator[str]:
    """A block of a hit has one holder more; that and a pinned block are not in the queue."""
    before, after = edge.before, edge.after
    if edge.served and edge.served.is_first:
        for block in edge.served.touched:
            if after.ref_counts[block] != before.ref_counts[block] + 1 or block in after.queue:
                counts = f"{before.ref_counts[block]} holders, now {after.ref_counts[block]}"
                yield f"block {block} of a hit had {counts}, the queue is {list(after.queue)}"
    elif isinstance(edge.move, EndPass):
        for entry in before.hand_offs:
            if not after.ref_counts[entry.block] or entry.block in after.queue:
                yield (
                    f"{entry} was taken, the count is {after.ref_counts[entry.block]}, the queue "
                    f"{list(after.queue)}"
                )


@law(pool.EVICT_TAKES_KEYS, Evict)
def evict_takes_keys(edge: Edge) -> Iterator[str]:
    """An evicted block has no key left, and is held as before."""
    assert isinstance(edge.move, Evict)
    for block in edge.move.blocks:
        if 0 <= block < len(edge.after.keys) and edge.after.keys[block]:
            yield f"block {block} was evicted and has {list(edge.after.keys[block])}"
    if edge.after.ref_counts != edge.before.ref_counts:
        yield f"the counts were {list(edge.before.ref_counts)} and are {list(edge.after.ref_counts)}"


@law(pool.RESET_WHEN_IDLE, Reset)
def reset_when_idle(edge: Edge) -> Iterator[str]:
    """A reset takes all keys when nothing is held, else none, and says which."""
    unasked = (0, *edge.world.sinks)
    held = [block for block, count in enumerate(edge.before.ref_counts) if block not in unasked and count]
    if edge.outcome != Answered(not held):
        yield f"blocks {held} are held and the answer is {edge.outcome}"
    left = {block: keys for block, keys in enumerate(edge.after.keys) if keys}
    if left and not held:
        yield f"nothing was held, and after the reset the keys are {left}"
    if held and edge.after.keys != edge.before.keys:
        yield f"blocks {held} are held, and the keys left are {left}"
