"""Blocks that several requests of one batch hold."""

from collections.abc import Callable
from typing import Any

import torch

from pagedkv.impl import KVCacheManager
from pagedkv.spec import Request, Snapshot
from tests.scenarios.build import attention, deployment, request, states, words
from tests.scenarios.sides import load


def test_two_whose_prompts_end_inside_one_block_name_it_once(device: torch.device) -> None:
    text = words(17)

    def state_after(manager: Any, serve: Callable[[list[Request]], object]) -> Snapshot[Any]:
        first = request("first", text, unit=2)
        for end in (8, 12, 16, 17):
            assert manager.allocate_slots(first, end - first.num_computed_tokens) is not None
            first.num_computed_tokens = end
            manager.new_step_starts()
        # Preempted, they come back with what they have said, and find more than their prompts.
        both = [request(name, text[:6], unit=2) for name in ("a", "b")]
        for one in both:
            one.append_output_token_ids(text[6:14])
            blocks, hit, _ = manager.get_computed_blocks(one)
            assert manager.allocate_slots(one, 1, hit, blocks, delay_cache_blocks=True) is not None
            one.num_computed_tokens = hit + 1
        manager.new_step_starts()
        serve(both)
        state: Snapshot[Any] = manager.snapshot()
        prompt = both[0].block_hashes[2]
        assert any(key.startswith(prompt) for key in state.index)
        for one in (*both, first):
            manager.free(one)
        manager.block_pool.get_new_blocks(manager.block_pool.get_num_free_blocks())
        assert manager.snapshot().index == {}
        return state

    specs = attention(4), states(4)
    model = deployment(load("reference"), *specs, unit=2)
    one_by_one = state_after(model, lambda both: [model.allocate_slots(one, 1) for one in both])
    manager: KVCacheManager = deployment(load("impl"), *specs, unit=2, device=device)
    assert state_after(manager, lambda both: manager.allocate_slots_batch(both, 1)) == one_by_one
