"""The table of laws, and the one way to ask them."""

from collections.abc import Iterator
from typing import Any

from pagedkv.spec import World
from pagedkv.spec.moves import (
    Admit,
    BeginPass,
    CommonPrefix,
    Continue,
    EndPass,
    Evict,
    Finish,
    Loaded,
    Preempt,
    Reset,
    Schedule,
    Settle,
    Submit,
    Truncate,
)
from pagedkv.spec.outcomes import Raised
from pagedkv.spec.snapshot import KeyName, Snapshot

from . import allocation_laws, copy_laws, event_laws, hit_laws, key_laws, pool_laws, state_laws, table_laws
from .breach import Breach
from .edge import Edge, life_of
from .law import Law
from .shape import shape_of
from .state import State, state_after
from .view import Transition
from .wellformed import unreadable, unreadable_answer

STATE_LAWS: tuple[Law[State], ...] = (
    state_laws.sinks_stay,
    state_laws.count_is_holders,
    state_laws.queued_when_unheld,
    state_laws.no_leak,
    state_laws.both_ways,
    state_laws.primary_is_longest,
    state_laws.ends_where_hits_can,
    state_laws.keys_are_of_one_block,
    table_laws.writes_alone,
    table_laws.in_flight_is_held,
    table_laws.covers_the_tokens,
    table_laws.holds_no_more,
)
"""Laws on one snapshot."""

EDGE_LAWS: tuple[Law[Edge], ...] = (
    hit_laws.off,
    hit_laws.aligned,
    hit_laws.blocks_cover_it,
    key_laws.keys_before_the_gap,
    hit_laws.longest,
    hit_laws.eagle_drops_one,
    hit_laws.junction,
    hit_laws.divergent,
    hit_laws.longest_holder_answers,
    hit_laws.read_only,
    hit_laws.truncation,
    hit_laws.common_prefix,
    allocation_laws.tables_append_only,
    allocation_laws.skipped_are_freed,
    copy_laws.consumer_gets_private_block,
    copy_laws.owner_keeps_its_block,
    allocation_laws.encoder_once,
    allocation_laws.hits_before_new,
    allocation_laws.whole_sequence_fits,
    allocation_laws.watermark,
    allocation_laws.prediction_is_exact,
    allocation_laws.same_pass_waits,
    allocation_laws.none_changes_nothing,
    allocation_laws.answers_new_entries,
    allocation_laws.lists_new_blocks,
    copy_laws.drained_in_order,
    copy_laws.dies_with_request,
    copy_laws.forgets_the_request,
    copy_laws.once_and_pinned,
    key_laws.full_blocks_become_keys,
    key_laws.partial_prompt_end,
    key_laws.sent_again_hits,
    key_laws.resend_boundaries,
    pool_laws.taken_from_the_front,
    pool_laws.freed_tails_first,
    pool_laws.touched_leaves_queue,
    pool_laws.evict_takes_keys,
    pool_laws.reset_when_idle,
    key_laws.keys_stay,
    key_laws.promotion,
    key_laws.older_holders_come_first,
    key_laws.move_takes_all,
    key_laws.withdrawn_keys_go,
    event_laws.cleared_by_reset,
    event_laws.in_order,
    event_laws.removed_when_gone,
    event_laws.stored_when_new,
    event_laws.parents_known,
    event_laws.tells_the_block,
    event_laws.replay_rebuilds,
)
"""Laws on one move. What says more about the cause comes first: the first breach names the fault."""

LAWS: tuple[Law[Any], ...] = (*STATE_LAWS, *EDGE_LAWS)

_MOVES: tuple[type, ...] = (
    Submit,
    Continue,
    BeginPass,
    Admit,
    Schedule,
    Preempt,
    Finish,
    EndPass,
    Settle,
    Loaded,
    Evict,
    Reset,
    Truncate,
    CommonPrefix,
)
_BY_MOVE = {move: tuple(law for law in EDGE_LAWS if not law.moves or move in law.moves) for move in _MOVES}


def check_transition(t: Transition) -> Iterator[Breach]:
    """All laws on one move and on the state that it led to.

    A snapshot or an answer that cannot be read is reported as that alone. After an error nothing is
    asked: the error itself is to be judged.
    """
    if isinstance(t.outcome, Raised):
        return
    found = [
        *unreadable(t.world, t.before),
        *unreadable(t.world, t.after),
        *(unreadable(t.world, t.pass_began) if t.pass_began else ()),
        *unreadable_answer(t.world, life_of(t), t.outcome),
    ]
    if found:
        yield from found
        return
    shape = shape_of(t.world)
    state = state_after(t, shape)
    for law in STATE_LAWS:
        for because in law.reasons(state):
            yield Breach(law.clause, because)
    edge = Edge(t, shape)
    for edge_law in _BY_MOVE[type(t.move)]:
        for because in edge_law.reasons(edge):
            yield Breach(edge_law.clause, because)


def check_end(world: World, snapshot: Snapshot[KeyName]) -> Iterator[Breach]:
    """The laws on a state in which no request is left and no pass is open."""
    found = [*unreadable(world, snapshot)]
    if found:
        yield from found
        return
    state = State(world, shape_of(world), snapshot, {}, is_idle=True)
    for law in STATE_LAWS:
        for because in law.reasons(state):
            yield Breach(law.clause, because)
