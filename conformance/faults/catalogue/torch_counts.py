"""Holders and queue of the torch manager, where an index names a block more than once or not in order."""

from pagedkv.conformance.faults.fault import PlantedFault
from pagedkv.conformance.faults.patching import Patch
from pagedkv.spec.clauses import allocation, pool

from .elsewhere import WITHOUT_CACHING

FAULTS = (
    PlantedFault(
        "torch-freed-by-id",
        "Blocks are freed in the order of their ids, each once.",
        "what makes values unique sorts them as well",
        Patch(
            "impl/pool.py",
            "lasts = ids[rank_among_equals(ids.flip(0)).flip(0) == 0]",
            "lasts = ids.unique()",
        ),
        (pool.FREED_TAILS_FIRST,),
        "every run frees requests",
    ),
    PlantedFault(
        "torch-held-blocks-leave-the-queue-again",
        "A hold takes all its blocks out of the queue, also those that are held and not in it.",
        "a stale slot is cleared, in which another block stands by now",
        Patch(
            "impl/pool.py",
            "leave(self.queue, ids[self.ref_counts[ids] == 0].unique())",
            "leave(self.queue, ids.unique())",
        ),
        (allocation.PREDICTION_IS_EXACT, pool.QUEUED_WHEN_UNHELD),
        WITHOUT_CACHING,
        "the count of free blocks is wrong even where no cell is",
    ),
    PlantedFault(
        "torch-queue-asked-after-counting",
        "Which blocks of a hold were in the queue is asked when their holders have been counted.",
        "an in-place operation comes before the one that reads what was there",
        Patch(
            "impl/pool.py",
            "        leave(self.queue, ids[self.ref_counts[ids] == 0].unique())\n"
            "        self.ref_counts.index_add_(0, ids, torch.ones_like(ids, dtype=torch.int32))\n",
            "        self.ref_counts.index_add_(0, ids, torch.ones_like(ids, dtype=torch.int32))\n"
            "        leave(self.queue, ids[self.ref_counts[ids] == 0].unique())\n",
        ),
        (pool.QUEUED_WHEN_UNHELD,),
        WITHOUT_CACHING,
    ),
    PlantedFault(
        "torch-null-block-held",
        "A hold counts a holder of the null block for each entry without storage.",
        "a placeholder is not masked out of a gather",
        Patch("impl/pool.py", "        ids = ids[ids != 0]\n        leave(", "        leave("),
        (pool.COUNT_IS_HOLDERS,),
        WITHOUT_CACHING,
    ),
)
