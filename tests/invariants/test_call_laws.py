from dataclasses import replace

import pytest

from pagedkv.invariants import allocation_laws, copy_laws
from pagedkv.spec.moves import Admit, BeginPass, EndPass, Finish, Preempt, Schedule, Submit
from pagedkv.spec.outcomes import Allocated
from pagedkv.spec.snapshot import CopyName, HandOffName
from pagedkv.spec.world import Prompt

from .build import (
    ATTENTION,
    HYBRID,
    TOKENS,
    Case,
    after,
    answered,
    before,
    judge,
    label,
    last,
    run,
    table,
)

HIT = last(HYBRID, *run("r0", 0, 2), Submit("r1", 1), BeginPass(), Admit("r1", 12))
"""r1 hits 6 tokens in (1, 3) and (0, 4), and has (1, 5) and (0, 6)."""
OWN = last(HYBRID, *run("r0", 0, 2), BeginPass(), Schedule("r0", 12))
"""r0 goes on from its own entry: rows (1, 3) and (0, 4), no more (2, 4); block 5 gets the entry."""
DRAINED = last(HYBRID, *run("r0", 0, 2), BeginPass(), Schedule("r0", 12), EndPass())
TWO_COPIES = last(HYBRID, *run("r0", 0, 2), Submit("r1", 1), BeginPass(), Admit("r1", 12), EndPass())
GROWS = last(HYBRID, *run("r0", 0, 4), BeginPass(), Schedule("r0", 12))
"""r0 goes from (1, 3) and (0, 4) to (1, 3, 6) and (0, 4, 7)."""
WAITS = last(HYBRID, Submit("r0", 0), Submit("r1", 1), BeginPass(), Admit("r0", 4), Admit("r1", 4))
"""r1 would start from the state that r0 writes in this pass."""
INSIDE = last(HYBRID, *run("r0", 0, 2), Submit("r1", 1), BeginPass(), Schedule("r0", 12), Admit("r1", 12))
"""r1 would start from the entry that a queued copy fills."""
FULL = last(replace(ATTENTION, num_blocks=6), *run("r0", 0), Submit("r1", 1), BeginPass(), Admit("r1", 12))
"""r1 hits 4 tokens and needs 3 blocks more, of 2."""
STUCK = last(
    replace(HYBRID, num_blocks=6),
    *(*run("r0", 0, 2), Submit("r1", 2), BeginPass(), Schedule("r0", 12), EndPass()),
    *(BeginPass(), Schedule("r0", 12), EndPass(), BeginPass(), Schedule("r0", 12)),
)
"""r0 needs two blocks for token 9, of one."""
LEFT = last(HYBRID, *run("r0", 0, 3), BeginPass(), Preempt("r0", False))
GONE = last(HYBRID, *run("r0", 0, 3), Finish("r0"))
DROPPED = last(HYBRID, *run("r0", 0, 2), BeginPass(), Schedule("r0", 12), Preempt("r0", True))
"""r0's entry has moved to block 5, which nobody takes over any more."""

