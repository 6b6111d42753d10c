"""Every argument at random, of managers of every kind: model and torch manager answer and hold the same."""

from collections import Counter

import torch

from .pair import Pair

PAIRS, STEPS = 20, 60

TOGETHER = [
    "admission with hit: done",
    "admission with hit: none",
    "admission: none",
    "batch: done",
    "failed load: Allocate/lists_new_blocks",
    "failed load: done",
    "going on: Allocate/load_leaves_a_token",
    "going on: none",
    "load with hit: done",
    "load: none",
    "naming: done",
    "second free: done",
    "views: done",
]
"""What has to have happened in all lives together."""


def test_whatever_is_asked_both_answer_the_same(device: torch.device) -> None:
    seen = Counter[str]()
    for seed in range(PAIRS):
        pair = Pair(seed, device)
        for _ in range(STEPS):
            pair.step()
        seen += pair.seen
    assert [what for what in TOGETHER if not seen[what]] == []
