"""What a call for slots does to the tables and answers."""

from collections.abc import Iterator

from pagedkv.spec.clauses import allocation, copies
from pagedkv.spec.moves import Admit, EndPass, Loaded, Schedule
from pagedkv.spec.outcomes import Stepped

from .edge import Edge
from .law import law
from .shape import covering


@law(allocation.TABLES_APPEND_ONLY)
def tables_append_only(edge: Edge) -> Iterator[str]:
    """An entry keeps its block while its request runs, or is null once a call of the request let go of it."""
    call = edge.call
    leaving = edge.leaving
    for request, rows in edge.before.tables.items():
        after = edge.after.tables.get(request)
        if after == rows or request == leaving:
            continue
        for g, row in enumerate(rows):
            new = after[g] if after else ()
            may: set[int] = set()
            if call and call.request == request:
                may.update(call.skipped[g])
                drafts = edge.shape.num_speculative[g]
                running = covering(call.end, edge.shape.sizes[g]) - 1
                if call.is_served and edge.shape.is_aligned[g]:
                    may.update(range(len(row) - drafts, min(len(row), running)))
            kept = [new[i] if i < len(new) else None for i in range(len(row))]
            if any(
                now != old and not (now == 0 and i in may)
                for i, (old, now) in enumerate(zip(row, kept, strict=True))
            ):
                yield f"group {g} of request {request} was {list(row)} and is {list(new)} after {edge.move}"
            if len(new) > len(row) and not (call and call.is_served and call.request == request):
                yield f"group {g} of request {request} grew from {list(row)} to {list(new)} in {edge.move}"


@law(allocation.SKIPPED_ARE_FREED, Schedule)
def skipped_are_freed(edge: Edge) -> Iterator[str]:
    """A call leaves nothing that no step after the computed tokens reads."""
    call = edge.call
    if call is None:
        return
    rows = edge.after.tables.get(call.request, ())
    for g, (row, dead) in enumerate(zip(rows, call.skipped, strict=False)):
        left = [i for i in dead if i < len(row) and row[i]]
        if left:
            yield f"request {call.request} has {call.computed} tokens, group {g} is {list(row)} with {left}"


@law(allocation.PREDICTION_IS_EXACT, Admit, Schedule)
def prediction_is_exact(edge: Edge) -> Iterator[str]:
    """A call takes just what it needs, and is answered None when that is not free or it has to wait."""
    call = edge.call
    if call is None:
        return
    needs, spare = call.needs(), call.spare()
    free = len(call.queue) - spare
    what = f"request {call.request}, {call.start} to {call.end}, needs {needs} of {free} free blocks"
    if spare:
        what += f" beside {spare} that stay free"
    if edge.world.options.full_sequence_must_fit and call.is_first:
        # A judgement of its own: see the law on whole sequences.
        free = free if call.needs_for_all() <= free else min(free, needs - 1)
    if call.is_served and needs > free:
        yield f"{what} and is answered {call.answer}"
    if not call.is_served and needs <= free and not call.waits_for():
        yield f"{what}, starts from nothing that this pass fills, and is answered None"
    taken = len(call.queue) - len(edge.after.queue)
    if call.is_served and taken != needs:
        yield f"{what} and takes {taken}"


@law(allocation.WATERMARK, Admit)
def watermark(edge: Edge) -> Iterator[str]:
    """A request that is admitted beside others leaves the watermark's share of the pool free."""
    call, percent = edge.served, edge.world.options.watermark_percent
    left = len(edge.after.queue)
    if call and edge.work and 100 * (left + 1) <= percent * edge.world.num_blocks:
        yield f"request {call.request} leaves {left} free of {edge.world.num_blocks}, not {percent} percent"


@law(copies.SAME_PASS_WAITS, Admit)
def same_pass_waits(edge: Edge) -> Iterator[str]:
    """A hit that starts from a block which this pass fills is answered None."""
    awaited = edge.served.waits_for() if edge.served else ""
    if awaited:
        yield f"{edge.move} is served: {awaited}"


