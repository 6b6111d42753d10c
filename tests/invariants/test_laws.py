"""The table of laws: every law has a case, the reference keeps them all, and no state makes one raise."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from random import Random

import pytest

from pagedkv.conformance.driver import choose_move
from pagedkv.conformance.enabled import enabled_moves
from pagedkv.invariants.laws import LAWS, check_end, check_transition
from pagedkv.invariants.view import Transition
from pagedkv.spec import Snapshot, World
from pagedkv.spec.moves import EndPass, Finish
from pagedkv.spec.outcomes import Allocated, Found, Raised, Stepped, Viewed, Waits
from pagedkv.spec.snapshot import CopyName, HandOffName, KeyName
from pagedkv.spec.world import Group, Image, Prompt

from . import (
    test_call_laws,
    test_event_laws,
    test_hit_laws,
    test_kind_laws,
    test_option_laws,
    test_pool_and_key_laws,
    test_state_laws,
)
from .build import HYBRID, TOKENS, start

FAMILY = (
    Prompt(TOKENS, 6),
    Prompt(TOKENS, 9),
    Prompt((*TOKENS[:5], 1, 0, 0, 1, 1), 7),
    Prompt(TOKENS, 8, salt="a"),
    Prompt(TOKENS, 7, images=(Image("x", 3, 2),)),
)
WORLDS = {
    "attention": World((Group("full", 2),), 10, 2, FAMILY, 3, 12, chunk_limits=(3,)),
    "attention, eagle": World((Group("full", 2),), 10, 1, FAMILY, 3, 12, use_eagle=True),
    "states": World((Group("mamba", 2),), 10, 2, FAMILY, 2, 12, chunk_limits=(3,)),
    "fine": World((Group("full", 4), Group("mamba", 4)), 12, 2, FAMILY, 3, 12, chunk_limits=(4,)),
    "fine, eagle": World((Group("full", 2), Group("mamba", 4)), 16, 1, FAMILY, 3, 12, use_eagle=True),
    "fine, speculative": World(
        (Group("full", 4), Group("mamba", 4, speculative=1)), 14, 2, FAMILY, 2, 12, chunk_limits=(4, 8)
    ),
    "fine, two kinds of states": World(
        (Group("full", 2), Group("mamba", 4), Group("mamba", 4, variant=2)), 20, 2, FAMILY, 2, 12
    ),
    "coarse": World((Group("full", 4), Group("mamba", 2)), 14, 2, FAMILY, 3, 12, chunk_limits=(4,)),
    "coarse, eagle": World((Group("full", 4, eagle=True), Group("mamba", 2)), 14, 2, FAMILY, 3, 12),
    "no caching": World((Group("full", 4), Group("mamba", 4)), 12, 2, FAMILY, 3, 12, enable_caching=False),
}


def walk(world: World, seed: int, steps: int) -> Iterator[Transition]:
    """So many random moves, then the end of every request."""
    rng, story = Random(seed), start(world)
    told: list[Transition] = []

    while len(told) < steps or story.loop.in_pass or story.loop.lives:
        keyed = [block for block, keys in enumerate(told[-1].after.keys) if keys] if told else []
        moves = enabled_moves(story.loop, keyed)
        if len(told) >= steps:
            moves = [move for move in moves if isinstance(move, Finish)] or [EndPass()]
        told.append(story.move(choose_move(rng, moves)))
        yield told[-1]


@cache
def told_once() -> tuple[Transition, ...]:
    """A long life that all wrecks start from."""
    return tuple(walk(WORLDS["fine"], 5, 300))


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_the_reference_keeps_the_laws(world: World) -> None:
    for seed in range(6):
        t = None
        for t in walk(world, seed, 80):
            assert [str(breach) for breach in check_transition(t)] == []
        assert t is not None
        assert list(check_end(world, t.after)) == []


def test_every_law_has_a_state_that_breaks_it() -> None:
    modules = (
        test_call_laws,
        test_event_laws,
        test_hit_laws,
        test_kind_laws,
        test_option_laws,
        test_pool_and_key_laws,
        test_state_laws,
    )
    assert {id(case[0]) for module in modules for case in module.CASES} == {id(law) for law in LAWS}


def test_every_law_says_what_it_means() -> None:
    for law in LAWS:
        assert law.meaning.endswith("."), law.clause


def test_after_an_error_nothing_is_asked() -> None:
    t = next(walk(HYBRID, 0, 1))
    assert list(check_transition(replace(t, after=replace(t.after, queue=()), outcome=Raised("E", "")))) == []


Wreck = Callable[[Random, Snapshot[KeyName]], Snapshot[KeyName]]


def _row(rng: Random) -> tuple[int, ...]:
    return tuple(rng.randint(-2, 14) for _ in range(rng.randint(0, 4)))


def _key(rng: Random) -> KeyName:
    return KeyName(rng.randint(0, 2), rng.randint(0, 5), rng.randint(0, 13))


WRECKS: dict[str, Wreck] = {
    "counts": lambda rng, s: replace(s, ref_counts=tuple(rng.randint(-1, 3) for _ in s.ref_counts)),
    "fewer counts": lambda rng, s: replace(s, ref_counts=s.ref_counts[: rng.randint(0, 9)]),
    "queue": lambda rng, s: replace(s, queue=_row(rng)),
    "keys": lambda rng, s: replace(
        s, keys=tuple(tuple(_key(rng) for _ in range(rng.choice((0, 0, 1, 2)))) for _ in s.keys)
    ),
    "fewer keys": lambda rng, s: replace(s, keys=s.keys[: rng.randint(0, 9)]),
    "index": lambda rng, s: replace(s, index={_key(rng): _row(rng) for _ in range(3)}),
    "tables": lambda rng, s: replace(
        s, tables={r: tuple(_row(rng) for _ in range(rng.choice((1, 2, 2, 2, 3)))) for r in s.tables}
    ),
    "inner tables": lambda rng, s: replace(
        s,
        tables={
            r: tuple(tuple(rng.randint(0, 11) for _ in range(rng.randint(0, 4))) for _ in rows)
            for r, rows in s.tables.items()
        },
    ),
    "no tables": lambda rng, s: replace(s, tables={}, num_cached={}),
    "strange tables": lambda rng, s: replace(
        s, tables={"x": ((1,), (2,))}, num_cached={"x": (rng.randint(-3, 9), 0)}
    ),
    "counters": lambda rng, s: replace(
        s, num_cached={r: tuple(rng.randint(-3, 9) for _ in range(rng.choice((1, 2, 2)))) for r in s.tables}
    ),
    "copies": lambda rng, s: replace(
        s, copies=tuple(CopyName(rng.randint(0, 2), *rng.sample(range(-1, 13), 2)) for _ in range(2))
    ),
    "hand-offs": lambda rng, s: replace(
        s,
        hand_offs=(
            HandOffName(rng.choice(("r0", "x")), rng.randint(0, 2), rng.randint(-1, 13), rng.randint(0, 9)),
        ),
    ),
    "pins": lambda rng, s: replace(s, pins={"r0": _row(rng)}),
}


def _wreck_answer(rng: Random, t: Transition) -> Transition:
    rows = tuple(_row(rng) for _ in range(rng.choice((1, 2, 2, 2))))
    found = rng.choice((None, Found(rng.randint(-2, 14), rows, rng.randint(-1, 9), rng.random() < 0.5)))
    match t.outcome:
        case Allocated(num_new_tokens):
            return replace(t, outcome=Allocated(num_new_tokens, rng.choice((None, rows, ((), ()))), found))
        case Waits():
            return replace(t, outcome=Waits(found))
        case Viewed(old):
            return replace(t, outcome=Viewed(found or old, rng.choice((None, rows))))
        case Stepped():
            return replace(t, outcome=Stepped(((1, 2),), (HandOffName("x", 0, 1, 2),)))
        case _:
            return t


@pytest.mark.parametrize("part", (*WRECKS, "answer"))
def test_no_state_makes_a_law_raise(part: str) -> None:
    rng, told = Random(part), told_once()
    seen = 0
    for t in told:
        if part == "answer":
            broken = _wreck_answer(rng, t)
        else:
            where = rng.choice(("before", "after", "pass_began"))
            old = getattr(t, where)
            broken = replace(t, **{where: WRECKS[part](rng, old)}) if old else t  # type: ignore[arg-type]
        seen += bool(list(check_transition(broken)))
    assert seen > len(told) / 20
