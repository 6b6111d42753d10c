"""What breaks the laws on reference windows, cross attention, sinks, and prompts that are sent again."""

from dataclasses import replace

import pytest

from pagedkv.invariants import allocation_laws, key_laws, state_laws
from pagedkv.spec import World
from pagedkv.spec.moves import Admit, BeginPass, EndPass, Finish, Preempt, Schedule, Submit
from pagedkv.spec.world import Group, Prompt

from .build import (
    HYBRID,
    TOKENS,
    Case,
    after,
    found_in,
    judge,
    keys,
    label,
    last,
    name,
    put,
    run,
    said,
    table,
    with_options,
)

GAPPED = World((Group("reference", 2, reach=1),), 12, 2, (Prompt(TOKENS, 2), Prompt(TOKENS, 11)), 2, 12)
"""Of the first prompt four tokens see all before them."""
ENCODED = World(
    (Group("cross", 2), Group("full", 2)),
    12,
    2,
    (Prompt(TOKENS, 5, encoder_tokens=3),),
    2,
    12,
    enable_caching=False,
)
SINKS = World((Group("sink", 2, reach=4),), 8, 2, (Prompt(TOKENS, 5),), 2, 12)
RESENT = with_options(replace(HYBRID, unit=1, prompts=(Prompt(TOKENS, 7),)), resend_boundaries=True)

DECODED = last(GAPPED, *run("r0", 0, 4), BeginPass(), Schedule("r0", 12))
"""r0 computes its sixth token; it has lost block 2 and is in (1, 0, 3)."""
BACK = last(
    GAPPED, *run("r0", 0, 6), *run("r1", 1), Preempt("r0", withdraw=False), BeginPass(), Admit("r0", 12)
)
"""Of the longer prompt, which r1 has left, r0 takes what it would have computed itself."""
BEGUN = last(ENCODED, Submit("r0", 0), BeginPass(), Admit("r0", 12))
"""What the encoder made for r0 is in (1, 2)."""
GOES_ON = last(ENCODED, *run("r0", 0), BeginPass(), Schedule("r0", 12))
WITH_SINKS = last(SINKS, Submit("r0", 0), BeginPass(), Admit("r0", 12))
"""Blocks 1 and 2 are sinks; r0 is in (3, 4, 5)."""
LEFT = replace(last(RESENT, *run("r0", 0, 3), Finish("r0")), unspoilt=frozenset({"r0"}))
"""r0 has computed its prompt of 7, and nothing of that was evicted."""

CASES: list[Case] = [
    (key_laws.keys_before_the_gap, DECODED, [keys(DECODED, 3, name(0, 6))]),
    (key_laws.keys_before_the_gap, BACK, [said(BACK, hit=6)]),
    (
        allocation_laws.encoder_once,
        BEGUN,
        [
            after(BEGUN, tables=table(BEGUN, "r0", 0, (1,))),
            after(BEGUN, tables=table(BEGUN, "r0", 0, (1, 2, 6))),
            after(BEGUN, ref_counts=put(BEGUN.after.ref_counts, 2, 2)),
        ],
    ),
    (
        allocation_laws.encoder_once,
        GOES_ON,
        [after(GOES_ON, tables=table(GOES_ON, "r0", 0, row)) for row in [(1, 2, 7), (2, 1), (1,)]],
    ),
    (
        state_laws.sinks_stay,
        WITH_SINKS,
        [
            after(WITH_SINKS, ref_counts=put(WITH_SINKS.after.ref_counts, 1, 0)),
            keys(WITH_SINKS, 2, name(0, 2)),
            after(WITH_SINKS, tables=table(WITH_SINKS, "r0", 0, (1, 4, 5))),
        ],
    ),
    (key_laws.sent_again_hits, LEFT, [after(LEFT, index={})]),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: label(case[0]))
def test_a_law_on_kinds_sees_what_breaks_it(case: Case) -> None:
    judge(*case)


def test_the_stories_are_those_meant() -> None:
    assert DECODED.after.tables == {"r0": ((1, 0, 3),)}
    assert [len(names) for names in DECODED.after.keys[1:4]] == [1, 1, 0]
    assert found_in(BACK).hit == 4
    assert BEGUN.after.tables["r0"][0] == GOES_ON.after.tables["r0"][0] == (1, 2)
    assert WITH_SINKS.after.tables == {"r0": ((3, 4, 5),)}
    assert not LEFT.after.tables and LEFT.after.index


def test_what_the_longer_prompt_left_is_longer() -> None:
    moves = (*run("r0", 0, 6), *run("r1", 1), BeginPass(), EndPass(), Finish("r1"), Submit("r1", 1))
    assert found_in(last(GAPPED, *moves, BeginPass(), Admit("r1", 12))).hit == 10
