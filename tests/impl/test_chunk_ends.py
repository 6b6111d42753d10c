"""Chunks end where those of the model end, for all small arguments."""

from itertools import product
from types import SimpleNamespace
from typing import Any

from pagedkv.impl import Scheduler as Mine
from pagedkv.reference import Scheduler as Model

UNIT = 2


def test_the_split_is_that_of_the_model() -> None:
    compared = set[int]()
    for size, budget, threshold, eagle, partial in product((2, 4, 6), (3, 5, 16), (0, 3, 9), (0, 1), (0, 1)):
        scheduler = SimpleNamespace(
            cache_config=SimpleNamespace(block_size=size),
            scheduler_config=SimpleNamespace(long_prefill_token_threshold=threshold),
            max_num_scheduled_tokens=budget,
            hash_block_size=UNIT,
            use_eagle=bool(eagle),
            mamba_partial_cache_hit=bool(partial),
        )
        for prompt, output, junction in product((1, 4, 7, 11, 12), (0, 1, 3), (0, 3, 6, 10)):
            for start in range(0, prompt + output, 3 if size == 6 else 2):
                request: Any = SimpleNamespace(
                    num_prompt_tokens=prompt,
                    num_tokens=prompt + output,
                    num_computed_tokens=start,
                    shared_prefix_boundary=junction,
                )
                for count in range(1, prompt + output - start + 1):
                    mine = Mine._mamba_block_aligned_split(scheduler, request, count)
                    assert mine == Model._mamba_block_aligned_split(scheduler, request, count), (
                        scheduler,
                        request,
                        count,
                    )
                    compared.add(mine)
    assert compared >= set(range(10))


def test_hits_of_either_kind_move_the_start() -> None:
    scheduler = SimpleNamespace(
        cache_config=SimpleNamespace(block_size=4),
        scheduler_config=SimpleNamespace(long_prefill_token_threshold=0),
        max_num_scheduled_tokens=16,
        hash_block_size=UNIT,
        use_eagle=False,
        mamba_partial_cache_hit=True,
    )
    for computed, local, external, count in product((0, 2, 4), (0, 3, 4), (0, 1, 4), range(1, 12)):
        request: Any = SimpleNamespace(
            num_prompt_tokens=15, num_tokens=16, num_computed_tokens=computed, shared_prefix_boundary=9
        )
        given = (count, local, external)
        mine = Mine._mamba_block_aligned_split(scheduler, request, *given)
        assert mine == Model._mamba_block_aligned_split(scheduler, request, *given), (request, given)
