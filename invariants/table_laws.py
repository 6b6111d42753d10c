"""What holds of the tables in every state."""

from collections.abc import Iterator

from pagedkv.spec.clauses import allocation, worker
from pagedkv.spec.life import Life

from .law import law
from .shape import covering
from .state import State


@law(worker.WRITES_ALONE)
def writes_alone(state: State) -> Iterator[str]:
    """What a running request writes on is in one entry of one table, not pinned and not a hand-off."""
    snapshot, shape = state.snapshot, state.shape
    lent = {entry.block for entry in snapshot.hand_offs}.union(*snapshot.pins.values())
    for request, (life, end) in state.running.items():
        for g, row in enumerate(snapshot.tables.get(request, ())):
            # Attention that this pass fills may be shared as soon as it is whole: a layer is written
            # before it is read. States are read before any is written, and so is what is loaded.
            settled = life.computed if shape.is_state[g] else end
            settled = settled if life.loading_from is None else life.loading_from
            settled = 0 if shape.is_encoder(g) else settled
            for i in range(settled // shape.sizes[g], len(row)):
                block = row[i]
                if block and (state.entries[block] != 1 or block in lent):
                    yield (
                        f"request {request} with {settled} tokens still writes entry {i} of group {g}, block "
                        f"{block}: tables {dict(snapshot.tables)}, pinned or to hand over {sorted(lent)}"
                    )


@law(worker.IN_FLIGHT_IS_HELD)
def in_flight_is_held(state: State) -> Iterator[str]:
    """No block that a step in flight reads or writes is free."""
    free = sorted(state.used.intersection(state.snapshot.queue))
    if free:
        yield f"blocks {free} are free, and a step that is not processed uses them"


@law(allocation.COVERS_THE_TOKENS)
def covers_the_tokens(state: State) -> Iterator[str]:
    """Attention has a block for each position it reads or writes, a mamba group for its states.

    In mode "all" these are the one that is read and that of every block from there on.
    """
    shape, world = state.shape, state.world
    for request, (life, end) in state.running.items():
        rows = state.snapshot.tables.get(request)
        if rows is None:
            yield f"running request {request} has no table"
            continue
        computed, in_pass = life.computed, life.computed < end
        for g, row in enumerate(rows):
            size = shape.sizes[g]
            if shape.is_encoder(g):
                needed = [*range(covering(world.prompts[life.prompt].encoder_tokens, size))]
            elif shape.is_aligned[g]:
                needed = _states_needed(life, end, size, shape.num_speculative[g])
            else:
                # What it reads, and from there on to where it writes, and to where drafts will.
                read = shape.read_entries(g, computed, world.prompts[life.prompt].length)
                last = covering(min(end + world.options.num_lookahead_tokens, world.max_model_len), size)
                needed = [*read, *range(covering(computed, size), last + shape.num_speculative[g])]
            lacking = [i for i in needed if i >= len(row) or not row[i]]
            if lacking:
                yield (
                    f"request {request} computes {computed} to {end}, group {g} is {list(row)}, nothing in "
                    f"entries {lacking}" + ("" if in_pass else " once its step has run")
                )


def _states_needed(life: Life, end: int, size: int, num_speculative: int) -> list[int]:
    """The entries of states: the running one and its drafts' in a pass, and the one it goes on from."""
    last = covering(end, size)
    ahead = [*range(last - 1, last + num_speculative)]
    if life.state_entry is not None:
        # Drafts have put the state among the speculative entries, which move when the row grows.
        return [life.state_entry] if life.computed == end else ahead
    return [*ahead, covering(life.computed, size) - 1] if life.computed else ahead


@law(allocation.HOLDS_NO_MORE)
def holds_no_more(state: State) -> Iterator[str]:
    """No entry is past the last that was needed, and what nobody reads is held until the next call only."""
    shape, world = state.shape, state.world
    for request, (life, end) in state.running.items():
        computed, processed = life.computed, life.processed
        for g, row in enumerate(state.snapshot.tables.get(request, ())):
            size = shape.sizes[g]
            if shape.is_encoder(g):
                made = world.prompts[life.prompt].encoder_tokens
                if len(row) > covering(made, size):
                    yield f"request {request} has {made} tokens of an encoder, group {g} has {list(row)}"
                continue
            ahead = 0 if shape.is_aligned[g] else world.options.num_lookahead_tokens
            most = covering(min(max(life.high, end) + ahead, world.max_model_len), size)
            if len(row) > most + shape.num_speculative[g]:
                yield f"request {request} asked for {life.high} tokens, group {g} has {list(row)}"
            if not shape.is_aligned[g]:
                # What the last steps have read, or a hit has found, may be held until the next call.
                read = shape.read_entries(g, processed)
                stale = [i for i, block in enumerate(row[: processed // size]) if block and i not in read]
                if stale and computed < end:
                    yield (
                        f"request {request} computes {computed} to {end}, {processed} are processed, group "
                        f"{g} is {list(row)}, with {stale} that it does not read"
                    )
            else:
                earlier = [i for i, block in enumerate(row[: covering(end, size) - 1]) if block]
                # Of each step that is not processed the state it starts from is held, and of each that was
                # since the last call; drafts leave the states of their boundaries too.
                most = (
                    1
                    + (world.options.max_in_flight + 1 if world.options.max_in_flight else 0)
                    + world.options.max_drafts
                )
                stale = [i for i in earlier if i < covering(processed, size) - 1]
                if len(earlier) > most or (computed < end and stale):
                    yield (
                        f"request {request} computes {computed} to {end}, {processed} are processed, group "
                        f"{g} is {list(row)}, with {earlier} before the running one"
                    )