@law(allocation.NONE_CHANGES_NOTHING, Admit, Schedule)
def none_changes_nothing(edge: Edge) -> Iterator[str]:
    """After None only skipped entries have gone, and their holders."""
    call = edge.call
    if call is None or call.is_served:
        return
    for part, old, new in edge.changes():
        if not any(call.skipped) or part not in ("tables", "queue", "ref_counts"):
            yield f"{edge.move} is answered None and changed {part} from {old} to {new}"


@law(allocation.HITS_BEFORE_NEW, Admit)
def hits_before_new(edge: Edge) -> Iterator[str]:
    """No block of the hit is taken as a new one."""
    call = edge.served
    if call and call.touched.intersection(call.taken):
        yield f"request {call.request} hit {call.hit_rows} and took {call.taken}"


@law(allocation.ENCODER_ONCE, Admit, Schedule)
def encoder_once(edge: Edge) -> Iterator[str]:
    """The row of what an encoder made is as long as that from the first call on, and shares nothing."""
    call = edge.served
    for g in range(len(edge.shape.sizes)) if call else ():
        if call and edge.shape.is_encoder(g):
            new, size = call.new_rows[g], edge.shape.sizes[g]
            counts = [edge.after.ref_counts[block] for block in new]
            if len(new) != covering(call.encoder, size) or set(counts) - {1}:
                yield (
                    f"request {call.request} has {call.encoder} tokens of an encoder, the row of group {g} "
                    f"is {list(new)}, the counts are {counts}"
                )
            if not call.is_first and new != call.old_rows[g]:
                yield f"the row of group {g} was {list(call.old_rows[g])} and is {list(new)}"


@law(allocation.ANSWERS_NEW_ENTRIES, Admit, Schedule)
def answers_new_entries(edge: Edge) -> Iterator[str]:
    """The answer is, per group, the private block of the hit and what the row has more."""
    call = edge.served
    if call is None:
        return
    for g, (old, new) in enumerate(zip(call.old_rows, call.new_rows, strict=True)):
        private = new[len(old) - 1 : len(old)] if call.hit % edge.shape.sizes[g] else ()
        if call.answer[g] != (*private, *new[len(old) + call.num_external(g) :]):
            yield f"group {g} went from {list(old)} to {list(new)}, the answer is {list(call.answer[g])}"


@law(allocation.WHOLE_SEQUENCE_FITS, Admit)
def whole_sequence_fits(edge: Edge) -> Iterator[str]:
    """Nobody is admitted whose tokens would not all fit, where that is asked for."""
    call = edge.served
    if call and edge.world.options.full_sequence_must_fit:
        free = len(call.queue) - call.spare()
        if call.needs_for_all() > free:
            yield f"request {call.request} needs {call.needs_for_all()} blocks in all, {free} are free"


@law(allocation.LISTS_NEW_BLOCKS)
def lists_new_blocks(edge: Edge) -> Iterator[str]:
    """What attention is handed out is listed, group by group, until the pass ends; no other block is."""
    expected = [list(listed) for listed in edge.before.to_zero]
    call, move = edge.served, edge.move
    for g, listed in enumerate(expected):
        is_listed = edge.world.options.needs_zeroing and not edge.shape.is_state[g]
        if call and is_listed:
            listed += () if call.delays else call.external_blocks(g)
            listed += call.new_blocks(g)
        if isinstance(move, Loaded) and edge.life and 0 < move.valid < edge.life.computed and is_listed:
            row = edge.before.tables[move.request][g]
            listed += [block for block in row[move.valid // edge.shape.sizes[g] :] if block]
        if isinstance(move, EndPass):
            listed.clear()
    if [list(listed) for listed in edge.after.to_zero] != expected:
        yield f"{edge.before.to_zero} were listed, after {move} {edge.after.to_zero} are, not {expected}"
    if isinstance(edge.outcome, Stepped):
        drained = tuple(block for listed in edge.before.to_zero for block in listed)
        if edge.outcome.zeroed != drained:
            yield f"{drained} were listed and {edge.outcome.zeroed} are zeroed"
