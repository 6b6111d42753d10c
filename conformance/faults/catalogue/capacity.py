"""Whether a call fits."""

from pagedkv.conformance.faults.fault import PlantedFault
from pagedkv.conformance.faults.patching import Patch
from pagedkv.spec.clauses import allocation, pool

from .elsewhere import ATTENTION_ALONE, COARSE, WITHOUT_CACHING

FAULTS = (
    PlantedFault(
        "queued-hit-blocks-not-counted",
        "The hit blocks that have to leave the free queue are not counted as taken.",
        "hit blocks in the queue are not counted",
        Patch(
            "reference/single_type.py",
            "queued = sum(block_id != 0 and self.block_pool.ref_counts[block_id] == 0 for block_id in row)",
            "queued = 0",
        ),
        (pool.NEVER_MORE_THAN_FREE,),
        WITHOUT_CACHING,
    ),
    PlantedFault(
        "held-hit-blocks-counted",
        "Hit blocks that others hold count as taken from the free queue.",
        "an estimate refuses what fits",
        Patch(
            "reference/single_type.py",
            "queued = sum(block_id != 0 and self.block_pool.ref_counts[block_id] == 0 for block_id in row)",
            "queued = sum(block_id != 0 for block_id in row) if call.is_first else 0",
        ),
        (allocation.PREDICTION_IS_EXACT,),
        WITHOUT_CACHING,
    ),
    PlantedFault(
        "private-block-not-counted",
        "The private block of a hit that ends inside a block is not counted.",
        "copy-on-write's block is not counted",
        Patch(
            "reference/single_type.py",
            "call.hit % self.block_size != 0 or self.moves_own_entry(call.request_id)",
            "self.moves_own_entry(call.request_id)",
        ),
        (pool.NEVER_MORE_THAN_FREE,),
        COARSE,
        mixes=("full+mamba+mamba",),
    ),
    PlantedFault(
        "moved-entry-not-counted",
        "The private block of an owner's entry is not counted.",
        "copy-on-write's block is not counted",
        Patch(
            "reference/single_type.py",
            "call.hit % self.block_size != 0 or self.moves_own_entry(call.request_id)",
            "call.hit % self.block_size != 0",
        ),
        (pool.NEVER_MORE_THAN_FREE,),
        COARSE,
    ),
    PlantedFault(
        "estimate-one-too-high",
        "Each group counts one block more than it takes.",
        "an over-estimate refuses what fits",
        Patch(
            "reference/single_type.py",
            "return taken + queued + copied",
            "return taken + queued + copied + 1",
        ),
        (allocation.PREDICTION_IS_EXACT,),
        "every pool fills up",
    ),
    PlantedFault(
        "last-block-never-given",
        "A call that would take the last free block is answered None.",
        "a request that needs the whole pool waits for ever",
        Patch(
            "reference/allocation.py",
            "blocks_to_take(call, row) for manager, row in asked) > free:",
            "blocks_to_take(call, row) for manager, row in asked) >= free:",
        ),
        (allocation.PREDICTION_IS_EXACT,),
        "every pool fills up",
    ),
    PlantedFault(
        "padding-counted",
        "Null entries count as taken from the free queue.",
        "an over-estimate refuses what fits",
        Patch(
            "reference/single_type.py",
            "copied = call.hit % self.block_size",
            "queued += self.growth(len(row) + external, call).padding\n"
            "        copied = call.hit % self.block_size",
        ),
        (allocation.PREDICTION_IS_EXACT,),
        ATTENTION_ALONE,
    ),
    PlantedFault(
        "model-length-never-reached",
        "A call that ends at the model's length is refused.",
        "the last token of a request is never computed",
        Patch(
            "reference/guards.py",
            "call.end <= max_model_len",
            "call.end < max_model_len",
        ),
        (allocation.ASKS_FOR_SOMETHING,),
        "every run has requests that reach the model's length",
    ),
)
