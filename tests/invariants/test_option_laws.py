"""What breaks the laws where steps are in flight, connectors load, pools keep a reserve and workers zero."""

from dataclasses import replace

import pytest

from pagedkv.invariants import allocation_laws, key_laws, pool_laws, state_laws, table_laws
from pagedkv.spec import World
from pagedkv.spec.moves import Admit, BeginPass, EndPass, Finish, Loaded, Schedule, Settle, Submit
from pagedkv.spec.outcomes import Allocated
from pagedkv.spec.world import Group, Prompt

from .build import (
    ATTENTION,
    HYBRID,
    TOKENS,
    Case,
    after,
    answered,
    before,
    judge,
    keys,
    label,
    last,
    name,
    objections,
    run,
    table,
    with_options,
)

FLYING = with_options(ATTENTION, max_in_flight=1)
CONNECTED = with_options(ATTENTION, has_connector=True, needs_zeroing=True)
ZEROING = with_options(HYBRID, needs_zeroing=True)
RESENT = with_options(replace(HYBRID, unit=1, prompts=(Prompt(TOKENS, 7),)), resend_boundaries=True)
SPARSE = with_options(
    World((Group("window", 2, reach=2),), 8, 2, (Prompt(TOKENS, 9),), 2, 12), retention_interval=4
)

DISPATCHED = last(FLYING, Submit("r0", 0), BeginPass(), Admit("r0", 12), EndPass())
"""The step of r0, in blocks 1 to 3, is in flight."""
OVERTAKEN = last(
    FLYING, *(Submit("r0", 0), BeginPass(), Admit("r0", 12), EndPass(), Submit("r1", 0), BeginPass()),
    Admit("r1", 12, "none"),
)  # fmt: skip
"""r1 takes the blocks 4 to 6 while the step of r0 is in flight."""
SETTLED = last(
    FLYING, *(Submit("r0", 0), Submit("r1", 0), BeginPass(), Admit("r0", 4), Admit("r1", 4, "none")),
    *(EndPass(), Finish("r1"), Finish("r0"), Settle()),
)  # fmt: skip
"""r1, in (3, 4), and then r0, in (1, 2), left while their step was in flight."""
WAITING = last(FLYING, Submit("r0", 0), BeginPass(), Admit("r0", 12), EndPass(), Finish("r0"))
"""The blocks of r0 are popped and wait for its step."""
LOADING = last(CONNECTED, Submit("r0", 1), BeginPass(), Admit("r0", 12, "common", 8, True))
"""Blocks 1 to 4 are being loaded."""
IN_STEP = last(CONNECTED, Submit("r0", 1), BeginPass(), Admit("r0", 12, "common", 4))
"""Blocks 1 and 2 are loaded in the step that fills 3 to 5."""
_LOAD = (Submit("r0", 1), BeginPass(), Admit("r0", 12, "common", 8, True), EndPass())
LOADED = last(CONNECTED, *_LOAD, Loaded("r0", 8))
HALF_LOADED = last(CONNECTED, *_LOAD, Loaded("r0", 4))
NOT_LOADED = last(CONNECTED, *_LOAD, Loaded("r0", 0))
ZEROED_HIT = last(ZEROING, *run("r0", 0, 2), Submit("r1", 1), BeginPass(), Admit("r1", 12))
"""r1 gets a private block in each group: 5 of attention and 6 of states."""
ZEROED = last(ZEROING, *run("r0", 0, 2), Submit("r1", 1), BeginPass(), Admit("r1", 12), EndPass())
PART = last(
    with_options(ATTENTION, full_sequence_must_fit=True), Submit("r0", 1), BeginPass(), Admit("r0", 2)
)
"""r0 takes one block of the five that it needs in all."""
WINDOW_PART = last(
    with_options(
        World((Group("window", 2, reach=2),), 8, 2, (Prompt(TOKENS, 9),), 2, 12),
        full_sequence_must_fit=True,
        max_in_flight_tokens=2,
    ),
    *(Submit("r0", 0), BeginPass(), Admit("r0", 2)),
)
"""r0 holds three blocks at most: two for its window and what is in flight, and the one it begins in."""
SECOND = last(
    with_options(replace(ATTENTION, num_blocks=10), watermark_percent=25),
    *(Submit("r0", 0), Submit("r1", 0), BeginPass(), Admit("r0", 12), Admit("r1", 12)),
)
"""r1 leaves five blocks; two have to stay."""
RESERVED = last(ATTENTION, Submit("r0", 0), BeginPass(), Admit("r0", 12, reserved=2))
REFUSED = last(ATTENTION, Submit("r0", 0), BeginPass(), Admit("r0", 12, reserved=5))
AHEAD = last(with_options(ATTENTION, num_lookahead_tokens=3), Submit("r0", 0), BeginPass(), Admit("r0", 12))
"""r0 has four blocks, of which its five tokens fill three."""
SENT_AGAIN = last(RESENT, *run("r0", 0), BeginPass(), Schedule("r0", 12))
"""r0 reaches token 6 of a prompt of 7, where the same prompt can hit."""
THINNED = last(SPARSE, Submit("r0", 0), BeginPass(), Admit("r0", 12))
"""Of (1, 2, 3, 4, 5) the blocks 2 and 4 become keys."""

