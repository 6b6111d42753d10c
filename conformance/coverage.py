"""Which behaviours of the system a move has shown.

A run that claims one and never shows it has proved nothing.
"""

from collections.abc import Iterator

from pagedkv.invariants.call import Call
from pagedkv.invariants.shape import shape_of
from pagedkv.invariants.view import Transition
from pagedkv.spec.event_names import Removed, Stored
from pagedkv.spec.moves import (
    Admit,
    BeginPass,
    Continue,
    EndPass,
    Evict,
    Loaded,
    Preempt,
    Reset,
    Schedule,
    Settle,
)
from pagedkv.spec.outcomes import Allocated, Answered, Found, Stepped, Viewed, Waits
from pagedkv.spec.rules.caching import resend_length
from pagedkv.spec.rules.hits import Kind, longest_hit
from pagedkv.spec.snapshot import KeyName
from pagedkv.spec.world import STATES, WHOLE

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
LOADED_IN_STEP = "load in the step"
LOADED_BEHIND = "load behind the step"
LOAD_INVALID = "load in the step that was invalid"
LOAD_FAILED = "failed load"
LOAD_FAILED_IN_PART = "partly failed load"
PASS_IN_FLIGHT = "pass beside a step in flight"
FREE_WAITED = "free that waited for a step"
DRAFT_ACCEPTED = "draft accepted"
DRAFT_REJECTED = "draft rejected"
KEPT_FREE = "refused for a reserve"
TOO_LONG = "refused for all its tokens"
ZEROED = "block zeroed"
LEFT_OUT = "block left out by an interval"
SENT_AGAIN = "hit of a prompt sent again"

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
    elif isinstance(outcome, Stepped) and isinstance(move, EndPass):
        if outcome.hand_offs:
            yield HAND_OFF
            if move.release_first:
                yield HAND_OFF_AFTER_RELEASE
        if outcome.zeroed:
            yield ZEROED
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
    elif isinstance(move, BeginPass) and t.flight.is_busy:
        yield PASS_IN_FLIGHT
    elif isinstance(move, Settle) and any(t.flight.frees):
        yield FREE_WAITED
    elif isinstance(move, Loaded):
        if not move.valid:
            yield LOAD_FAILED
        elif move.valid < t.lives[move.request].computed:
            yield LOAD_FAILED_IN_PART


def _shown_by_lookup(t: Transition, found: Found) -> Iterator[str]:
    if found.hit:
        yield HIT
    if found.junction:
        yield JUNCTION
    if found.diverged:
        yield DIVERGENT
    yield from _eagle_drops(t)
    if t.world.options.resend_boundaries and found.hit and not found.diverged:
        life = t.lives[t.move.request]  # type: ignore[union-attr]
        length = t.world.prompts[life.prompt].length
        if found.hit == resend_length(length, t.world.hit_alignment, t.world.resend_margin):
            yield SENT_AGAIN


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
        yield DEFERRAL if found and _begins_with_unwritten(t, found) else FAILED
        yield from _reasons_of_refusal(t, outcome)
        return
    yield from _shown_by_options(t, outcome)
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


def _begins_with_unwritten(t: Transition, found: Found) -> bool:
    """Whether the pass still fills a state, or a block to be copied, that the hit ends with."""
    filled = t.before.marks.filled if t.before.marks else ()
    return any(
        bool(row) and row[-1] in blocks and (group.kind in STATES or found.hit % group.block_size > 0)
        for group, row, blocks in zip(t.world.groups, found.rows, filled, strict=False)
    )


def _reasons_of_refusal(t: Transition, outcome: Allocated) -> Iterator[str]:
    """What a call was refused for that would have found its blocks free."""
    life = t.lives[t.move.request]  # type: ignore[union-attr]
    call = Call(t, shape_of(t.world), life, outcome, isinstance(t.move, Admit))
    free = len(call.queue)
    if call.needs() <= free and not call.waits_for():
        yield KEPT_FREE if call.needs() > free - call.spare() else TOO_LONG


def _shown_by_options(t: Transition, outcome: Allocated) -> Iterator[str]:
    """What a served call shows that plain deployments do not have."""
    move, options = t.move, t.world.options
    if outcome.external:
        yield LOADED_IN_STEP if outcome.num_new_tokens else LOADED_BEHIND
        if isinstance(move, Admit) and move.valid is not None:
            yield LOAD_INVALID
    if isinstance(move, Schedule) and move.drafts:
        if move.accepted:
            yield DRAFT_ACCEPTED
        if move.accepted < move.drafts:
            yield DRAFT_REJECTED
    if options.retention_interval is not None:
        request = move.request  # type: ignore[union-attr]
        for g, row in enumerate(t.after.tables[request]):
            first = t.before.num_cached[request][g] if request in t.before.num_cached else 0
            if any(
                block and not t.after.keys[block] for block in row[first : t.after.num_cached[request][g]]
            ):
                yield LEFT_OUT
