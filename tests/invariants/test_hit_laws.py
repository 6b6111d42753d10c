from dataclasses import replace

import pytest

from pagedkv.invariants import hit_laws
from pagedkv.invariants.laws import check_transition
from pagedkv.spec.moves import (
    Admit,
    BeginPass,
    CommonPrefix,
    EndPass,
    Evict,
    Move,
    Schedule,
    Submit,
    Truncate,
)
from pagedkv.spec.outcomes import Answered
from pagedkv.spec.world import Group

from .build import (
    ATTENTION,
    HYBRID,
    Case,
    after,
    answered,
    before,
    found_in,
    judge,
    label,
    last,
    name,
    run,
    said,
)

PARTIAL: tuple[Move, ...] = (*run("r0", 0, 2), Submit("r1", 1), BeginPass(), Admit("r1", 12))
"""r0 has 6 tokens in (1, 3) and (2, 4); r1 hits all of them."""
HIT = last(HYBRID, *PARTIAL)
LATER = last(HYBRID, *PARTIAL, EndPass(), Submit("r2", 1), BeginPass(), Admit("r2", 12))
"""Block 5 of r1 is a younger holder of r0's entry of 6 tokens."""
IN_FOURS: tuple[Move, ...] = (
    *(Submit("r0", 0), BeginPass(), Admit("r0", 4), EndPass(), BeginPass(), Schedule("r0", 4), EndPass()),
    *(Submit("r1", 1), BeginPass(), Admit("r1", 12)),
)
"""r0 leaves states after 4 and 6 tokens."""
EAGLE = last(replace(HYBRID, use_eagle=True), *IN_FOURS)
"""Attention has 6 tokens and gives up 2; there is a state at 4."""
LOST = last(HYBRID, *run("r0", 0, 2), Evict((4,)), Submit("r1", 1), BeginPass(), Admit("r1", 12))
"""Attention has 6 tokens, the state after them is lost."""
CONNECTOR = last(
    HYBRID, *run("r0", 0, 2), Evict((4,)), Submit("r1", 1), BeginPass(), Admit("r1", 12, "divergent")
)
DEEPER = last(
    HYBRID, *run("r0", 0, 2), Evict((3,)), Submit("r1", 1), BeginPass(), Admit("r1", 12, "divergent")
)
"""The state at 6 is there, attention has 4 tokens."""
OFF = last(
    replace(ATTENTION, enable_caching=False), *run("r0", 0), Submit("r1", 1), BeginPass(), Admit("r1", 6)
)
CUT = last(ATTENTION, *run("r0", 0), Submit("r1", 1), Truncate("r1", 2))
TOO_FAR = last(ATTENTION, *run("r0", 0), Submit("r1", 1), Truncate("r1", 6))
STATE_LAGS = last(HYBRID, *run("r0", 0, 2), Submit("r1", 1), Truncate("r1", 4))
COMMON = last(HYBRID, *run("r0", 0), *run("r1", 1), CommonPrefix("r1"))
"""r0 and r1 have block 1 of attention and no more in common."""

