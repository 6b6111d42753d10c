"""Lives under the scheduler: quiet on both managers, and each rule that they are held to can be broken."""

from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pytest

from pagedkv.conformance import coverage
from pagedkv.conformance.campaign.expectations import Avoided
from pagedkv.conformance.campaign.runs import RUNS_PER_SCHEDULED, Run, is_scheduled, random_run
from pagedkv.conformance.demand import most_blocks_for
from pagedkv.conformance.judge import Bout
from pagedkv.conformance.scheduling.life import Serving
from pagedkv.conformance.scheduling.manager import LifeEnded
from pagedkv.conformance.subject_names import subject_named
from pagedkv.conformance.subjects import Subject, reference
from pagedkv.conformance.worlds import MIXES
from pagedkv.invariants.breach import Breach
from pagedkv.reference import KVCacheBlocks, KVCacheManager, Scheduler
from pagedkv.spec import Request, World
from pagedkv.spec.clauses import allocation, schedule
from pagedkv.spec.moves import Admit, Finish, Move, Preempt, Submit
from pagedkv.spec.outcomes import Outcome
from pagedkv.spec.world import Group, Prompt

from .planted import planted

NOTHING = Avoided(frozenset())


def scheduled_runs(
    subject: Subject,
    number: int,
    seed: int = 0,
    options: Sequence[str] | None = None,
    mixes: Sequence[str] = MIXES,
) -> list[Run]:
    """So many runs of a campaign that the scheduler chose the moves of."""
    numbers = range(RUNS_PER_SCHEDULED - 1, RUNS_PER_SCHEDULED * number, RUNS_PER_SCHEDULED)
    assert all(map(is_scheduled, numbers))
    return [random_run(subject, seed, n, mixes, NOTHING, options=options) for n in numbers]


def served(world: World, scheduler: Callable[..., Any], seed: int) -> tuple[Breach, ...]:
    """What a life on the reference in the world breaks."""
    subject = Subject("reference", "0", "exact", reference().make, scheduler=scheduler)
    bout = Bout(world, subject)

    def play(move: Move) -> Outcome:
        breaches = bout.play(move)
        if breaches:
            raise LifeEnded(*breaches)
        return bout.outcome

    try:
        Serving(Random(seed), bout, subject.can, subject, play).serve()
    except LifeEnded as end:
        return end.breaches
    return ()


def test_chunks_end_at_blocks_of_states_where_nothing_is_cached() -> None:
    """Beside cross attention no hit ends inside a block, so that no chunk does at the end of a prompt."""
    groups = (Group("full", 4), Group("mamba", 4), Group("cross", 4))
    world = World(groups, 20, 2, (Prompt((0,) * 8, 7),), 1, 16, enable_caching=False)
    assert served(world, Scheduler, 0) == ()


@pytest.mark.parametrize(("name", "number"), [("reference", 12), ("impl", 3)])
def test_everybody_is_served(name: str, number: int) -> None:
    if name == "impl":
        pytest.importorskip("torch")
    preempted = 0
    for run in scheduled_runs(subject_named(name), number):
        assert run.breaches == ()
        came = [move.request for move in run.moves if isinstance(move, Submit)]
        assert sorted(came) == sorted(move.request for move in run.moves if isinstance(move, Finish))
        assert len(came) == 8
        assert len(came) == 8
        preempted += sum(isinstance(move, Preempt) for move in run.moves)
    assert preempted > 0 or name == "impl"


OPTIONS = ("max_drafts", "has_connector", "watermark_percent", "full_sequence_must_fit", "needs_zeroing")


def test_lives_show_what_their_worlds_have() -> None:
    runs = scheduled_runs(reference(), 40, options=OPTIONS)
    runs += scheduled_runs(reference(), 4, seed=3, options=OPTIONS, mixes=("latent",))
    assert [run.breaches for run in runs] == [()] * len(runs)
    shown: Counter[str] = sum((run.shown for run in runs), Counter())
    behaviours = (
        coverage.DRAFT_ACCEPTED,
        coverage.DRAFT_REJECTED,
        coverage.LOADED_IN_STEP,
        coverage.KEPT_FREE,
        coverage.TOO_LONG,
        coverage.ZEROED,
        coverage.DIVERGENT,
    )
    assert [behaviour for behaviour in behaviours if not shown[behaviour]] == []
    lookups = {move.lookup for run in runs for move in run.moves if isinstance(move, Admit)}
    assert {"common", "divergent"} <= lookups
    prompts = [prompt for run in runs for prompt in run.world.prompts]
    assert max(run.world.num_ranks for run in runs) > 1
    assert max(prompt.encoder_tokens for prompt in prompts) > 0
    # Some arrive that never fit, and end at once.
    never_fit = [
        run
        for run in runs
        if any(most_blocks_for(run.world, p) >= run.world.num_blocks for p in run.world.prompts)
    ]
    assert 0 < len(never_fit) < len(runs)


def test_the_same_seed_gives_the_same_life() -> None:
    one, again, other = (scheduled_runs(reference(), 1, seed) for seed in (1, 1, 2))
    assert one == again != other


class NoRoomToGoOn(KVCacheManager):
    """Has no room for those that run."""

    def allocate_slots(self, request: Request, *args: Any, **kwargs: Any) -> KVCacheBlocks | None:
        """Answer None but to the first call of a request."""
        return None if request.num_computed_tokens else super().allocate_slots(request, *args, **kwargs)


def test_whoever_waits_for_ever_is_reported_on_a_manager_that_does_not_tell() -> None:
    runs = scheduled_runs(planted(NoRoomToGoOn, "safety", tells_state=False), 40)
    broken = {run.breaches[0].clause for run in runs if run.breaches}
    # Alone it is plain that the manager is wrong; of several each might wait for the others.
    assert allocation.PREDICTION_IS_EXACT in broken
    assert broken <= {allocation.PREDICTION_IS_EXACT, schedule.EVERYBODY_ENDS}


TIGHT = World(
    (Group("full", 16, variant=1), Group("full", 16, variant=2), Group("mamba", 16)),
    8,
    2,
    (Prompt(tuple(range(33)), 31),),
    1,
    64,
)
"""The hit of a second request ends inside a block of each group, and the whole pool is needed."""


class InsistsOnTheHit(Scheduler):
    """Asks for a hit again and again."""

    @property
    def _too_long_a_hit(self) -> None:
        return None

    @_too_long_a_hit.setter
    def _too_long_a_hit(self, entry: object) -> None:
        """Forget it."""


def test_a_hit_that_never_fits_is_reported_and_given_up_by_the_scheduler() -> None:
    assert {served(TIGHT, Scheduler, seed) for seed in range(3)} == {()}
    found = [breach for seed in range(3) for breach in served(TIGHT, InsistsOnTheHit, seed)]
    assert {breach.clause for breach in found} == {schedule.SHORTER_HIT}
