"""Which blocks are free, and in which order they are used."""

from pagedkv.conformance.faults.fault import PlantedFault
from pagedkv.conformance.faults.patching import Patch
from pagedkv.spec.clauses import pool

from .elsewhere import COARSE, WITHOUT_CACHING, without

FAULTS = (
    PlantedFault(
        "touched-block-stays-queued",
        "A touched block that had no holder stays in the free queue.",
        "a block is in use and free at once",
        Patch("reference/pool.py", "self.queue.remove(block_id)", "pass"),
        (pool.QUEUED_WHEN_UNHELD, pool.COUNT_IS_HOLDERS),
        WITHOUT_CACHING,
        "a call may take the same block again at once",
        also=(pool.TOUCHED_LEAVES_QUEUE,),
    ),
    PlantedFault(
        "freed-with-one-holder-left",
        "A block goes to the free queue when one holder is left.",
        "a shared block is freed while somebody reads it",
        Patch(
            "reference/pool.py",
            "            if self.ref_counts[block_id] == 0:\n                reusable",
            "            if self.ref_counts[block_id] <= 1:\n                reusable",
        ),
        (pool.QUEUED_WHEN_UNHELD, pool.COUNT_IS_HOLDERS),
        WITHOUT_CACHING,
        "a call that lets a state go may take the same block at once",
    ),
    PlantedFault(
        "pinned-block-stays-queued",
        "A pin counts a block that was released already and leaves it in the free queue.",
        "a pin of a cached block without holder does not take it out of the free list",
        Patch(
            "reference/manager.py",
            "self.block_pool.touch(BlockList(self.block_pool, [block_id]))",
            "self.block_pool.ref_counts[block_id] += 1",
        ),
        (pool.QUEUED_WHEN_UNHELD,),
        COARSE,
        also=(pool.TOUCHED_LEAVES_QUEUE,),
    ),
    PlantedFault(
        "null-block-handed-out",
        "The free queue starts with the null block.",
        "the placeholder is given to a request",
        Patch("reference/pool.py", "list(range(1, num_gpu_blocks))", "list(range(num_gpu_blocks))"),
        (pool.QUEUED_WHEN_UNHELD,),
        "it shows before the first request",
    ),
    PlantedFault(
        "taken-from-the-back",
        "Blocks are taken from the back of the free queue.",
        "the block used last is evicted first",
        Patch(
            "reference/pool.py",
            "taken, self.queue = self.queue[:num_blocks], self.queue[num_blocks:]",
            "taken = [self.queue.pop() for _ in range(num_blocks)]",
        ),
        (pool.TAKEN_FROM_THE_FRONT,),
        "every request takes blocks",
    ),
    PlantedFault(
        "keyed-blocks-to-the-front",
        "Freed blocks with keys go to the front of the queue, those without to its back.",
        "front and back of the free list are swapped",
        Patch(
            "reference/pool.py",
            "(self.queue if reusable else front).append(block_id)",
            "(front if reusable else self.queue).append(block_id)",
        ),
        (pool.FREED_TAILS_FIRST,),
        "every run frees requests",
        mixes=("full",),
    ),
    PlantedFault(
        "heads-freed-first",
        "The blocks of a request are freed from the first to the last.",
        "a prefix loses its head before its tail, so that the rest can never be hit",
        Patch("reference/manager.py", "*(row[::-1] for row in rows)", "*(row for row in rows)"),
        (pool.FREED_TAILS_FIRST,),
        "every run frees requests",
    ),
    PlantedFault(
        "popped-heads-freed-first",
        "Popped blocks are listed so that freeing them from the end frees heads first.",
        "a deferred free has another order than an immediate one",
        Patch(
            "reference/manager.py",
            "for row in rows for block_id in row]",
            "for row in rows for block_id in row[::-1]]",
        ),
        (pool.FREED_TAILS_FIRST,),
        without("pop"),
    ),
    PlantedFault(
        "front-run-reversed",
        "Blocks without keys go to the front one by one, so that they stand there in the opposite order.",
        "the order of reuse depends on how a free is batched",
        Patch(
            "reference/pool.py", "self.queue = front + self.queue", "self.queue = front[::-1] + self.queue"
        ),
        (pool.FREED_TAILS_FIRST,),
        "every run frees requests",
    ),
)
