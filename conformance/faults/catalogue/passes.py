"""What one pass may read of itself."""

from pagedkv.conformance.faults.fault import PlantedFault
from pagedkv.conformance.faults.patching import Patch
from pagedkv.spec.clauses import copies, worker

from .elsewhere import ATTENTION_ALONE, COARSE

FAULTS = (
    PlantedFault(
        "guard-not-cleared",
        "What a pass fills still counts as being filled in the next.",
        "the same-step guard is not cleared at the next step",
        Patch("reference/single_type.py", "        self.filled = {}\n", ""),
        (copies.SAME_PASS_WAITS,),
        "every pass fills blocks",
    ),
    PlantedFault(
        "guard-not-armed-by-work",
        "Blocks that a pass computes do not count as being filled.",
        "a state is read that the same step writes",
        Patch(
            "reference/single_type.py",
            "        self.filled.update({block_id: call.request_id for block_id in self.written(call, row) if block_id})\n",
            "",
        ),
        (copies.SAME_PASS_WAITS,),
        "every pass fills blocks",
    ),
    PlantedFault(
        "guard-not-armed-by-a-move",
        "The private block of a moved entry does not count as being filled.",
        "copies of one step are chained",
        Patch("reference/kinds.py", "            self.filled[private.block_id] = None\n", ""),
        (copies.SAME_PASS_WAITS,),
        COARSE,
    ),
    PlantedFault(
        "guard-not-asked-by-attention",
        "A hit that ends inside an attention block is served while a step fills that block.",
        "a copy of a block that the same step writes",
        Patch("reference/kinds.py", "list(row[-1:]) if hit % self.block_size else []", "[]"),
        (copies.SAME_PASS_WAITS,),
        COARSE,
        mixes=("full+mamba+mamba",),
    ),
    PlantedFault(
        "guard-not-asked-at-block-ends",
        "A state on a block boundary is hit in the pass whose step writes it.",
        "a state is read that the same step writes",
        Patch(
            "reference/kinds.py",
            "        return list(row[-1:])\n",
            "        return list(row[-1:]) if hit % self.block_size else []\n",
        ),
        (worker.WRITES_ALONE,),
        ATTENTION_ALONE,
        also=(copies.SAME_PASS_WAITS,),
    ),
)
