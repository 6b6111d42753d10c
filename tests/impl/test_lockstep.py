"""Random lives beside the model, with every snapshot compared; also with each request served as a batch."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from pagedkv.conformance.campaign.expectations import Avoided
from pagedkv.conformance.campaign.runs import random_run
from pagedkv.conformance.instance import Instance
from pagedkv.conformance.subjects import Subject
from pagedkv.conformance.torch_subject import torch_subject
from pagedkv.conformance.worlds import MIXES
from pagedkv.impl import KVCacheBlocks, KVCacheManager
from pagedkv.spec import Request, World

RUNS = 4


class BatchesOfOne:
    """A manager that serves whoever has no hit by a batch."""

    def __init__(self, manager: KVCacheManager) -> None:
        self._manager = manager

    def __getattr__(self, name: str) -> Any:
        return getattr(self._manager, name)

    def allocate_slots(
        self, request: Request, num_new_tokens: int, hit: int, blocks: KVCacheBlocks | None, **options: Any
    ) -> KVCacheBlocks | None:
        """What the manager answers, asked in its way."""
        # A batch has no options, and leaves the watermark free of whoever waits.
        if hit or any(value for name, value in options.items() if name != "has_scheduled_reqs"):
            return self._manager.allocate_slots(request, num_new_tokens, hit, blocks, **options)
        if not options.get("has_scheduled_reqs", True) and self._manager.watermark_blocks:
            return self._manager.allocate_slots(request, num_new_tokens, hit, blocks, **options)
        _, (answer,) = self._manager.allocate_slots_batch([request], num_new_tokens)
        return answer


def as_batches(subject: Subject) -> Subject:
    """The subject whose requests without a hit are served by batches."""

    def make(world: World) -> Instance:
        instance: Any = subject.make(world)
        instance.manager = BatchesOfOne(instance.manager)
        made: Instance = instance
        return made

    return replace(subject, make=make)


@pytest.mark.parametrize("number", range(RUNS))
def test_a_life_is_that_of_the_model(number: int, device: torch.device) -> None:
    subject = torch_subject(str(device))
    for one in (subject, as_batches(subject)):
        run = random_run(one, 1, number, MIXES, Avoided(frozenset()))
        assert not run.breaches, run.breaches
        assert run.operations > 30
