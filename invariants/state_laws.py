"""What holds of every state of the pool and its index."""

from collections.abc import Iterator

from pagedkv.spec.clauses import index, pool, worker
from pagedkv.spec.snapshot import KeyName

from .law import law
from .state import State


@law(pool.COUNT_IS_HOLDERS)
def count_is_holders(state: State) -> Iterator[str]:
    """Counts are entries of tables, ends of queued copies and pins."""
    for block, (count, holders) in enumerate(zip(state.snapshot.ref_counts, state.holders, strict=True)):
        if block and count != holders:
            yield f"block {block} has count {count} and {holders} holders"


@law(pool.QUEUED_WHEN_UNHELD)
def queued_when_unheld(state: State) -> Iterator[str]:
    """The free queue lists each block without holder once, and not null."""
    unheld = [block for block, holders in enumerate(state.holders) if block and not holders]
    if sorted(state.snapshot.queue) != unheld:
        yield f"the queue is {list(state.snapshot.queue)}, nobody holds {unheld}"


@law(pool.NO_LEAK)
def no_leak(state: State) -> Iterator[str]:
    """When no request runs and no pass is open, every block but null and sinks is free."""
    snapshot, first = state.snapshot, 1 + len(state.world.sinks)
    if state.is_idle and (
        len(snapshot.queue) < len(snapshot.ref_counts) - first or any(snapshot.ref_counts[first:])
    ):
        yield (
            f"nothing runs; counts {list(snapshot.ref_counts)}, queue {list(snapshot.queue)}, tables "
            f"{dict(snapshot.tables)}, copies {list(snapshot.copies)}, pins {dict(snapshot.pins)}"
        )


@law(pool.SINKS_STAY)
def sinks_stay(state: State) -> Iterator[str]:
    """The first blocks of the pool, as many as sinks fill, are held by nobody else and have no key."""
    for block in state.world.sinks:
        count, keys = state.snapshot.ref_counts[block], state.snapshot.keys[block]
        if count != 1 or keys or state.entries[block] or block in state.snapshot.queue:
            yield (
                f"block {block} is a sink, has count {count} and {list(keys)}, is in {state.entries[block]} "
                f"entries of tables; the queue is {list(state.snapshot.queue)}"
            )


@law(index.BOTH_WAYS)
def both_ways(state: State) -> Iterator[str]:
    """The index and the blocks' keys are one relation."""
    by_key: dict[KeyName, list[int]] = {}
    for block, keys in state.keyed:
        for key in keys:
            by_key.setdefault(key, []).append(block)
    listed = state.snapshot.index
    for key, blocks in by_key.items():
        if sorted(listed.get(key, ())) != blocks or len(set(blocks)) < len(blocks):
            yield f"{key} is on blocks {blocks}, the index lists {list(listed.get(key, ()))}"
    if len(by_key) != len(listed):
        for key in listed.keys() - by_key.keys():
            yield f"{key} is on no block, the index lists {list(listed[key])}"


@law(index.PROMOTION)
def primary_is_longest(state: State) -> Iterator[str]:
    """No key of a block is longer than its primary, and a state has one key."""
    for block, keys in state.keyed:
        if len(keys) > 1:
            if state.shape.is_state[keys[0].group]:
                yield f"block {block} of a state has keys {list(keys)}"
            elif keys[0].num_tokens < max(key.num_tokens for key in keys):
                yield f"block {block} has keys {list(keys)}, the first is not the longest"


@law(index.PARTIAL_ENTRY)
def ends_where_hits_can(state: State) -> Iterator[str]:
    """A key ends on a block boundary, or on a unit boundary where hits are fine-grained."""
    shape, unit = state.shape, state.world.unit
    for block, keys in state.keyed:
        for key in keys:
            if key.num_tokens % (unit if shape.is_fine else shape.sizes[key.group]):
                yield f"block {block} has {key}, which no lookup can ask for"


@law(worker.KEYS_TELL_THE_TRUTH)
def keys_are_of_one_block(state: State) -> Iterator[str]:
    """A block can be all that its keys say: one group's, ends in one block of one sequence; null has none."""
    for block, keys in state.keyed:
        first = keys[0]
        size = state.shape.sizes[first.group]
        if not block:
            yield f"the null block has keys {list(keys)}"
        for key in keys[1:]:
            longer, shorter = (first, key) if first.num_tokens >= key.num_tokens else (key, first)
            if (
                key.group != first.group
                or (longer.num_tokens - 1) // size != (shorter.num_tokens - 1) // size
                or state.world.name(longer.prompt, shorter.num_tokens) != shorter[1:]
            ):
                yield f"block {block} has both {first} and {key}"
