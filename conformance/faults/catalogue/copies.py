"""Copies on write and hand-offs."""

from pagedkv.conformance.faults.fault import PlantedFault
from pagedkv.conformance.faults.patching import Patch
from pagedkv.spec.clauses import copies, index, worker

from .elsewhere import COARSE

_OVERWRITTEN = Patch(
    "reference/kinds.py",
    "HandOff(request_id, private.block_id, boundary)",
    "HandOff(request_id, source.block_id, boundary)",
)
_SENT_REVERSED = Patch(
    "reference/manager.py",
    "[KVCacheBlockCopy(src, dst) for src, dst in queued]",
    "[KVCacheBlockCopy(dst, src) for src, dst in queued]",
)

FAULTS = (
    PlantedFault(
        "consumers-copy-reversed",
        "The copy for a hit that ends inside a block runs from the private block to the shared one.",
        "source and destination are swapped",
        Patch("reference/single_type.py", "(row[-1], private.block_id)", "(private.block_id, row[-1])"),
        (copies.CONSUMER_GETS_PRIVATE_BLOCK,),
        COARSE,
    ),
    PlantedFault(
        "owners-copy-reversed",
        "The copy for an owner's entry runs from the private block to the owner's.",
        "source and destination are swapped",
        Patch(
            "reference/kinds.py", "(source.block_id, private.block_id)", "(private.block_id, source.block_id)"
        ),
        (copies.OWNER_KEEPS_ITS_BLOCK,),
        COARSE,
    ),
    PlantedFault(
        "shared-tail-written",
        "A request whose hit ends inside a block writes on in that block.",
        "a consumer writes into the shared tail",
        Patch(
            "reference/single_type.py",
            "        if call.hit % self.block_size:\n",
            "        if call.hit % self.block_size < 0:\n",
        ),
        (copies.CONSUMER_GETS_PRIVATE_BLOCK, worker.WRITES_ALONE, index.PROMOTION),
        COARSE,
        "who wrote the block may still write it, or be about to name it again",
    ),
    PlantedFault(
        "own-entry-overwritten",
        "A request writes on in the state that its own partial entry names.",
        "an owner keeps writing under its published entry",
        Patch("reference/kinds.py", "return boundary is not None and bool(", "return False and bool("),
        (copies.OWNER_KEEPS_ITS_BLOCK,),
        COARSE,
    ),
    PlantedFault(
        "entry-moved-without-keys",
        "An owner's entry is moved although its keys were evicted.",
        "a copy and a hand-off of something that nobody can ask for",
        Patch("reference/kinds.py", "        if moves:\n", "        if boundary:\n"),
        (copies.OWNER_KEEPS_ITS_BLOCK,),
        COARSE,
        mixes=("full+mamba",),
    ),
    PlantedFault(
        "copies-by-last-group-first",
        "Copies are drained from the last group to the first.",
        "copies reach the worker in another order",
        Patch(
            "reference/manager.py",
            "[pair for manager in self.coordinator.single_type_managers for",
            "[pair for manager in self.coordinator.single_type_managers[::-1] for",
        ),
        (copies.DRAINED_IN_ORDER,),
        COARSE,
    ),
    PlantedFault(
        "copies-sent-reversed",
        "The worker is told to copy from the destination to the source.",
        "a private block is read before it was filled",
        _SENT_REVERSED,
        (copies.DRAINED_IN_ORDER,),
        COARSE,
    ),
    PlantedFault(
        "copies-sent-reversed-unseen",
        "The worker is told to copy from the destination to the source, and nobody can look into the pool.",
        "a request reads what another wrote",
        _SENT_REVERSED,
        (worker.READS_ITS_PREFIX,),
        COARSE,
        tells_state=False,
    ),
    PlantedFault(
        "overwritten-block-handed-over",
        "The hand-off names the block that the owner goes on to write.",
        "the overwritten block is handed over",
        _OVERWRITTEN,
        (worker.WRITES_ALONE,),
        COARSE,
        also=(copies.HAND_OFF,),
    ),
    PlantedFault(
        "overwritten-block-handed-over-unseen",
        "The hand-off names the block that the owner goes on to write, and nobody can look into the pool.",
        "a connector stores another state than it was told",
        _OVERWRITTEN,
        (worker.HAND_OFF_IS_THE_STATE,),
        COARSE,
        tells_state=False,
    ),
    PlantedFault(
        "handed-over-again",
        "A hand-off stays listed when it has been taken.",
        "one block is handed over twice",
        Patch("reference/manager.py", "                manager.hand_offs = []\n", ""),
        (copies.HAND_OFF,),
        COARSE,
    ),
    PlantedFault(
        "handed-over-after-the-request",
        "The hand-offs of a request can still be taken when it is gone.",
        "an entry of a freed request is handed over",
        Patch(
            "reference/kinds.py",
            "[entry for entry in self.hand_offs if entry.request_id != request_id]",
            "[*self.hand_offs]",
        ),
        (copies.HAND_OFF_DIES_WITH_REQUEST,),
        COARSE,
        mixes=("full+mamba+mamba",),
    ),
)
