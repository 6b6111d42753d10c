"""What breaks the laws on single kinds of groups, and on prompts that are sent again."""

from dataclasses import replace

import pytest

from pagedkv.invariants import key_laws, state_laws
from pagedkv.spec import World
from pagedkv.spec.moves import Admit, BeginPass, Finish, Submit
from pagedkv.spec.world import Group, Prompt

from .build import TOKENS, Case, after, judge, keys, label, last, name, put, run, table
from .test_option_laws import RESENT

SINKS = World((Group("sink", 2, reach=4),), 8, 2, (Prompt(TOKENS, 5),), 2, 12)
SUNK = last(SINKS, Submit("r0", 0), BeginPass(), Admit("r0", 12))
"""Blocks 1 and 2 are sinks; r0 has 3 to 5."""
ENDED = replace(last(RESENT, *run("r0", 0, 3), Finish("r0")), unspoilt=frozenset({"r0"}))
"""A prompt of 7 tokens was computed whole and is free: 6 of them can be hit."""
NOTHING = ((),) * RESENT.num_blocks

CASES: list[Case] = [
    (
        state_laws.sinks_stay,
        SUNK,
        [
            after(SUNK, ref_counts=put(SUNK.after.ref_counts, 1, 0)),
            after(SUNK, queue=(2, *SUNK.after.queue)),
            after(SUNK, tables=table(SUNK, "r0", 0, (1, 4, 5))),
            keys(SUNK, 2, name(0, 2)),
        ],
    ),
    (key_laws.sent_again_hits, ENDED, [after(ENDED, index={}, keys=NOTHING)]),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: label(case[0]))
def test_a_law_sees_what_breaks_it(case: Case) -> None:
    judge(*case)
