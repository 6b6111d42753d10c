"""Who holds a block."""

from pagedkv.conformance.faults.fault import PlantedFault
from pagedkv.conformance.faults.patching import Patch
from pagedkv.spec.clauses import freeing, pool

from .elsewhere import COARSE, WITHOUT_CACHING, without

FAULTS = (
    PlantedFault(
        "hit-not-touched",
        "A request starts its table with a hit and does not count as a holder of its blocks.",
        "a hit is added without touching its blocks",
        Patch(
            "reference/single_type.py",
            "        self.block_pool.touch(BlockList(self.block_pool, row))\n",
            "",
        ),
        (pool.COUNT_IS_HOLDERS,),
        WITHOUT_CACHING,
        also=(pool.TOUCHED_LEAVES_QUEUE,),
    ),
    PlantedFault(
        "failure-keeps-touch",
        "A call that is answered None for want of blocks has touched its hit and does not let go.",
        "a failure path keeps its references",
        Patch(
            "reference/allocation.py",
            "    if sum(manager.blocks_to_take(call, row) for manager, row in asked) > free:\n",
            "    if sum(manager.blocks_to_take(call, row) for manager, row in asked) > free:\n"
            "        coordinator.pool.touch(block for row in rows for block in row)\n",
        ),
        (pool.COUNT_IS_HOLDERS,),
        WITHOUT_CACHING,
    ),
    PlantedFault(
        "moved-entry-not-retained",
        "The source of an owner's copy is not held until the copy has run.",
        "the source of a copy can be used again before it is read",
        Patch("reference/kinds.py", "            self.block_pool.touch([source])\n", ""),
        (pool.COUNT_IS_HOLDERS,),
        COARSE,
    ),
    PlantedFault(
        "private-block-not-retained",
        "The private side of a consumer's copy is held by the table alone.",
        "the destination of a copy can be used again before it is written",
        Patch("reference/single_type.py", "            self.block_pool.touch([private])\n", ""),
        (pool.COUNT_IS_HOLDERS,),
        COARSE,
    ),
    PlantedFault(
        "pin-forgotten-not-freed",
        "A free forgets the pins of a request without releasing their blocks.",
        "a pin is not undone",
        Patch(
            "reference/manager.py",
            "for ids in (pins, *(row[::-1] for row in rows)):",
            "for ids in (row[::-1] for row in rows):",
        ),
        (pool.COUNT_IS_HOLDERS,),
        COARSE,
    ),
    PlantedFault(
        "pin-outlives-request",
        "The pins of a request stay when it is freed.",
        "what was handed over is held for ever",
        Patch("reference/manager.py", "pins = self.pins.pop(request_id, [])", "pins: list[int] = []"),
        (freeing.FORGETS_THE_REQUEST, pool.NO_LEAK),
        COARSE,
        "when nothing else runs it is a leak at once",
    ),
    PlantedFault(
        "retention-released-twice",
        "The source of a copy is listed twice among the blocks to release.",
        "a retention is undone twice",
        Patch(
            "reference/manager.py",
            "[block_id for pair in queued for block_id in pair]",
            "[block_id for src, dst in queued for block_id in (src, dst, src)]",
        ),
        (pool.FREED_ONCE_PER_HOLDER, pool.COUNT_IS_HOLDERS),
        COARSE,
        "a second holder of the source loses it instead of a refusal",
    ),
    PlantedFault(
        "last-group-freed-twice",
        "A free releases the table of its last group twice.",
        "a block is freed through two groups",
        Patch(
            "reference/manager.py",
            "for ids in (pins, *(row[::-1] for row in rows)):",
            "for ids in (pins, *(row[::-1] for row in (*rows, rows[-1]))):",
        ),
        (pool.FREED_ONCE_PER_HOLDER, pool.COUNT_IS_HOLDERS),
        "every run frees requests",
        "a second holder of the block loses it instead of a refusal",
    ),
    PlantedFault(
        "pop-frees-at-once",
        "Popping a request frees its blocks, and whoever popped them frees them again.",
        "a deferred free and an immediate one release the same blocks",
        Patch(
            "reference/manager.py",
            "        rows = self._pop(request, withdraw)\n",
            "        rows = self._pop(request, withdraw)\n"
            "        for row in rows:\n"
            "            self.block_pool.free_blocks(BlockList(self.block_pool, row))\n",
        ),
        (pool.FREED_ONCE_PER_HOLDER, pool.COUNT_IS_HOLDERS),
        without("pop"),
        "a second holder of a block loses it instead of a refusal",
    ),
)
