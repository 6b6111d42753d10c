"""Runs of slots are the slots."""

from itertools import pairwise
from random import Random

import pytest

from pagedkv.invariants.slots import NOTHING, Runs, between, in_words, joined, of_size
from pagedkv.spec.prefixes import Run

Slot = tuple[int, int] | None


def slots(runs: Runs) -> list[Slot]:
    """What each slot holds: a prefix, or nothing."""
    return [
        None if run.prompt == NOTHING else (run.prompt, n)
        for run in runs
        for n in range(run.start + 1, run.end + 1)
    ]


def drawn(rng: Random) -> Runs:
    """Some contents, each prefix after its predecessor or not."""
    runs: list[Run] = []
    while rng.random() < 0.8:
        start = runs[-1].end if runs and rng.random() < 0.5 else rng.randrange(9)
        runs.append(Run(rng.randrange(2), start, start + rng.randint(1, 4)))
    return joined(tuple(runs))


@pytest.mark.parametrize("seed", range(200))
def test_runs_are_cut_and_joined_like_slots(seed: int) -> None:
    rng = Random(seed)
    one, other = drawn(rng), drawn(rng)
    assert slots(joined(one, other)) == slots(one) + slots(other)
    first, last = sorted(rng.sample(range(12), 2))
    assert slots(between(one, first, last)) == slots(one)[first:last]
    size = rng.randint(0, 12)
    assert slots(of_size(one, size)) == (slots(one) + [None] * size)[:size]


@pytest.mark.parametrize("seed", range(200))
def test_equal_slots_have_equal_runs_however_they_were_made(seed: int) -> None:
    rng = Random(seed)
    whole = of_size(drawn(rng), 12)
    cuts = [0, *sorted(rng.sample(range(1, 12), 3)), 12]
    parts = [between(whole, a, b) for a, b in pairwise(cuts)]
    assert joined(*parts) == whole


def test_words_name_the_prefixes() -> None:
    assert in_words(of_size((Run(0, 4, 8), Run(1, 8, 9)), 6)) == "[p0:5..8, p1:9, nothing]"
    assert in_words(of_size((), 3)) == "[nothing in 3 slots]"
