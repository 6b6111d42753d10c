"""Loads that no loop asks for are refused, and a failed load lists no null."""

from dataclasses import replace
from typing import Any

import pytest

from pagedkv.conformance.subjects import OwnRequests, make_reference
from pagedkv.reference import KVCacheManager
from pagedkv.spec import PreconditionError, World
from pagedkv.spec.clauses import Clause, allocation
from pagedkv.spec.life import Life
from pagedkv.spec.moves import Admit, BeginPass, Evict, Finish, Submit
from pagedkv.spec.outcomes import Allocated, Waits
from pagedkv.spec.world import Group, Options, Prompt
from tests.invariants.build import ATTENTION, HYBRID, TOKENS, run, start

ZEROED_WINDOW = World(
    (Group("window", 2, reach=2),), 8, 2, (Prompt(TOKENS, 9),), 2, 12, options=Options(needs_zeroing=True)
)


def manager_of(world: World) -> KVCacheManager:
    manager: KVCacheManager = make_reference(world).manager
    return manager


def request_of(world: World, name: str, prompt: int) -> Any:
    return OwnRequests(world).make(Life(name, prompt, world.prompts[prompt].length, 0))


def refused(manager: KVCacheManager, clause: Clause, request: Any, *arguments: Any, **keywords: Any) -> None:
    """Assert that a call is refused by the clause and changes nothing."""
    before = manager.snapshot()
    with pytest.raises(PreconditionError) as refusal:
        manager.allocate_slots(request, *arguments, **keywords)
    assert refusal.value.clause is clause
    assert manager.snapshot() == before


@pytest.mark.parametrize("delays", [False, True])
def test_the_last_token_cannot_be_loaded(delays: bool) -> None:
    manager, request = manager_of(ATTENTION), request_of(ATTENTION, "r0", 0)
    for external in (5, 6):
        refused(
            manager,
            allocation.LOAD_LEAVES_A_TOKEN,
            request,
            0,
            num_external_computed_tokens=external,
            delay_cache_blocks=delays,
        )
    assert manager.allocate_slots(request, 0, num_external_computed_tokens=4, delay_cache_blocks=True)


def test_a_load_begins_with_a_block_of_every_group() -> None:
    manager, first = manager_of(HYBRID), request_of(HYBRID, "r0", 0)
    for num_new in (4, 2):
        assert manager.allocate_slots(first, num_new)
        first.num_computed_tokens += num_new
        manager.new_step_starts()
    second = request_of(HYBRID, "r1", 1)
    second.append_output_token_ids([0])
    blocks, hit, _ = manager.get_computed_blocks(second)
    assert hit == 6
    refused(manager, allocation.FITS_THE_HIT, second, 1, hit, blocks, num_external_computed_tokens=1)
    cut = manager.truncate_computed_blocks(blocks, 4)
    assert manager.allocate_slots(second, 1, 4, cut, num_external_computed_tokens=2)


def test_a_failed_load_lists_no_null() -> None:
    world = replace(ZEROED_WINDOW, num_blocks=9)
    manager, request = manager_of(world), request_of(world, "r0", 0)
    assert manager.allocate_slots(request, 0, num_external_computed_tokens=8, delay_cache_blocks=True)
    (row,) = manager.get_block_ids("r0")
    assert row[:3] == [0, 0, 0] and all(row[3:])
    manager.record_blocks_for_zeroing("r0", 0)
    assert manager.take_new_block_ids() == row[3:]


def test_nothing_is_loaded_behind_a_hit_of_which_attention_has_a_part() -> None:
    groups = (Group("full", 2), Group("full", 2, variant=2), Group("mamba", 4))
    prompts, options = (Prompt(TOKENS, 10),), Options(has_connector=True)
    world = replace(HYBRID, groups=groups, num_blocks=24, prompts=prompts, options=options)
    moves = (*run("r0", 0, 3), Finish("r0"))
    ask = Admit("r1", 12, "divergent", 9)
    whole, lagging = start(world), start(world)
    for story in (whole, lagging):
        told = [story.move(move) for move in moves]
    of_the_second = [b for b, names in enumerate(told[-1].after.keys) if names and names[0].group == 1]
    of_states = [b for b, names in enumerate(told[-1].after.keys) if names and names[0].group == 2]
    whole.move(Evict(tuple(of_states)))
    lagging.move(Evict((*of_the_second, *of_states)))
    for story in (whole, lagging):
        for move in (Submit("r1", 0), BeginPass()):
            story.move(move)
    served, waits = whole.move(ask).outcome, lagging.move(ask).outcome
    assert isinstance(served, Allocated) and served.rows and served.external
    assert isinstance(waits, Waits) and waits.found and waits.found.diverged