CASES: list[Case] = [
    (hit_laws.aligned, HIT, [said(HIT, hit=5)]),
    (
        hit_laws.blocks_cover_it,
        HIT,
        [
            said(HIT, rows=rows)
            for rows in [((1,), (0, 4)), ((1, 0), (0, 4)), ((1, 3), (2, 4)), ((1, 3), (0, 0)), ((1, 3), (4,))]
        ],
    ),
    (hit_laws.blocks_cover_it, CONNECTOR, [said(CONNECTOR, rows=((1, 3), (0, 2)))]),
    (hit_laws.longest, HIT, [said(HIT, hit=4, rows=((1,), (2,))), said(HIT, hit=0, rows=((), ()))]),
    (
        hit_laws.eagle_drops_one,
        EAGLE,
        [said(EAGLE, hit=6, rows=((1, 3), (0, 4))), said(EAGLE, hit=0, rows=((), ()))],
    ),
    (hit_laws.junction, LOST, [said(LOST, junction=0), said(LOST, junction=4)]),
    (hit_laws.junction, HIT, [said(HIT, junction=6)]),
    (
        hit_laws.divergent,
        CONNECTOR,
        [said(CONNECTOR, diverged=False), said(CONNECTOR, hit=4), said(CONNECTOR, junction=6)],
    ),
    (hit_laws.divergent, DEEPER, [said(DEEPER, diverged=True)]),
    (hit_laws.divergent, LOST, [said(LOST, diverged=True)]),
    (
        hit_laws.longest_holder_answers,
        LATER,
        [said(LATER, rows=((1, 5), (0, 4))), said(LATER, rows=((3, 3), (0, 4)))],
    ),
    (hit_laws.longest_holder_answers, CONNECTOR, [said(CONNECTOR, rows=((1, 3), (4,)))]),
    (hit_laws.off, OFF, [said(OFF, hit=2, rows=((1,),)), said(OFF, junction=2)]),
    (hit_laws.read_only, CONNECTOR, [after(CONNECTOR, queue=CONNECTOR.after.queue[::-1])]),
    (hit_laws.read_only, CUT, [after(CUT, ref_counts=(0, 2, 1, 1, 0, 0, 0, 0))]),
    (hit_laws.read_only, COMMON, [after(COMMON, index={})]),
    (
        hit_laws.truncation,
        CUT,
        [answered(CUT, rows=None), answered(CUT, rows=((1, 2),)), answered(CUT, rows=((2,),))],
    ),
    (hit_laws.truncation, TOO_FAR, [answered(TOO_FAR, rows=((1, 2),))]),
    (hit_laws.truncation, STATE_LAGS, [answered(STATE_LAGS, rows=((1,), ()))]),
    (
        hit_laws.common_prefix,
        COMMON,
        [replace(COMMON, outcome=Answered(counts)) for counts in ((0, 0), (2, 0), (1, 1))],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: label(case[0]))
def test_a_law_on_lookups_sees_what_breaks_it(case: Case) -> None:
    judge(*case)


def test_the_stories_are_those_meant() -> None:
    hits = {"HIT": HIT, "EAGLE": EAGLE, "LOST": LOST, "CONNECTOR": CONNECTOR, "DEEPER": DEEPER}
    found = {story: found_in(t) for story, t in hits.items()}
    assert {story: (f.hit, f.junction, f.diverged) for story, f in found.items()} == {
        "HIT": (6, 0, False),
        "EAGLE": (4, 0, False),
        "LOST": (4, 6, False),
        "CONNECTOR": (6, 0, True),
        "DEEPER": (4, 0, False),
    }
    assert LATER.before.index[name(0, 6)] == (3, 5)
    assert OFF.outcome != HIT.outcome and COMMON.outcome == Answered((1, 0))


def test_a_hit_ends_on_multiples_of_all_blocks_where_it_may_not_end_inside_one() -> None:
    coarse = replace(HYBRID, groups=(Group("full", 4), Group("mamba", 2)))
    t = last(coarse, *IN_FOURS)
    assert found_in(t).hit == 4
    judge(hit_laws.aligned, t, [said(t, hit=6), said(t, hit=2)])


def test_a_hit_never_has_the_whole_request() -> None:
    for hit in (7, -2):
        (breach,) = check_transition(said(HIT, hit=hit))
        assert breach.clause.id == "Hit/leaves_a_token"
    (breach,) = check_transition(said(HIT, rows=((1, 3),)))
    assert breach.clause is hit_laws.blocks_cover_it.clause


def test_what_a_lookup_should_find_is_read_from_the_state_before() -> None:
    lost = before(HIT, index={key: blocks for key, blocks in HIT.before.index.items() if key != name(1, 6)})
    judge(hit_laws.longest, HIT, [lost])
