"""A batch is equal to its calls one after the other, whichever way it takes."""

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis.strategies import DataObject, data

from pagedkv.conformance.worlds import MIXES, UNCACHED
from pagedkv.impl import KVCacheBlocks, KVCacheManager
from pagedkv.spec import Request, World
from tests.scenarios.consumer import replayed

from .batches import Plan, Step, advance, plans, traits, worlds
from .lives import life_in, wander

Ids = tuple[list[int], ...] | None


def ids_of(blocks: KVCacheBlocks | None) -> Ids:
    return None if blocks is None else blocks.get_block_ids()


def one_by_one(manager: KVCacheManager, step: Step) -> list[Ids]:
    """The calls of a batch, each for itself."""
    for request, tokens in zip(step.requests, step.tokens or [], strict=step.tokens is not None):
        request.append_output_token_ids(tokens)
    return [
        ids_of(manager.allocate_slots(request, count))
        for request, count in zip(step.requests, step.counts, strict=True)
    ]


def drained(manager: KVCacheManager, requests: Sequence[Request]) -> list[object]:
    """All that a manager has to tell, until nobody holds anything: it shows what a state does not."""
    said: list[object] = [manager.take_partial_tail_offloads()]
    copies, retained = manager.take_kv_cache_block_copies()
    manager.block_pool.free_blocks(retained)
    for request in requests:
        said += [copies, [block.block_id for block in manager.pop_blocks_for_free(request)]]
    manager.new_step_starts()
    return [*said, manager.snapshot()]


def test_it_equals_the_calls_one_by_one(device: torch.device, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: Counter[str] = Counter()
    served_alone: list[str] = []
    allocate_slots = KVCacheManager.allocate_slots

    def counted(
        manager: KVCacheManager, request: Request, *arguments: Any, **options: Any
    ) -> KVCacheBlocks | None:
        served_alone.append(request.request_id)
        return allocate_slots(manager, request, *arguments, **options)

    monkeypatch.setattr(KVCacheManager, "allocate_slots", counted)

    def check(plan: Plan) -> None:
        (one, own), (other, others) = plan.twin(), plan.twin()
        before = one.snapshot()
        assert before == other.snapshot()
        for number in range(len(plan.wanted)):
            together, apart = plan.step(number, own), plan.step(number, others)
            served_alone.clear()
            served, blocks = one.allocate_slots_batch(together.requests, together.counts, together.tokens)
            num_alone = len(served_alone)
            answered = one_by_one(other, apart)
            assert [ids_of(entry) for entry in blocks] == answered
            assert served == [entry is not None for entry in answered]
            after = one.snapshot()
            assert after == other.snapshot()
            # In what order a batch tells is its own, but it tells all.
            for manager in (one, other):
                assert replayed(manager.take_events(), before.index) == after.index.keys()
            seen.update(traits(plan.state.world, together, before, after, served))
            if len(served) > 1:
                seen["all are served in one go"] += num_alone == 0
                seen["some are served in one go"] += 0 < num_alone < len(served)
                seen["each is served alone"] += num_alone == len(served)
            for step in (together, apart):
                advance(step, served)
            before = after
        assert drained(one, own) == drained(other, others)

    # Of the many mixes those of two groups at most: the others have nothing of their own.
    mixes = [mix for mix in MIXES if mix.count("+") < 2 and not {*UNCACHED} & {*mix.split("+")}]
    for mix, enable_caching in (*((mix, True) for mix in mixes), ("full+mamba", False)):
        # Not shrunk: that would take minutes, and a failing life is the same in every run.
        @settings(max_examples=3, phases=[Phase.generate])
        @given(worlds(mix, enable_caching), data())
        def live(world_and_chance: tuple[World, Random], source: DataObject) -> None:
            world, rng = world_and_chance
            state = life_in(world, device)
            for _ in range(3):
                wander(state, rng, 12)
                check(source.draw(plans(state, rng)))

        live()
    assert all(times > 0 for times in seen.values()), seen
