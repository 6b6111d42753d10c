from dataclasses import replace

import pytest

from pagedkv.invariants import state_laws, table_laws
from pagedkv.invariants.laws import check_end, check_transition
from pagedkv.spec.moves import Admit, BeginPass, Finish, Schedule, Submit
from pagedkv.spec.snapshot import CopyName, HandOffName

from .build import (
    ATTENTION,
    HYBRID,
    Case,
    after,
    before,
    judge,
    keys,
    label,
    last,
    name,
    put,
    run,
    start,
    table,
)

ONE = last(ATTENTION, *run("r0", 0))
"""r0 has 5 tokens in blocks 1, 2 and 3."""
TWO = last(ATTENTION, *run("r0", 0), Submit("r1", 1), BeginPass(), Admit("r1", 12))
"""r1 has taken blocks 1 and 2 as its hit, and 4, 5 and 6."""
GONE = last(ATTENTION, *run("r0", 0), Finish("r0"))
PROMOTED = last(HYBRID, *run("r0", 0, 4))
"""Block 3 of attention has keys of 8 and 6 tokens; rows are (1, 3) and (0, 4); 5 is pinned."""
DECODING = last(HYBRID, *run("r0", 0, 4), BeginPass(), Schedule("r0", 12))
"""r0 computes token 9: rows are (1, 3, 6) and (0, 4, 7)."""

CASES: list[Case] = [
    (
        state_laws.count_is_holders,
        ONE,
        [
            after(ONE, ref_counts=(0, 1, 2, 1, 0, 0, 0, 0)),
            after(ONE, copies=(CopyName(0, 2, 3),)),
            after(ONE, pins={"r0": (1,)}),
        ],
    ),
    (
        state_laws.queued_when_unheld,
        ONE,
        [after(ONE, queue=queue) for queue in ((4, 5, 6), (4, 5, 6, 7, 7), (0, 4, 5, 6, 7), (3, 4, 5, 6, 7))],
    ),
    (
        state_laws.no_leak,
        GONE,
        [
            after(GONE, ref_counts=(0, 0, 0, 1, 0, 0, 0, 0)),
            after(GONE, queue=GONE.after.queue[1:], pins={"r0": (3,)}),
        ],
    ),
    (
        state_laws.both_ways,
        ONE,
        [
            keys(ONE, 1),
            keys(ONE, 1, name(0, 2), name(0, 2)),
            after(ONE, index={name(0, 2): (1,)}),
            after(ONE, index={**ONE.after.index, name(0, 6): (3,)}),
            after(ONE, index={**ONE.after.index, name(0, 2): (1, 3)}),
        ],
    ),
    (
        state_laws.primary_is_longest,
        PROMOTED,
        [keys(PROMOTED, 3, name(0, 6), name(0, 8)), keys(PROMOTED, 4, name(1, 8), name(1, 6))],
    ),
    (state_laws.ends_where_hits_can, ONE, [keys(ONE, 1, name(0, 1))]),
    (state_laws.ends_where_hits_can, PROMOTED, [keys(PROMOTED, 4, name(1, 7))]),
    (
        state_laws.keys_are_of_one_block,
        PROMOTED,
        [
            keys(PROMOTED, 3, name(0, 8), name(1, 6)),
            keys(PROMOTED, 3, name(0, 8), name(0, 4)),
            keys(PROMOTED, 3, name(0, 8), name(0, 6, prompt=2)),
            keys(PROMOTED, 0, name(0, 8)),
        ],
    ),
    (
        table_laws.writes_alone,
        TWO,
        [
            after(TWO, tables={**TWO.after.tables, "r1": ((1, 2, 3, 5, 6),)}),
            after(TWO, tables={**TWO.after.tables, "r0": ((3, 2, 3),)}),
            after(TWO, pins={"r1": (6,)}),
            after(TWO, hand_offs=(HandOffName("r0", 0, 6, 2),)),
        ],
    ),
    (table_laws.writes_alone, DECODING, [after(DECODING, pins={"r0": (7,)})]),
    (
        table_laws.covers_the_tokens,
        DECODING,
        [
            after(DECODING, tables=table(DECODING, "r0", g, row))
            for g, row in [(0, (1, 3)), (0, (1, 0, 6)), (1, (0, 4)), (1, (0, 4, 0)), (1, (0, 0, 7))]
        ],
    ),
    (
        table_laws.covers_the_tokens,
        ONE,
        [after(ONE, tables={}, num_cached={})],
    ),
    (
        table_laws.holds_no_more,
        DECODING,
        [
            after(DECODING, tables=table(DECODING, "r0", g, row))
            for g, row in [(0, (1, 3, 6, 9)), (1, (0, 4, 7, 9)), (1, (2, 0, 7)), (1, (2, 4, 7))]
        ],
    ),
    (table_laws.holds_no_more, PROMOTED, [after(PROMOTED, tables=table(PROMOTED, "r0", 0, (1, 3, 9)))]),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: label(case[0]))
