"""Names for states of the loop, equal exactly when only names of blocks and requests differ."""

from typing import Any

from pagedkv.spec.snapshot import KeyName, Snapshot

from .loop import LoopState


def canonical_state(state: LoopState, snapshot: Snapshot[KeyName]) -> Any:
    """The state with requests numbered by arrival, blocks by where they first stand: queue, tables, copies.

    What the worker's memory holds is left out: the laws say on every edge that it is what tables and keys
    claim, and the rest is never read.
    """
    rank = {request: i for i, request in enumerate(state.lives)}
    order: dict[int, int] = {0: 0}
    for block in snapshot.queue:
        order.setdefault(block, len(order))
    requests = sorted(snapshot.tables, key=rank.__getitem__)
    for request in requests:
        for row in snapshot.tables[request]:
            for block in row:
                order.setdefault(block, len(order))
    for copy in snapshot.copies:
        order.setdefault(copy.src, len(order))
        order.setdefault(copy.dst, len(order))
    for request in sorted(snapshot.pins, key=rank.__getitem__):
        for block in snapshot.pins[request]:
            order.setdefault(block, len(order))
    for block in range(len(snapshot.ref_counts)):
        order.setdefault(block, len(order))
    name = order.__getitem__
    in_order = sorted(order, key=name)
    marks = snapshot.marks
    return (
        len(snapshot.queue),
        tuple(snapshot.keys[block] for block in in_order),
        tuple(snapshot.ref_counts[block] for block in in_order),
        tuple(
            (rank[r], tuple(tuple(map(name, row)) for row in snapshot.tables[r]), snapshot.num_cached[r])
            for r in requests
        ),
        tuple(
            sorted(
                (key, tuple(map(name, holders)))
                for key, holders in snapshot.index.items()
                if len(holders) > 1
            )
        ),
        tuple((g, name(src), name(dst)) for g, src, dst in snapshot.copies),
        tuple((rank[r], g, name(block), n) for r, g, block, n in snapshot.hand_offs),
        tuple((rank[r], tuple(map(name, blocks))) for r, blocks in snapshot.pins.items()),
        marks
        and tuple(tuple(sorted((rank[r], n) for r, n in group.items())) for group in marks.named_partial),
        # What the last pass filled and published is forgotten before anybody asks for it again.
        state.in_pass and marks and tuple(frozenset(map(name, group)) for group in marks.filled),
        state.in_pass
        and marks
        and tuple(
            frozenset((rank[r], name(block), key) for r, block, key in group) for group in marks.published
        ),
        tuple(life[1:] for life in state.lives.values()),
        state.world.max_submits and state.submitted,
        state.world.max_disturbances and state.disturbances,
        state.in_pass,
        state.tokens_left,
        tuple((rank[w.request], w.start, w.end, w.valid) for w in state.work.values()),
        tuple(sorted(map(name, state.to_evict))),
        tuple(sorted(rank[request] for request in state.misled)),
        tuple(sorted(rank[request] for request in state.attempted if request in rank)),
    )
