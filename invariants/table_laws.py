"""What holds of the tables in every state."""

from collections.abc import Iterator

from pagedkv.spec.clauses import allocation, worker

from .law import law
from .shape import covering
from .state import State


@law(worker.WRITES_ALONE)
def writes_alone(state: State) -> Iterator[str]:
    """What a running request writes on is in one entry of one table, not pinned and not a hand-off."""
    snapshot, shape = state.snapshot, state.shape
    lent = {entry.block for entry in snapshot.hand_offs}.union(*snapshot.pins.values())
    for request, standing in state.running.items():
        for g, row in enumerate(snapshot.tables.get(request, ())):
            # Attention that this pass fills may be shared as soon as it is whole: a layer is written
            # before it is read. States are read before any is written.
            settled = standing.computed if shape.is_state[g] else standing.end
            if shape.is_encoder(g):
                settled = 0
            for i in range(settled // shape.sizes[g], len(row)):
                block = row[i]
                if block and (state.entries[block] != 1 or block in lent):
                    yield (
                        f"request {request} with {settled} tokens still writes entry {i} of group {g}, block "
                        f"{block}: tables {dict(snapshot.tables)}, pinned or to hand over {sorted(lent)}"
                    )


@law(allocation.COVERS_THE_TOKENS)
def covers_the_tokens(state: State) -> Iterator[str]:
    """Attention has a block for each position it reads or writes, a mamba group for its states.

    In mode "all" these are the one that is read and that of every block from there on.
    """
    shape = state.shape
    for request, (prompt, computed, end) in state.running.items():
        rows = state.snapshot.tables.get(request)
        if rows is None:
            yield f"running request {request} has no table"
            continue
        for g, row in enumerate(rows):
            size = shape.sizes[g]
            last = covering(end, size)
            if shape.is_encoder(g):
                needed = [*range(covering(state.world.prompts[prompt].encoder_tokens, size))]
            elif shape.is_aligned[g]:
                needed = [*range(last - 1, last + shape.num_speculative[g])]
                if computed:
                    needed.append(covering(computed, size) - 1)
            else:
                read = shape.read_entries(g, computed, state.world.prompts[prompt].length)
                needed = [*read, *range(covering(computed, size), last + shape.num_speculative[g])]
            lacking = [i for i in needed if i >= len(row) or not row[i]]
            if lacking:
                yield (
                    f"request {request} computes {computed} to {end}, group {g} is {list(row)}, nothing in "
                    f"entries {lacking}"
                )


@law(allocation.HOLDS_NO_MORE)
def holds_no_more(state: State) -> Iterator[str]:
    """No entry is past the last that is needed, and what nobody reads is held until the next call only."""
    shape = state.shape
    for request, (prompt, computed, end) in state.running.items():
        for g, row in enumerate(state.snapshot.tables.get(request, ())):
            size = shape.sizes[g]
            last = covering(end, size)
            if shape.is_encoder(g):
                made = state.world.prompts[prompt].encoder_tokens
                if len(row) > covering(made, size):
                    yield f"request {request} has {made} tokens of an encoder, group {g} has {list(row)}"
                continue
            if len(row) > last + shape.num_speculative[g]:
                yield f"request {request} has {end} tokens, group {g} has {list(row)}"
            if not shape.is_aligned[g]:
                # What the last steps have read, or a hit has found, may be held until the next call.
                read = shape.read_entries(g, computed)
                stale = [i for i, block in enumerate(row[: computed // size]) if block and i not in read]
                if stale and computed < end:
                    yield (
                        f"request {request} computes {computed} to {end}, group {g} is {list(row)}, with "
                        f"{stale} that it does not read"
                    )
            else:
                earlier = [i for i, block in enumerate(row[: last - 1]) if block]
                # In the pass that scheduled it that is the state it starts from. Later nobody reads it,
                # but it is held until the next call.
                if len(earlier) > 1 or (
                    computed < end and earlier not in ([], [covering(computed, size) - 1])
                ):
                    yield (
                        f"request {request} computes {computed} to {end}, group {g} is {list(row)}, with "
                        f"{earlier} before the running one"
                    )