def test_a_law_on_states_sees_what_breaks_it(case: Case) -> None:
    judge(*case)


def test_between_passes_a_state_before_the_running_one_is_held_but_not_two() -> None:
    t = last(HYBRID, *run("r0", 0, 5))
    assert t.after.tables["r0"][1] == (0, 4, 7)
    judge(table_laws.holds_no_more, t, [after(t, tables=table(t, "r0", 1, (2, 4, 7)))])


def test_blocks_that_a_pass_fills_are_shared_only_when_they_are_whole() -> None:
    story = start(ATTENTION)
    for move in (Submit("r0", 0), Submit("r1", 1), BeginPass(), Admit("r0", 12)):
        story.move(move)
    t = story.move(Admit("r1", 12))
    assert t.after.tables == {"r0": ((1, 2, 3),), "r1": ((1, 2, 4, 5, 6),)}
    judge(
        table_laws.writes_alone,
        t,
        [after(t, tables={"r0": ((1, 2, 3),), "r1": ((1, 2, 3, 5, 6),)})],
    )


def test_speculative_blocks_are_places_that_a_state_needs() -> None:
    group = replace(HYBRID.groups[1], speculative=1)
    world = replace(HYBRID, groups=(HYBRID.groups[0], group))
    t = last(world, *run("r0", 0))
    assert t.after.tables["r0"][1] == (2, 3)
    judge(table_laws.covers_the_tokens, t, [after(t, tables=table(t, "r0", 1, (2,)))])
    judge(table_laws.holds_no_more, t, [after(t, tables=table(t, "r0", 1, (2, 3, 4)))])


def test_at_the_end_everything_is_free() -> None:
    assert list(check_end(ATTENTION, GONE.after)) == []
    held = replace(GONE.after, ref_counts=put(GONE.after.ref_counts, 3, 1))
    clauses = {breach.clause for breach in check_end(ATTENTION, held)}
    assert clauses == {state_laws.no_leak.clause, state_laws.count_is_holders.clause}


def test_what_cannot_be_read_is_reported_and_nothing_else_is_asked() -> None:
    for broken in (
        after(ONE, ref_counts=(0, 1)),
        after(ONE, keys=()),
        after(ONE, queue=(4, 5, 6, 8)),
        after(ONE, tables={"r0": ()}),
        after(ONE, tables={"r0": ((1, 2, -3),)}),
        after(ONE, num_cached={}),
        after(ONE, copies=(CopyName(1, 1, 2),)),
        after(ONE, hand_offs=(HandOffName("r0", 0, 99, 4),)),
        after(ONE, pins={"r0": (99,)}),
        after(ONE, index={name(0, 2): ()}),
        keys(ONE, 1, name(7, 2)),
        keys(ONE, 1, name(0, 2, prompt=9)),
        keys(ONE, 1, name(0, 99)),
        before(ONE, queue=(99,)),
        replace(ONE, pass_began=replace(ONE.before, queue=(99,))),
    ):
        assert len(list(check_transition(broken))) == 1, broken