CASES: list[Case] = [
    (table_laws.in_flight_is_held, DISPATCHED, [after(DISPATCHED, queue=(1, *DISPATCHED.after.queue))]),
    (table_laws.in_flight_is_held, WAITING, [after(WAITING, queue=(3, *WAITING.after.queue))]),
    (
        pool_laws.taken_from_the_front,
        OVERTAKEN,
        [replace(OVERTAKEN, flight=OVERTAKEN.flight._replace(used=frozenset({3, 4})))],
    ),
    (state_laws.count_is_holders, WAITING, [after(WAITING, ref_counts=(0,) * 8)]),
    (state_laws.no_leak, SETTLED, [after(SETTLED, queue=SETTLED.after.queue[1:])]),
    (
        pool_laws.freed_tails_first,
        SETTLED,
        [
            after(SETTLED, queue=(5, 6, 7, 2, 1, 4, 3)),
            after(SETTLED, queue=(5, 6, 7, 3, 4, 1, 2)),
            after(SETTLED, queue=SETTLED.before.queue),
        ],
    ),
    (
        key_laws.full_blocks_become_keys,
        LOADING,
        [keys(LOADING, 1, name(0, 2)), after(LOADING, num_cached={"r0": (4,)})],
    ),
    (key_laws.full_blocks_become_keys, IN_STEP, [keys(IN_STEP, 1), after(IN_STEP, num_cached={"r0": (2,)})]),
    (key_laws.full_blocks_become_keys, LOADED, [keys(LOADED, 1), after(LOADED, num_cached={"r0": (0,)})]),
    (key_laws.full_blocks_become_keys, HALF_LOADED, [keys(HALF_LOADED, 3, name(0, 6)), keys(HALF_LOADED, 2)]),
    (key_laws.full_blocks_become_keys, THINNED, [keys(THINNED, 1, name(0, 2)), keys(THINNED, 4)]),
    (key_laws.resend_boundaries, SENT_AGAIN, [keys(SENT_AGAIN, 3), keys(SENT_AGAIN, 4)]),
    (
        pool_laws.freed_tails_first,
        NOT_LOADED,
        [after(NOT_LOADED, queue=(1, 2, 3, 4, 5, 6, 7))],
    ),
    (table_laws.writes_alone, LOADING, [after(LOADING, tables=table(LOADING, "r0", 0, (1, 1, 3, 4)))]),
    (allocation_laws.answers_new_entries, IN_STEP, [answered(IN_STEP, rows=((1, 2, 3, 4, 5),))]),
    (
        allocation_laws.prediction_is_exact,
        IN_STEP,
        [before(IN_STEP, queue=(1, 2, 3, 4)), after(IN_STEP, queue=(5, 6, 7)), answered(IN_STEP, rows=None)],
    ),
    (allocation_laws.prediction_is_exact, RESERVED, [before(RESERVED, queue=(1, 2, 3, 4))]),
    (allocation_laws.prediction_is_exact, REFUSED, [answered(REFUSED, rows=((1, 2, 3),))]),
    (allocation_laws.prediction_is_exact, AHEAD, [before(AHEAD, queue=(1, 2, 3))]),
    (table_laws.covers_the_tokens, AHEAD, [after(AHEAD, tables=table(AHEAD, "r0", 0, (1, 2, 3)))]),
    (table_laws.holds_no_more, AHEAD, [after(AHEAD, tables=table(AHEAD, "r0", 0, (1, 2, 3, 4, 5)))]),
    (allocation_laws.watermark, SECOND, [after(SECOND, queue=(9,)), after(SECOND, queue=())]),
    (allocation_laws.whole_sequence_fits, PART, [before(PART, queue=(1, 2, 3, 4))]),
    (allocation_laws.whole_sequence_fits, WINDOW_PART, [before(WINDOW_PART, queue=(1, 2))]),
    (
        allocation_laws.lists_new_blocks,
        LOADING,
        [after(LOADING, to_zero=((1, 2, 3, 4),)), after(LOADING, to_zero=((1,),))],
    ),
    (
        allocation_laws.lists_new_blocks,
        IN_STEP,
        [after(IN_STEP, to_zero=(row,)) for row in [(3, 4, 5), (3, 4, 5, 1, 2), (1, 2, 3, 4, 5, 5)]],
    ),
    (
        allocation_laws.lists_new_blocks,
        HALF_LOADED,
        [after(HALF_LOADED, to_zero=(row,)) for row in [(), (4,), (2, 3, 4), (4, 3)]],
    ),
    (
        allocation_laws.lists_new_blocks,
        ZEROED_HIT,
        [after(ZEROED_HIT, to_zero=rows) for rows in [((), ()), ((5,), (6,)), ((3, 5), ()), ((0, 5), ())]],
    ),
    (
        allocation_laws.lists_new_blocks,
        ZEROED,
        [after(ZEROED, to_zero=((5,), ())), answered(ZEROED, zeroed=()), answered(ZEROED, zeroed=(5, 5))],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: label(case[0]))
def test_a_law_on_options_sees_what_breaks_it(case: Case) -> None:
    judge(*case)


def test_the_stories_are_those_meant() -> None:
    assert DISPATCHED.flight.used_after == {1, 2, 3}
    assert SETTLED.flight.frees == ((4, 3), (2, 1))
    assert WAITING.flight.held == (3, 2, 1) and not WAITING.after.tables
    assert LOADING.after.tables == {"r0": ((1, 2, 3, 4),)} and LOADING.after.to_zero == ((),)
    assert IN_STEP.after.to_zero == ((1, 2, 3, 4, 5),)
    assert HALF_LOADED.after.to_zero == ((3, 4),) and not NOT_LOADED.after.tables
    assert (ZEROED_HIT.after.to_zero, ZEROED.after.to_zero) == (((5,), ()), ((), ()))
    assert len(SECOND.after.queue) == 5
    assert isinstance(REFUSED.outcome, Allocated) and REFUSED.outcome.rows is None
    assert AHEAD.after.tables == {"r0": ((1, 2, 3, 4),)}
    assert SENT_AGAIN.after.keys[3:5] == ((name(0, 6),), (name(1, 6),))
    assert [len(names) for names in THINNED.after.keys] == [0, 0, 1, 0, 1, 0, 0, 0]


def test_the_first_request_of_a_pass_may_take_what_the_watermark_keeps() -> None:
    moves = (Submit("r0", 0), BeginPass(), Admit("r0", 12))
    first = last(with_options(replace(ATTENTION, num_blocks=4), watermark_percent=50), *moves)
    assert first.after.queue == ()
    assert objections(allocation_laws.watermark, first) == []
