"""Which behaviours of the system a move has shown.

A run that claims one and never shows it has proved nothing.
"""

from collections.abc import Iterator

from pagedkv.invariants.view import Transition
from pagedkv.spec.event_names import Removed, Stored
from pagedkv.spec.moves import Admit, Continue, EndPass, Evict, Preempt, Reset, Schedule
from pagedkv.spec.outcomes import Allocated, Answered, Found, Stepped, Viewed, Waits
from pagedkv.spec.rules.hits import Kind, longest_hit
from pagedkv.spec.snapshot import KeyName
from pagedkv.spec.world import WHOLE

PARTIAL_HIT = "partial hit copied"
OWNER_MOVE = "owner's entry moved"
DEFERRAL = "same-pass wait"
HAND_OFF = "hand-off taken"
HAND_OFF_DROPPED = "hand-off dropped"
HAND_OFF_AFTER_RELEASE = "hand-off after release"
EAGLE_UNIT = "EAGLE drop of a unit"
EAGLE_BLOCK = "EAGLE drop of a block"
EVICTION = "cached block evicted by use"
FAILED = "failed allocation"
DUPLICATE = "key with two holders"
PREEMPTED = "preemption"
RESUMED = "resumed request"
WITHDRAWN = "withdrawn work"
WITHDRAWN_KEYS = "withdrawn keys"
DIVERGENT = "divergent lookup"
TRUNCATION = "truncation"
TRUNCATION_REFUSED = "truncation refused"
CONTINUED = "prompt continued"
HIT = "hit"
JUNCTION = "junction"
CHUNK_WAIT = "wait for a larger chunk"
EVICT = "keys evicted by call"
RESET = "reset"
RESET_REFUSED = "reset refused"
STORED_AND_REMOVED = "keys announced and others taken back at once"

ALL = tuple(value for name, value in list(globals().items()) if name.isupper() and isinstance(value, str))


def shown_by(t: Transition) -> Iterator[str]:
    """The behaviours that this move has shown."""
    outcome, move = t.outcome, t.move
    if {Stored, Removed} <= {type(event) for event in t.events or ()}:
        yield STORED_AND_REMOVED
    found = getattr(outcome, "found", None)
    if isinstance(found, Found):
        yield from _shown_by_lookup(t, found)
    if isinstance(outcome, Allocated):
        yield from _shown_by_allocation(t, outcome)
    elif isinstance(outcome, Waits) and isinstance(move, Admit) and not (found and found.diverged):
        yield CHUNK_WAIT
    elif isinstance(outcome, Stepped) and isinstance(move, EndPass) and outcome.hand_offs:
        yield HAND_OFF
        if move.release_first:
            yield HAND_OFF_AFTER_RELEASE
    elif isinstance(outcome, Viewed):
        yield TRUNCATION if outcome.rows is not None else TRUNCATION_REFUSED
    elif isinstance(move, Continue):
        yield CONTINUED
    elif isinstance(move, Preempt):
        yield PREEMPTED
        if move.withdraw:
            yield WITHDRAWN
            if any(before != after for before, after in zip(t.before.keys, t.after.keys, strict=True)):
                yield WITHDRAWN_KEYS
        if any(entry.request == move.request for entry in t.before.hand_offs):
            yield HAND_OFF_DROPPED
    elif isinstance(move, Evict) and any(t.before.keys[block] for block in move.blocks):
        yield EVICT
    elif isinstance(move, Reset) and isinstance(outcome, Answered):
        yield RESET if outcome.value else RESET_REFUSED


def _shown_by_lookup(t: Transition, found: Found) -> Iterator[str]:
    if found.hit:
        yield HIT
    if found.junction:
        yield JUNCTION
    if found.diverged:
        yield DIVERGENT
    yield from _eagle_drops(t)


def _eagle_drops(t: Transition) -> Iterator[str]:
    world = t.world
    life = t.lives[t.move.request]  # type: ignore[union-attr]
    for g in world.eagle_groups:
        group = world.groups[g]
        if group.kind in WHOLE and world.enable_caching:
            cached = tuple(
                KeyName(g, *world.name(life.prompt, n)) in t.before.index
                for n in range(world.unit, life.num_tokens + 1, world.unit)
            )
            alignment = world.hit_alignment
            whole = Kind("prefix", 0, group.block_size, False, cached)
            if longest_hit([whole], life.num_tokens - 1, world.unit, alignment).length:
                yield EAGLE_UNIT if alignment < group.block_size else EAGLE_BLOCK


def _shown_by_allocation(t: Transition, outcome: Allocated) -> Iterator[str]:
    world, found = t.world, outcome.found
    if outcome.rows is None:
        filled = t.before.marks.filled if t.before.marks else ()
        lasts = [row[-1:] for row in found.rows] if found else []
        waits = any(last and last[0] in blocks for last, blocks in zip(lasts, filled, strict=False))
        yield DEFERRAL if waits else FAILED
        return
    life = t.lives[t.move.request]  # type: ignore[union-attr]
    if found and any(found.hit % group.block_size for group in world.groups):
        yield PARTIAL_HIT
    if isinstance(t.move, Schedule) and len(t.after.copies) > len(t.before.copies):
        yield OWNER_MOVE
    if isinstance(t.move, Admit) and life.num_tokens > world.prompts[life.prompt].length:
        yield RESUMED
    held = set(t.before.queue) - set(t.after.queue)
    if any(
        t.before.keys[block] and not set(t.before.keys[block]) <= set(t.after.keys[block]) for block in held
    ):
        yield EVICTION
    if any(len(holders) > 1 for holders in t.after.index.values()):
        yield DUPLICATE