CASES: list[Case] = [
    (
        allocation_laws.tables_append_only,
        GROWS,
        [
            after(GROWS, tables=table(GROWS, "r0", 0, (1, 9, 6))),
            after(GROWS, tables=table(GROWS, "r0", 0, (1, 0, 6))),
            after(GROWS, tables=table(GROWS, "r0", 0, (1,))),
            after(GROWS, tables=table(GROWS, "r0", 1, (0, 0, 7))),
        ],
    ),
    (
        allocation_laws.tables_append_only,
        HIT,
        [
            after(HIT, tables=table(HIT, "r0", 1, (0, 4))),
            after(HIT, tables=table(HIT, "r0", 0, (1, 3, 9))),
        ],
    ),
    (allocation_laws.skipped_are_freed, OWN, [after(OWN, tables=table(OWN, "r0", 1, (2, 4)))]),
    (
        allocation_laws.prediction_is_exact,
        HIT,
        [
            answered(HIT, rows=None),
            after(HIT, queue=HIT.after.queue[1:]),
            before(HIT, queue=HIT.before.queue[:1]),
        ],
    ),
    (
        allocation_laws.prediction_is_exact,
        OWN,
        [before(OWN, queue=()), after(OWN, queue=(5, *OWN.after.queue))],
    ),
    (allocation_laws.prediction_is_exact, FULL, [answered(FULL, rows=((4, 5),))]),
    (allocation_laws.prediction_is_exact, WAITS, [replace(WAITS, work={}, pass_began=WAITS.before)]),
    (allocation_laws.same_pass_waits, WAITS, [answered(WAITS, rows=((3,), (4,)))]),
    (allocation_laws.same_pass_waits, INSIDE, [answered(INSIDE, rows=((6,), (7,)))]),
    (
        allocation_laws.none_changes_nothing,
        FULL,
        [
            after(FULL, queue=(5, 4)),
            after(FULL, keys=((),) * 6),
            after(FULL, ref_counts=(0, 2, 2, 1, 0, 0)),
            after(FULL, tables={**FULL.after.tables, "r1": ((1, 2),)}, num_cached={"r0": (2,), "r1": (2,)}),
        ],
    ),
    (
        allocation_laws.none_changes_nothing,
        STUCK,
        [after(STUCK, copies=(CopyName(1, 4, 5),)), after(STUCK, num_cached={"r0": (3, 2)})],
    ),
    (
        allocation_laws.hits_before_new,
        HIT,
        [after(HIT, copies=(CopyName(0, 3, 1), CopyName(1, 4, 6)), tables=table(HIT, "r1", 0, (1, 1)))],
    ),
    (
        allocation_laws.answers_new_entries,
        HIT,
        [answered(HIT, rows=rows) for rows in [((), (6,)), ((1, 5), (0, 6)), ((5,), (0, 6))]],
    ),
    (
        allocation_laws.answers_new_entries,
        OWN,
        [answered(OWN, rows=rows) for rows in [((), (5,)), ((1, 3), (0, 4))]],
    ),
    (allocation_laws.answers_new_entries, GROWS, [answered(GROWS, rows=((6,), (0, 4, 7)))]),
    (
        copy_laws.consumer_gets_private_block,
        HIT,
        [
            after(HIT, copies=(CopyName(0, 3, 5),)),
            after(HIT, copies=(CopyName(0, 5, 3), CopyName(1, 4, 6))),
            after(HIT, tables=table(HIT, "r1", 0, (1, 3))),
            after(HIT, tables=table(HIT, "r1", 0, (2, 5))),
        ],
    ),
    (
        copy_laws.owner_keeps_its_block,
        OWN,
        [
            after(OWN, copies=()),
            after(OWN, copies=(CopyName(1, 4, 5), CopyName(0, 3, 6))),
            after(OWN, tables=table(OWN, "r0", 1, (0, 5))),
            after(OWN, copies=(CopyName(1, 5, 4),)),
        ],
    ),
    (
        copy_laws.drained_in_order,
        TWO_COPIES,
        [
            answered(TWO_COPIES, copies=((4, 6), (3, 5))),
            answered(TWO_COPIES, copies=((3, 5),)),
            after(TWO_COPIES, copies=(CopyName(0, 3, 5),)),
        ],
    ),
    (copy_laws.drained_in_order, DROPPED, [after(DROPPED, copies=())]),
    (copy_laws.drained_in_order, HIT, [after(HIT, copies=HIT.after.copies[::-1])]),
    (
        copy_laws.once_and_pinned,
        OWN,
        [
            after(OWN, hand_offs=()),
            after(OWN, hand_offs=(HandOffName("r0", 1, 5, 4),)),
            after(OWN, pins={"r0": (5,)}),
        ],
    ),
    (
        copy_laws.once_and_pinned,
        DRAINED,
        [
            answered(DRAINED, hand_offs=()),
            answered(DRAINED, hand_offs=DRAINED.before.hand_offs * 2),
            after(DRAINED, hand_offs=DRAINED.before.hand_offs),
            after(DRAINED, pins={}),
            after(DRAINED, pins={"r0": (4,)}),
        ],
    ),
    (copy_laws.once_and_pinned, LEFT, [after(LEFT, pins={"r0": (5,)})]),
    (copy_laws.dies_with_request, DROPPED, [after(DROPPED, hand_offs=DROPPED.before.hand_offs)]),
    (
        copy_laws.forgets_the_request,
        GONE,
        [
            after(GONE, tables=GONE.before.tables, num_cached=GONE.before.num_cached),
            after(GONE, pins={"r0": (5,)}),
            after(GONE, pins={"r1": (5,)}),
        ],
    ),
    (copy_laws.forgets_the_request, LEFT, [after(LEFT, pins={"r0": ()})]),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: label(case[0]))
def test_a_law_on_calls_sees_what_breaks_it(case: Case) -> None:
    judge(*case)


def test_the_stories_are_those_meant() -> None:
    assert HIT.after.tables["r1"] == ((1, 5), (0, 6))
    assert HIT.after.copies == (CopyName(0, 3, 5), CopyName(1, 4, 6))
    assert (OWN.before.tables["r0"], OWN.after.tables["r0"]) == (((1, 3), (2, 4)), ((1, 3), (0, 4)))
    assert OWN.after.copies == (CopyName(1, 4, 5),)
    assert GROWS.after.tables["r0"] == ((1, 3, 6), (0, 4, 7))
    for t in (WAITS, INSIDE, FULL, STUCK):
        assert isinstance(t.outcome, Allocated) and t.outcome.rows is None
    assert DRAINED.after.pins == {"r0": (5,)}
    assert DROPPED.before.hand_offs and DROPPED.after.copies


def test_an_entry_that_lost_its_keys_is_not_moved() -> None:
    keys = tuple(() if block == 4 else names for block, names in enumerate(OWN.before.keys))
    judge(copy_laws.owner_keeps_its_block, OWN, [before(OWN, keys=keys)])


def test_speculative_blocks_are_used_again_at_their_new_place() -> None:
    group = replace(HYBRID.groups[1], speculative=1)
    prompt = Prompt(TOKENS * 2, 14)
    world = replace(HYBRID, groups=(HYBRID.groups[0], group), prompts=(prompt,), unit=4)
    t = last(world, Submit("r0", 0), BeginPass(), Admit("r0", 4), EndPass(), BeginPass(), Schedule("r0", 8))
    assert (t.before.tables["r0"][1], t.after.tables["r0"][1]) == ((2, 3), (2, 0, 3, 6))
    judge(allocation_laws.tables_append_only, t, [after(t, tables=table(t, "r0", 1, (0, 0, 3, 6)))])
    judge(
        allocation_laws.prediction_is_exact,
        t,
        [after(t, tables=table(t, "r0", 1, (2, 0, 6, 7)), queue=t.after.queue[1:])],
    )
