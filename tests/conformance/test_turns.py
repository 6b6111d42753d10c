"""All mixes of groups take turns, and what each has shown is counted."""

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from pagedkv.conformance.campaign.campaign import check
from pagedkv.conformance.campaign.children import ChildFailed
from pagedkv.conformance.campaign.expectations import Avoided
from pagedkv.conformance.campaign.mixes import COUNTED, OfMix
from pagedkv.conformance.campaign.runs import RUNS_PER_SCHEDULED, is_scheduled, random_run, replay_moves
from pagedkv.conformance.campaign.turns import mix_in_turn, untaken
from pagedkv.conformance.scopes import SCOPES
from pagedkv.conformance.subjects import reference
from pagedkv.conformance.worlds import MIXES, mix_of, random_world
from pagedkv.spec import World
from pagedkv.spec.moves import Admit, BeginPass, EndPass, Finish, Preempt, Submit
from pagedkv.spec.world import Group, Prompt

NOTHING = Avoided(frozenset())
THREE = Prompt((0, 0, 0, 0), 3)


@pytest.mark.parametrize("number_of_mixes", [1, 2, 3, 4, 8, 60])
def test_every_mix_has_as_many_runs_of_both_sorts_as_any_other(number_of_mixes: int) -> None:
    mixes = tuple(f"m{i}" for i in range(number_of_mixes))
    numbers = range(2 * number_of_mixes * RUNS_PER_SCHEDULED)
    runs = Counter((mix_in_turn(7, number, mixes), is_scheduled(number)) for number in numbers)
    assert runs == {(mix, is_one): 2 if is_one else 6 for mix in mixes for is_one in (True, False)}


def test_the_seed_says_which_mixes_come_first() -> None:
    firsts = {tuple(mix_in_turn(seed, number, MIXES) for number in range(3)) for seed in range(20)}
    assert len(firsts) > 10
    assert [mix_in_turn(3, n, MIXES) for n in range(40)] == [mix_in_turn(3, n, MIXES) for n in range(40)]


def test_a_mix_is_named_by_the_kinds_of_its_groups_and_by_no_others() -> None:
    assert len(set(MIXES)) == len(MIXES)
    assert [mix_of(random_world(Random(0), (mix,))) for mix in MIXES] == list(MIXES)


def test_a_campaign_counts_all_its_lives_by_mix() -> None:
    mixes = ("mamba", "full", "window")
    verdict = check(reference(), 900, 0, mixes)
    assert tuple(verdict.mixes) == mixes
    assert sum(seen.lives for seen in verdict.mixes.values()) == verdict.runs
    assert sum(seen.operations for seen in verdict.mixes.values()) == verdict.operations
    assert all(seen.lives >= verdict.runs // 4 for seen in verdict.mixes.values())


def test_a_mix_of_which_no_world_is_taken_has_no_turn() -> None:
    def refuses(world: World) -> str | None:
        return "no states here" if world.state_block_size else None

    picky = replace(reference(), refuses=refuses)
    assert untaken(picky, ("full", "mamba", "full+mamba"), NOTHING) == {
        "mamba": "no states here",
        "full+mamba": "no states here",
    }
    verdict = check(picky, 100, 0, ("mamba", "full"))
    assert (list(verdict.mixes), verdict.untaken) == (["full"], {"mamba": "no states here"})
    with pytest.raises(ChildFailed, match="reference takes no world of mamba: no states here"):
        check(picky, 100, 0, ("mamba",))


def counts(*lives: tuple[World, list[object]]) -> dict[str, int | None]:
    seen = OfMix()
    for world, moves in lives:
        seen.add(replay_moves(reference(), world, moves))  # type: ignore[arg-type]
    return {counted.name: seen.times(counted) for counted in COUNTED}


def test_what_a_life_has_is_counted() -> None:
    # Three blocks: r1 hits two, and has none for its last token before r0 gives way.
    world = World((Group("full", 1),), 4, 1, (THREE, Prompt((0, 0, 1, 1), 3)), 2, 8)
    life = [
        *(Submit("r0", 0), Submit("r1", 1), BeginPass(), Admit("r0", 8), EndPass()),
        *(BeginPass(), Admit("r1", 8), Preempt("r0", withdraw=False), EndPass()),
        *(BeginPass(), Admit("r1", 8), EndPass(), Finish("r1"), Finish("r0")),
    ]
    assert counts((world, life)) == {
        "served": 2,
        "refused": 1,
        "waits": None,
        "hits": 2,
        "copies": None,
        "evictions": 1,
        "preemptions": 1,
        "steps": 3,
        "ends": 2,
    }


def test_what_no_life_could_have_is_no_zero() -> None:
    def impossible(*worlds: World) -> set[str]:
        return {name for name, times in counts(*((world, []) for world in worlds)).items() if times is None}

    hybrid = replace(SCOPES["hybrid"].world, options=SCOPES["full"].world.options)
    assert hybrid.is_fine_grained and hybrid.enable_caching
    assert impossible(hybrid) == set()
    off = replace(hybrid, enable_caching=False)
    assert impossible(off) == {"hits", "copies", "evictions"}
    coarse = replace(hybrid, groups=(Group("full", 2), Group("mamba", 2)), unit=2)
    assert impossible(coarse) == {"copies"}
    assert impossible(replace(hybrid, groups=(Group("full", 1),))) == {"waits", "copies"}
    # One life that could have it is enough.
    assert impossible(off, coarse) == {"copies"}
    assert impossible(off, hybrid) == set()


@pytest.mark.parametrize("mix", MIXES)
def test_what_a_mix_cannot_have_by_the_rule_it_never_has(mix: str) -> None:
    for number in range(3):
        run = random_run(reference(), 1, number, (mix,), NOTHING)
        # A lookup for a connector may tell of a group that lags anywhere: that is shown, and nobody owes it.
        had = {counted.name for counted in COUNTED if counted.times(run) and counted.name != "waits"}
        assert had <= {counted.name for counted in COUNTED if counted.can_be_in(run.world)}
