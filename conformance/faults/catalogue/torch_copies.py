"""Copies, hand-offs and pins of the torch manager, and what a call counts and publishes."""

from pagedkv.conformance.faults.fault import PlantedFault
from pagedkv.conformance.faults.patching import Patch
from pagedkv.spec.clauses import allocation, copies, pool

from .elsewhere import ATTENTION_ALONE, COARSE

_TWO_STATES = ("full+mamba+mamba",)

FAULTS = (
    PlantedFault(
        "torch-copy-of-itself",
        "The source of a copy is a view of the entry that the private block is then written to.",
        "a view is taken for a copy",
        Patch(
            "impl/allocation.py",
            "    source = manager.tables.blocks[row, last].long().view(1)\n"
            "    manager.block_pool.hold(block)\n"
            "    manager.ledger.copies.append(manager.kv_cache_group_id, source, block)\n"
            "    manager.tables.blocks[row, last] = block[0].to(torch.int32)\n",
            "    source = manager.tables.blocks[row, last].view(1)\n"
            "    manager.block_pool.hold(block)\n"
            "    manager.tables.blocks[row, last] = block[0].to(torch.int32)\n"
            "    manager.ledger.copies.append(manager.kv_cache_group_id, source, block)\n",
        ),
        (pool.COUNT_IS_HOLDERS,),
        COARSE,
        also=(copies.CONSUMER_GETS_PRIVATE_BLOCK,),
    ),
    PlantedFault(
        "torch-copies-by-source",
        "Copies are drained in the order of their sources, not group by group.",
        "a sort by the wrong column",
        Patch(
            "impl/ledger.py",
            "return queued[queued[:, 0].argsort(stable=True), 1:]",
            "return queued[queued[:, 1].argsort(stable=True), 1:]",
        ),
        (copies.DRAINED_IN_ORDER,),
        COARSE,
        mixes=_TWO_STATES,
    ),
    PlantedFault(
        "torch-copies-drained-again",
        "Copies stay listed when they have been drained.",
        "a buffer is read and its length left as it was",
        Patch("impl/ledger.py", "        self.copies.clear()\n", ""),
        (pool.COUNT_IS_HOLDERS,),
        COARSE,
        also=(copies.DRAINED_IN_ORDER,),
    ),
    PlantedFault(
        "torch-handed-over-again",
        "Hand-offs stay listed when they have been taken.",
        "a buffer is read and its length left as it was",
        Patch("impl/ledger.py", "        self.hand_offs.clear()\n", ""),
        (copies.HAND_OFF,),
        COARSE,
    ),
    PlantedFault(
        "torch-first-hand-off-pinned-alone",
        "Of the hand-offs that are taken at once, the first is noted as pinned.",
        "a scalar is stored where a column belongs",
        Patch(
            "impl/ledger.py",
            "self.pins.append(entries[:, 0], entries[:, 2])",
            "self.pins.append(entries[:1, 0], entries[:1, 2])",
        ),
        (pool.COUNT_IS_HOLDERS,),
        COARSE,
        mixes=_TWO_STATES,
    ),
    PlantedFault(
        "torch-pins-of-all-released",
        "A request that goes releases the pins of all.",
        "a mask is left out",
        Patch(
            "impl/ledger.py", "pinned = self.pins.rows[is_its, 1]", "pinned = self.pins.rows[:, 1].clone()"
        ),
        (pool.COUNT_IS_HOLDERS,),
        COARSE,
    ),
    PlantedFault(
        "torch-state-stays-named",
        "A state that goes on is still taken for the partial entry that its row named.",
        "a stale slot: a mark outlives the call that it is for",
        Patch(
            "impl/allocation.py", "            manager.tables.named_partial[row] = 0\n", "            pass\n"
        ),
        (allocation.PARTIAL_PROMPT_END,),
        COARSE,
    ),
    PlantedFault(
        "torch-null-counted-as-queued",
        "Entries of a hit without storage count as blocks that leave the queue.",
        "a placeholder is not masked out of a sum",
        Patch(
            "impl/allocation.py",
            "num_queued = sum(int(((ids != 0) & (pool.ref_counts[ids] == 0)).sum()) for ids in kept)",
            "num_queued = sum(int((pool.ref_counts[ids] == 0).sum()) for ids in kept)",
        ),
        (allocation.PREDICTION_IS_EXACT,),
        ATTENTION_ALONE,
    ),
)
