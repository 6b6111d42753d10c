"""Which keys a move may make, take and move."""

from collections.abc import Iterator

from pagedkv.spec.clauses import allocation, freeing, index
from pagedkv.spec.moves import Admit, Finish, Preempt, Schedule

from .edge import Edge
from .law import law
from .lookup import Lookup


@law(allocation.FULL_BLOCKS_BECOME_KEYS)
def full_blocks_become_keys(edge: Edge) -> Iterator[str]:
    """A call names the blocks that it fills up to the alignment and counts them; no other move names any."""
    call, names = edge.served, edge.names
    wanted = names.whole if names else frozenset()
    for block, key in wanted:
        if key not in edge.after.keys[block]:
            yield f"block {block} is full up to {key} and has {list(edge.after.keys[block])}"
    sizes = edge.shape.sizes
    for block, key in edge.gained() - edge.arrived() - wanted:
        if key.num_tokens % sizes[key.group] == 0:
            yield f"block {block} got {key}, which {edge.move} does not fill"
    for request, counted in edge.after.num_cached.items():
        before = edge.before.num_cached.get(request)
        expected = before
        if names and names.request == request:
            expected = names.counted
        elif call and call.request == request and call.is_first:
            expected = tuple(call.hit // size for size in sizes)
        if counted != expected:
            yield f"{before} blocks of request {request} were made keys, then {counted}, not {expected}"


@law(allocation.KEYS_BEFORE_THE_GAP)
def keys_before_the_gap(edge: Edge) -> Iterator[str]:
    """What is named, or hit, has the same KV wherever the request's prompt ends."""
    length = edge.world.prompts[edge.life.prompt].length if edge.life else 0
    named = [key.num_tokens for _, key in edge.gained() - edge.arrived()] if edge.names else []
    for num_tokens in (*named, edge.found.hit if edge.found else 0):
        if edge.shape.alike(num_tokens, length) < num_tokens:
            yield f"{edge.move} names or hits {num_tokens} tokens of a prompt of {length}"


@law(allocation.PARTIAL_PROMPT_END)
def partial_prompt_end(edge: Edge) -> Iterator[str]:
    """The call that first reaches the prompt's end inside a block names that; no other boundary is named.

    A longer prompt that the request has gone on with has another end, which the next call may be past.
    """
    wanted = edge.names.partial if edge.names else frozenset()
    for block, key in wanted - edge.names.resent if edge.names else wanted:
        if key not in edge.after.keys[block]:
            yield f"block {block} has the prompt's end {key}, and its keys are {list(edge.after.keys[block])}"
    for block, key in edge.gained() - edge.arrived() - wanted:
        if key.num_tokens % edge.shape.sizes[key.group]:
            yield f"block {block} got {key}, which {edge.move} does not name"


@law(allocation.RESEND_BOUNDARIES, Finish)
def sent_again_hits(edge: Edge) -> Iterator[str]:
    """A prompt that was computed whole, and is sent again, hits as far as a lookup can reach."""
    life, world = edge.life, edge.world
    if not life or not world.options.resend_boundaries or not world.enable_caching:
        return
    length = world.prompts[life.prompt].length
    # Whoever took a shortcut may have passed the boundary, and what was evicted is gone.
    if life.processed < length or life.has_jumped or life.request not in edge.unspoilt:
        return
    again = Lookup(world, edge.shape, edge.after, life._replace(num_tokens=length), divergent=False)
    ends = range(0, length, edge.shape.alignment)
    reachable = max((n for n in ends if n + world.resend_margin < length), default=0)
    if again.common < reachable:
        yield (
            f"p{life.prompt} of {length} tokens hits {again.common} when it is sent again, and could hit "
            f"{reachable}; kinds alone {again.alone}"
        )


@law(allocation.RESEND_BOUNDARIES)
def resend_boundaries(edge: Edge) -> Iterator[str]:
    """The call that reaches the longest prefix that the same prompt can hit, inside a block, names it."""
    for block, key in edge.names.resent if edge.names else ():
        if key not in edge.after.keys[block]:
            yield f"block {block} has {key}, to be hit again, and its keys are {list(edge.after.keys[block])}"


@law(index.KEYS_STAY)
def keys_stay(edge: Edge) -> Iterator[str]:
    """A block loses keys by reuse, eviction, reset, move, withdrawal or a promotion only."""
    if edge.after.keys == edge.before.keys:
        return
    restarted = edge.restarted()
    own, unclear = edge.withdrawn()
    for block, (old, new) in enumerate(zip(edge.before.keys, edge.after.keys, strict=True)):
        if (
            old != new
            and block not in restarted
            and not (new and new[0].num_tokens > old[0].num_tokens if old else True)
        ):
            lost = [key for key in old if key not in new and (block, key) not in own | unclear]
            if lost:
                yield f"block {block} lost {lost} in {edge.move}"


@law(index.PROMOTION, Admit, Schedule)
def promotion(edge: Edge) -> Iterator[str]:
    """Below a longer primary key, attention keeps the earlier keys and a state drops them."""
    restarted = edge.restarted()
    for block, (old, new) in enumerate(zip(edge.before.keys, edge.after.keys, strict=True)):
        if old and new and new[0].num_tokens > old[0].num_tokens and block not in restarted:
            kept = [key for key in old if key in new]
            if kept != ([] if edge.shape.is_state[new[0].group] else list(old)):
                yield f"block {block} was promoted from {list(old)} to {list(new)}"


@law(index.LONGEST_HOLDER_ANSWERS)
def older_holders_come_first(edge: Edge) -> Iterator[str]:
    """The holders of a key are listed in the order in which they got it."""
    before, after = edge.before.index, edge.after.index
    if after == before:
        return
    restarted = edge.restarted()
    for key, holders in after.items():
        if holders != before.get(key):
            older = [block for block in before.get(key, ()) if block in holders and block not in restarted]
            if list(holders[: len(older)]) != older:
                yield f"{key} was on {list(before.get(key, ()))} and is listed as on {list(holders)}"


@law(index.MOVE_TAKES_ALL, Schedule)
def move_takes_all(edge: Edge) -> Iterator[str]:
    """A moved entry's keys are all on the private block, in order, and none is left on the other."""
    call = edge.served
    for g, source in call.moved.items() if call else ():
        keys, old = edge.after.keys, edge.before.keys[source]
        privates = [private for src, private in call.new_copies[g] if src == source] if call else []
        if [keys[private] for private in privates] != [old]:
            yield f"{list(old)} of block {source} moved to {[(b, list(keys[b])) for b in privates]}"
        left = [key for key in old if key in keys[source]]
        if left:
            yield f"block {source} has {left} after its keys moved to {privates}"


@law(freeing.WITHDRAWN_KEYS_GO, Preempt)
def withdrawn_keys_go(edge: Edge) -> Iterator[str]:
    """What a withdrawn request made a key in this pass is none any more."""
    own, unclear = edge.withdrawn()
    alone = {(block, key) for block, key in unclear if edge.before.ref_counts[block] == 1}
    for block, key in own | alone:
        if key in edge.after.keys[block]:
            yield f"{edge.move} leaves {key} on block {block}, made in this pass for work that will not run"
