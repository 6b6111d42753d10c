"""The free queue of the torch manager: a ring of cells with holes."""

from pagedkv.conformance.faults.fault import PlantedFault
from pagedkv.conformance.faults.patching import Patch
from pagedkv.spec.clauses import allocation, pool

from .elsewhere import WITHOUT_CACHING

_SOON_FULL = ("mamba",)
"""A mix in which holes soon leave no room."""

FAULTS = (
    PlantedFault(
        "torch-ring-one-cell-longer",
        "The front wraps from the first cell to one that the ring does not have.",
        "a ring buffer is off by one where it wraps",
        Patch(
            "impl/ops/ring.py",
            "ring.head = (ring.head - len(ids)) % len(ring.cells)",
            "ring.head = (ring.head - len(ids)) % (len(ring.cells) + 1)",
        ),
        (pool.QUEUED_WHEN_UNHELD,),
        "every run frees requests",
    ),
    PlantedFault(
        "torch-front-written-backwards",
        "Blocks that are inserted before the front stand there in the opposite order.",
        "the order of reuse is turned around at one end",
        Patch(
            "impl/ops/ring.py",
            "    _write(ring, 0, ids)\n\n\ndef leave",
            "    _write(ring, 0, ids.flip(0))\n\n\ndef leave",
        ),
        (pool.FREED_TAILS_FIRST,),
        "every run frees requests",
    ),
    PlantedFault(
        "torch-front-behind-the-head",
        "The front moves forward for blocks that are inserted before it.",
        "a ring buffer grows in the wrong direction and writes over what is queued",
        Patch(
            "impl/ops/ring.py",
            "ring.head = (ring.head - len(ids)) % len(ring.cells)",
            "ring.head = (ring.head + len(ids)) % len(ring.cells)",
        ),
        (pool.QUEUED_WHEN_UNHELD,),
        "every run frees requests",
    ),
    PlantedFault(
        "torch-head-not-moved-over-holes",
        "The front moves by as many cells as blocks are taken, though holes stood between them.",
        "tombstones are not counted when the front passes them",
        Patch(
            "impl/ops/ring.py",
            "passed = int(live[-1]) + 1 if num_blocks else 0",
            "passed = num_blocks",
        ),
        (pool.QUEUED_WHEN_UNHELD,),
        WITHOUT_CACHING,
    ),
    PlantedFault(
        "torch-holes-stay-in-the-span",
        "The cells in use are fewer by the blocks taken only, not by the holes between them.",
        "tombstones are not counted when the front passes them",
        Patch("impl/ops/ring.py", "ring.span -= passed", "ring.span -= num_blocks"),
        (pool.QUEUED_WHEN_UNHELD,),
        WITHOUT_CACHING,
    ),
    PlantedFault(
        "torch-hole-left-as-block",
        "A block that leaves from the middle stays in its cell.",
        "a tombstone is not written, and the block is taken while it is in use",
        Patch("impl/ops/ring.py", "    put(ring.cells, ring.position[ids].long(), 0)\n", ""),
        (pool.QUEUED_WHEN_UNHELD,),
        WITHOUT_CACHING,
    ),
    PlantedFault(
        "torch-hole-at-the-blocks-number",
        "A block that leaves from the middle clears the cell of its number, not the one it stands in.",
        "a position is taken for an id",
        Patch("impl/ops/ring.py", "put(ring.cells, ring.position[ids].long(), 0)", "put(ring.cells, ids, 0)"),
        (pool.QUEUED_WHEN_UNHELD,),
        WITHOUT_CACHING,
    ),
    PlantedFault(
        "torch-stale-positions",
        "A block that comes back to the queue keeps the position that it had before.",
        "the slot of an earlier stay is trusted",
        Patch("impl/ops/ring.py", "    put(ring.position, ids, cells)\n", ""),
        (pool.QUEUED_WHEN_UNHELD, pool.COUNT_IS_HOLDERS),
        WITHOUT_CACHING,
        "a block that stays in the queue may be taken again at once",
    ),
    PlantedFault(
        "torch-looks-no-further-than-holes",
        "Taking looks at as many cells as blocks are asked for, and finds fewer where there are holes.",
        "a gather over a ring with tombstones comes back short",
        Patch("impl/ops/ring.py", "        width = min(ring.span, 2 * width)\n", "        break\n"),
        (allocation.NONE_CHANGES_NOTHING,),
        WITHOUT_CACHING,
    ),
    PlantedFault(
        "torch-full-ring-overwritten",
        "Whether there is room is asked of the blocks in the ring, without the holes between them.",
        "tombstones are not counted as occupied, and a full ring overwrites its own front",
        Patch(
            "impl/ops/ring.py",
            "if ring.span + num_blocks <= len(ring.cells):",
            "if ring.free + num_blocks <= len(ring.cells):",
        ),
        (pool.QUEUED_WHEN_UNHELD,),
        WITHOUT_CACHING,
        mixes=_SOON_FULL,
    ),
    PlantedFault(
        "torch-holes-closed-by-id",
        "Closing the holes puts the blocks in the order of their ids.",
        "a compaction reorders what it keeps",
        Patch(
            "impl/ops/ring.py",
            "    ids = queued(ring)\n    ring.head",
            "    ids = queued(ring).sort().values\n    ring.head",
        ),
        (pool.FREED_TAILS_FIRST, pool.TAKEN_FROM_THE_FRONT),
        WITHOUT_CACHING,
        "the call that closes the holes may have taken blocks too",
        mixes=_SOON_FULL,
    ),
    PlantedFault(
        "torch-holes-closed-with-a-block",
        "Closing the holes loses the block at the back.",
        "a compaction ends one too early",
        Patch(
            "impl/ops/ring.py",
            "    ids = queued(ring)\n    ring.head",
            "    ids = queued(ring)[: ring.free - 1]\n    ring.head",
        ),
        (pool.QUEUED_WHEN_UNHELD,),
        WITHOUT_CACHING,
        mixes=_SOON_FULL,
    ),
    PlantedFault(
        "torch-positions-from-before-closing",
        "Blocks that stand elsewhere since the holes were closed keep their positions.",
        "a compaction moves slots and leaves the references to them",
        Patch(
            "impl/ops/ring.py",
            "    ring.head, ring.span, ring.free = 0, len(ids), 0\n    _write(ring, 0, ids)\n",
            "    ring.head, ring.span = 0, len(ids)\n    put(ring.cells, _cells(ring, 0, len(ids)), ids)\n",
        ),
        (pool.QUEUED_WHEN_UNHELD,),
        WITHOUT_CACHING,
        mixes=_SOON_FULL,
    ),
    PlantedFault(
        "torch-holes-closed-around-the-old-front",
        "Closing the holes writes from the old front on and then starts at the first cell.",
        "two lines in the wrong order",
        Patch(
            "impl/ops/ring.py",
            "    ring.head, ring.span, ring.free = 0, len(ids), 0\n    _write(ring, 0, ids)\n",
            "    ring.span, ring.free = len(ids), 0\n    _write(ring, 0, ids)\n    ring.head = 0\n",
        ),
        (pool.QUEUED_WHEN_UNHELD,),
        WITHOUT_CACHING,
        mixes=_SOON_FULL,
    ),
)
