from dataclasses import replace
from typing import Any

import pytest

from pagedkv.invariants import event_laws
from pagedkv.invariants.view import Transition
from pagedkv.spec.event_names import Cleared, EventName, Removed, Stored
from pagedkv.spec.moves import Admit, BeginPass, Evict, Finish, Reset, Schedule, Submit
from pagedkv.spec.world import Image, Prompt

from .build import ATTENTION, HYBRID, TOKENS, Case, judge, label, last, name, objections, run

TOLD = replace(ATTENTION, events=True)
FIRST = last(TOLD, Submit("r0", 0), BeginPass(), Admit("r0", 12))
"""r0 names 2 and 4 tokens."""
LOST = last(TOLD, *run("r0", 0), Evict((1,)))
TWINS = last(TOLD, *run("r0", 0), *run("r1", 0, lookup="none"), Evict((1,)))
"""Another block has the key of block 1."""
MOVED = last(replace(HYBRID, events=True), *run("r0", 0, 2), BeginPass(), Schedule("r0", 12))
"""r0's entry of 6 tokens moves from block 4 to block 5."""
IDLE = last(TOLD, *run("r0", 0), Finish("r0"), Reset())
BUSY = last(TOLD, *run("r0", 0), Reset())
REPLACED = last(
    replace(TOLD, num_blocks=4, prompts=(Prompt(TOKENS, 5), Prompt((1, 1, *TOKENS), 5))),
    *(*run("r0", 0), Finish("r0"), Submit("r1", 1), BeginPass(), Admit("r1", 12)),
)
"""r1 takes blocks with keys, and names others."""
MARKED = last(
    replace(
        HYBRID,
        events=True,
        prompts=(Prompt(TOKENS, 6, "salt", "adapter", (Image("cat", 1, 2), Image("dog", 3, 1))),),
    ),
    *(Submit("r0", 0), BeginPass(), Admit("r0", 6)),
)
"""r0 names 4 tokens in both groups, in units of 2."""


def telling(t: Transition, *events: EventName) -> Transition:
    """The transition with these announcements in place of its own."""
    return replace(t, events=events)


def told(t: Transition) -> tuple[EventName, ...]:
    """What the transition announces."""
    assert t.events
    return t.events


def other(t: Transition, i: int, **parts: Any) -> Transition:
    """The transition with parts of its ``i``-th announcement replaced."""
    events = list(told(t))
    event = events[i]
    assert isinstance(event, Stored)
    events[i] = replace(event, **parts)
    return telling(t, *events)


ENTRY = next(key for key in MOVED.before.keys[4])

CASES: list[Case] = [
    (
        event_laws.cleared_by_reset,
        IDLE,
        [telling(IDLE), telling(IDLE, Cleared(), Cleared()), telling(BUSY, Cleared())],
    ),
    (
        event_laws.stored_when_new,
        FIRST,
        [telling(FIRST, *told(FIRST), told(FIRST)[0]), replace(FIRST, announced=frozenset({name(0, 2)}))],
    ),
    (
        event_laws.removed_when_gone,
        TWINS,
        [
            telling(TWINS, Removed(name(0, 2))),
            telling(LOST, Removed(name(0, 2)), Removed(name(0, 2))),
            telling(MOVED, Removed(ENTRY)),
        ],
    ),
    (event_laws.in_order, REPLACED, [telling(REPLACED, *told(REPLACED)[::-1])]),
    (
        event_laws.parents_known,
        FIRST,
        [
            other(FIRST, 1, parent=None),
            other(FIRST, 0, parent=name(0, 2)),
            other(FIRST, 1, parent=name(0, 4)),
            telling(FIRST, *told(FIRST)[::-1]),
        ],
    ),
    (
        event_laws.tells_the_block,
        MARKED,
        [
            other(MARKED, 1, start=4),
            other(MARKED, 1, tokens=TOKENS[:2]),
            other(MARKED, 1, block_size=2),
            other(MARKED, 1, lora=None),
            other(MARKED, 0, extras=((), ())),
            other(MARKED, 0, extras=told(MARKED)[0].extras[::-1]),  # type: ignore[union-attr]
        ],
    ),
    (
        event_laws.replay_rebuilds,
        LOST,
        [telling(LOST), telling(FIRST, *told(FIRST)[:1]), replace(FIRST, announced=frozenset({name(0, 6)}))],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: label(case[0]))
def test_a_law_on_events_sees_what_breaks_it(case: Case) -> None:
    judge(*case)


def test_what_the_moves_announce() -> None:
    """The cases show what they say."""
    assert [type(event) for event in told(REPLACED)] == [Removed] * 2 + [Stored] * 2
    assert told(LOST) == (Removed(name(0, 2)),)
    assert TWINS.events == BUSY.events == MOVED.events == ()
    assert [event.extras for event in told(MARKED) if isinstance(event, Stored)] == 2 * [
        (("lora:adapter", "salt:salt", "image:cat@1"), ("lora:adapter", "image:cat@-1", "image:dog@1"))
    ]


def test_of_a_manager_that_announces_nothing_nothing_is_asked() -> None:
    for law, good, _ in CASES:
        assert objections(law, replace(good, events=None)) == []
