"""The rows of keys of the torch manager: whose they are, and which are in use."""

from pagedkv.conformance.faults.fault import PlantedFault
from pagedkv.conformance.faults.patching import Patch
from pagedkv.spec.clauses import allocation, freeing, index, pool

from .elsewhere import COARSE, WITHOUT_CACHING, without

FAULTS = (
    PlantedFault(
        "torch-primary-row-stays",
        "A block that loses all keys keeps the number of its first row.",
        "a stale slot: the row belongs to another key by the next look",
        Patch("impl/keys.py", "        put(self.keys.first, blocks, NOBODY)\n", ""),
        (allocation.NONE_CHANGES_NOTHING, pool.EVICT_TAKES_KEYS),
        WITHOUT_CACHING,
        "the row may be read while it is nobody's",
    ),
    PlantedFault(
        "torch-row-zero-is-no-key",
        "A block whose first row has number 0 counts as having no key.",
        "zero is both a number and nothing",
        Patch("impl/keys.py", "return self.keys.first[blocks] >= 0", "return self.keys.first[blocks] > 0"),
        (pool.FREED_TAILS_FIRST,),
        WITHOUT_CACHING,
    ),
    PlantedFault(
        "torch-keyless-block-reads-the-last-row",
        "A block without keys has as many tokens as the last row says.",
        "an index of -1 reads from the end",
        Patch(
            "impl/keys.py",
            "return torch.where(rows >= 0, self.keys.num_tokens[rows].long(), 0)",
            "return self.keys.num_tokens[rows].long()",
        ),
        (index.BOTH_WAYS,),
        WITHOUT_CACHING,
    ),
    PlantedFault(
        "torch-withdrawn-row-stays-first",
        "A block that loses a withdrawn key keeps the number of its row.",
        "a stale slot: the row belongs to nobody",
        Patch(
            "impl/keys.py",
            "        put(keys.first, held, rows)\n",
            "",
        ),
        (freeing.FORGETS_THE_REQUEST,),
        without("withdraw"),
    ),
    PlantedFault(
        "torch-moved-through-a-view",
        "A move reads the source's first row through a view, after it was cleared there.",
        "a view is taken for a copy",
        Patch(
            "impl/keys.py",
            "        keys.first[dst] = keys.first[src]\n        keys.first[src] = NOBODY\n",
            "        first = keys.first[src]\n        keys.first[src] = NOBODY\n        keys.first[dst] = first\n",
        ),
        (index.BOTH_WAYS,),
        COARSE,
        also=(index.MOVE_TAKES_ALL,),
    ),
    PlantedFault(
        "torch-moved-rows-keep-their-block",
        "The rows that a move gives to a block still say that they are the other's.",
        "a back reference is not moved with what it belongs to",
        Patch("impl/keys.py", "        put(keys.block, rows, dst)\n", "        put(keys.block, rows, src)\n"),
        (index.BOTH_WAYS,),
        COARSE,
    ),
    PlantedFault(
        "torch-rows-numbered-from-zero-again",
        "Rows that are added have the numbers of those in use.",
        "a free list is grown without its offset",
        Patch("impl/keys.py", "mine, more = more + num_old, mine", "mine, more = more, mine"),
        (index.BOTH_WAYS,),
        WITHOUT_CACHING,
    ),
    PlantedFault(
        "torch-rows-retired-at-the-bottom",
        "Rows that are given back are written over others that were.",
        "a free list hands out one slot twice",
        Patch(
            "impl/keys.py",
            "keys.unused[keys.num_unused : keys.num_unused + len(rows)] = rows.to(keys.unused.dtype)",
            "keys.unused[: len(rows)] = rows.to(keys.unused.dtype)",
        ),
        (index.BOTH_WAYS,),
        WITHOUT_CACHING,
    ),
    PlantedFault(
        "torch-reset-empties-the-index-only",
        "A reset makes a new index and leaves the blocks their rows.",
        "a reset keeps the keys on the blocks",
        Patch(
            "impl/pool.py",
            "self.keys = KeyStore(self.num_gpu_blocks, self.device, self.events)",
            "self.keys.buckets = KeyStore(self.num_gpu_blocks, self.device, self.events).buckets",
        ),
        (pool.RESET_WHEN_IDLE,),
        without("reset"),
    ),
)
