"""A behaviour is told where it occurred, and nowhere else."""

from pagedkv.conformance.campaign.runs import replay_moves
from pagedkv.conformance.coverage import DEFERRAL, FAILED, HIT
from pagedkv.conformance.subjects import reference
from pagedkv.spec import World
from pagedkv.spec.moves import Admit, BeginPass, Submit
from pagedkv.spec.world import Group, Prompt


def test_a_call_without_blocks_is_no_wait_for_what_the_pass_writes() -> None:
    # r1 hits blocks that r0 fills in this pass: whole blocks of attention may be read in the same step.
    world = World((Group("full", 1),), 4, 1, (Prompt((0, 0, 0, 0), 3),), 2, 8)
    run = replay_moves(
        reference(),
        world,
        [Submit("r0", 0), Submit("r1", 0), BeginPass(), Admit("r0", 8), Admit("r1", 5)],
    )
    assert {name: run.shown[name] for name in (HIT, FAILED, DEFERRAL)} == {HIT: 1, FAILED: 1, DEFERRAL: 0}
