"""Copies, hand-offs, and the end of a request."""

from collections.abc import Iterator

from pagedkv.spec.clauses import copies, freeing
from pagedkv.spec.moves import Admit, Finish, Loaded, Preempt, Schedule
from pagedkv.spec.outcomes import Stepped
from pagedkv.spec.snapshot import HandOffName

from .edge import Edge
from .law import law


@law(copies.CONSUMER_GETS_PRIVATE_BLOCK, Admit)
def consumer_gets_private_block(edge: Edge) -> Iterator[str]:
    """A table starts with what is read of a hit, the block in which that ends being a copy's private side."""
    call = edge.served
    if call is None:
        return
    for g, (hit_row, new) in enumerate(zip(call.old_rows, call.new_rows, strict=True)):
        start, ends_inside = new[: len(hit_row)], bool(hit_row) and call.hit % edge.shape.sizes[g] != 0
        queued = list(zip(hit_row[-1:], start[-1:], strict=False)) if ends_inside else []
        whole = len(hit_row) - ends_inside
        if start[:whole] != hit_row[:whole] or call.new_copies[g] != queued or any(a == b for a, b in queued):
            yield (
                f"{call.hit} tokens of group {g} are in {list(hit_row)}, the table is {list(new)}, "
                f"queued were {call.new_copies[g]}"
            )


@law(copies.OWNER_KEEPS_ITS_BLOCK, Schedule)
def owner_keeps_its_block(edge: Edge) -> Iterator[str]:
    """A request that runs on from its own partial entry copies that to a block outside its table."""
    call = edge.served
    if call is None:
        return
    for g, queued in enumerate(call.new_copies):
        source, row = call.moved.get(g), call.new_rows[g]
        sources = [] if source is None else [source]
        privates = [private for _, private in queued]
        if (
            [src for src, _ in queued] != sources
            or (sources and source not in row)
            or set(privates) & {0, *row}
        ):
            yield (
                f"request {call.request} has {call.computed} tokens, its entry of group {g} is on {source}, "
                f"the row is {list(row)}, and queued were {queued}"
            )


@law(copies.DRAINED_IN_ORDER)
def drained_in_order(edge: Edge) -> Iterator[str]:
    """Copies stay queued until the pass ends, and then are handed over in order and once."""
    old, new = edge.before.copies, edge.after.copies
    if isinstance(edge.outcome, Stepped):
        queued = tuple((copy.src, copy.dst) for copy in old)
        if edge.outcome.copies != queued or new:
            yield f"{queued} were queued, {edge.outcome.copies} were handed over, and {list(new)} are left"
        return
    groups = range(len(edge.shape.sizes))
    added = edge.served.new_copies if edge.served else [[] for _ in groups]
    expected = tuple(
        (g, *pair)
        for g in groups
        for pair in [*((copy.src, copy.dst) for copy in old if copy.group == g), *added[g]]
    )
    if new != expected and (old or new):
        yield f"{list(old)} were queued, {added} were added, and {list(new)} are queued after {edge.move}"


@law(copies.HAND_OFF)
def once_and_pinned(edge: Edge) -> Iterator[str]:
    """A moved entry is listed, then handed over once, and pinned from then on."""
    before, after, move, call = edge.before, edge.after, edge.move, edge.served
    listed = list(before.hand_offs)
    pinned = [(request, block) for request, blocks in before.pins.items() for block in blocks]
    if isinstance(edge.outcome, Stepped):
        if sorted(edge.outcome.hand_offs) != sorted(listed):
            yield f"{listed} were listed, {list(edge.outcome.hand_offs)} were handed over"
        pinned += [(entry.request, entry.block) for entry in listed]
        listed = []
    elif edge.leaving:
        listed = [entry for entry in listed if entry.request != edge.leaving]
        pinned = [pin for pin in pinned if pin[0] != edge.leaving]
    elif call:
        listed += [
            HandOffName(call.request, g, private, call.computed)
            for g in call.moved
            for _, private in call.new_copies[g]
        ]
    if sorted(after.hand_offs) != sorted(listed):
        yield f"after {move} {list(after.hand_offs)} are listed, not {listed}"
    pins = [(request, block) for request, blocks in after.pins.items() for block in blocks]
    if sorted(pins) != sorted(pinned):
        yield f"after {move} the pins are {pins}, not {pinned}"


@law(copies.HAND_OFF_DIES_WITH_REQUEST, Preempt, Finish, Loaded)
def dies_with_request(edge: Edge) -> Iterator[str]:
    """Nothing of a request that has gone can be handed over."""
    left = [entry for entry in edge.after.hand_offs if entry.request == edge.leaving]
    if left:
        yield f"after {edge.move} {left} can be taken"


@law(freeing.FORGETS_THE_REQUEST, Preempt, Finish, Loaded)
def forgets_the_request(edge: Edge) -> Iterator[str]:
    """Tables, counters and pins are as before without those of the request."""
    gone = edge.leaving
    if gone is None:
        return
    for part in ("tables", "num_cached", "pins"):
        old, new = getattr(edge.before, part), getattr(edge.after, part)
        if gone in new or new.keys() != old.keys() - {gone}:
            yield f"{part} of {sorted(old)} before {edge.move}, of {sorted(new)} after"
