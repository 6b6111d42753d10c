"""Which block answers for which key."""

from pagedkv.conformance.faults.fault import PlantedFault
from pagedkv.conformance.faults.patching import Patch
from pagedkv.spec.clauses import index, pool, worker

from .elsewhere import ATTENTION_ALONE, COARSE, WITHOUT_CACHING, without

_REUSED_WITH_KEYS = Patch(
    "reference/pool.py",
    "            self._drop_keys(block_id)\n            self.ref_counts[block_id] = 1\n",
    "            self.ref_counts[block_id] = 1\n",
)

FAULTS = (
    PlantedFault(
        "reused-with-its-keys",
        "A block keeps its keys when it is taken for another prefix.",
        "a key outlives what it names",
        _REUSED_WITH_KEYS,
        (pool.TAKEN_FROM_THE_FRONT, worker.KEYS_TELL_THE_TRUTH, index.PROMOTION),
        WITHOUT_CACHING,
        "the old key is seen when the block is taken, or with the new one if that is made at once",
    ),
    PlantedFault(
        "secondary-keys-stay-listed",
        "A block that loses its keys is taken off the index under its primary key only.",
        "secondary keys are forgotten at eviction",
        Patch("reference/pool.py", "for key in self.keys[block_id]:", "for key in self.keys[block_id][:1]:"),
        (index.BOTH_WAYS,),
        COARSE,
        mixes=("full+mamba+mamba",),
    ),
    PlantedFault(
        "longest-holder-dropped",
        "When one of several blocks with a key loses it, the one that has held it longest leaves the index.",
        "of two equal blocks the wrong one is dropped",
        Patch(
            "reference/pool.py",
            "left = tuple(holder for holder in self.index[key.name] if holder != block_id)",
            "left = self.index[key.name][1:]",
        ),
        (index.BOTH_WAYS,),
        WITHOUT_CACHING,
    ),
    PlantedFault(
        "one-holder-per-key",
        "A second block with a key takes the place of the first in the index.",
        "equal prompts in one step break an index that knows one owner",
        Patch(
            "reference/pool.py",
            "self.index[key.name] = (*self.index.get(key.name, ()), block_id)",
            "self.index[key.name] = (block_id,)",
        ),
        (index.BOTH_WAYS,),
        WITHOUT_CACHING,
    ),
    PlantedFault(
        "newest-holder-listed-first",
        "A block that gets a key is listed before the blocks that had it.",
        "equal blocks answer in another order on each side",
        Patch(
            "reference/pool.py",
            "self.index[key.name] = (*self.index.get(key.name, ()), block_id)",
            "self.index[key.name] = (block_id, *self.index.get(key.name, ()))",
        ),
        (index.LONGEST_HOLDER_ANSWERS,),
        WITHOUT_CACHING,
    ),
    PlantedFault(
        "newest-holder-answers",
        "A lookup takes the block that got the key last.",
        "a block that is about to be given up answers for one that stays",
        Patch("reference/pool.py", "KVCacheBlock(self, ids[0])", "KVCacheBlock(self, ids[-1])"),
        (index.LONGEST_HOLDER_ANSWERS,),
        WITHOUT_CACHING,
    ),
    PlantedFault(
        "moved-entry-listed-first",
        "The private block of a moved entry is listed before all other holders of its keys.",
        "a block that is still to be filled answers for one that is full",
        Patch(
            "reference/pool.py",
            "self.index[key.name] += (dst,)",
            "self.index[key.name] = (dst, *self.index[key.name])",
        ),
        (index.LONGEST_HOLDER_ANSWERS,),
        COARSE,
    ),
    PlantedFault(
        "move-leaves-the-source-its-keys",
        "A move copies the keys to the private block and leaves them on the source.",
        "a move leaves the source's key",
        Patch("reference/pool.py", "        self._drop_keys(src)\n", ""),
        (index.MOVE_TAKES_ALL,),
        COARSE,
    ),
    PlantedFault(
        "attention-drops-shorter-keys",
        "An attention block that is filled up loses the key of its shorter prefix.",
        "an entry is announced removed that never stopped being valid",
        Patch(
            "reference/kinds.py", "keeps_keys: ClassVar[bool] = True", "keeps_keys: ClassVar[bool] = False"
        ),
        (index.PROMOTION,),
        COARSE,
    ),
    PlantedFault(
        "longer-key-becomes-secondary",
        "A promotion puts the longer key behind the one that was there.",
        "a promotion keeps the old primary key",
        Patch("reference/pool.py", "(key, *held) if longer else (*held, key)", "(*held, key)"),
        (index.PROMOTION,),
        COARSE,
    ),
    PlantedFault(
        "partial-entries-without-fine-hits",
        "Prompts' ends inside blocks become keys although no lookup can ask for them.",
        "the cache fills with entries of no use",
        Patch(
            "reference/single_type.py",
            "        if self.alignment_tokens >= self.block_size:\n            return []\n",
            "",
        ),
        (index.PARTIAL_ENTRY,),
        ATTENTION_ALONE,
    ),
    PlantedFault(
        "null-block-named",
        "Skipped positions are named like full blocks, so that the null block gets keys.",
        "placeholders are announced as stored",
        Patch("reference/pool.py", "if not blocks[i].is_null and (block_mask", "if (block_mask"),
        (worker.KEYS_TELL_THE_TRUTH, index.PROMOTION),
        ATTENTION_ALONE,
        "the second key for the null block may be refused, since it has a longer one",
    ),
    PlantedFault(
        "free-takes-keys",
        "The blocks of a freed request lose their keys.",
        "nothing is ever hit again after its request",
        Patch(
            "reference/manager.py",
            "            self.block_pool.free_blocks(BlockList(self.block_pool, ids))\n",
            "            self.block_pool.free_blocks(BlockList(self.block_pool, ids))\n"
            "            self.block_pool.evict_blocks(ids)\n",
        ),
        (index.KEYS_STAY, pool.FREED_TAILS_FIRST),
        WITHOUT_CACHING,
    ),
    PlantedFault(
        "evict-takes-the-primary-key-only",
        "An eviction leaves a block its secondary keys.",
        "what was evicted can still be hit",
        Patch(
            "reference/pool.py",
            "        for block_id in ids:\n            self._drop_keys(block_id)\n",
            "        for block_id in ids:\n"
            "            for key in self.keys[block_id][:1]:\n"
            "                self.withdraw_key(block_id, key)\n",
        ),
        (pool.EVICT_TAKES_KEYS, pool.RESET_WHEN_IDLE),
        COARSE,
        "a reset evicts all blocks",
    ),
    PlantedFault(
        "evict-passes-over-held-blocks",
        "An eviction leaves the blocks that somebody holds their keys.",
        "what was evicted can still be hit",
        Patch(
            "reference/pool.py",
            "        for block_id in ids:\n            self._drop_keys(block_id)\n",
            "        for block_id in ids:\n"
            "            if self.ref_counts[block_id] == 0:\n"
            "                self._drop_keys(block_id)\n",
        ),
        (pool.EVICT_TAKES_KEYS,),
        without("evict"),
    ),
    PlantedFault(
        "reset-keeps-block-keys",
        "A reset empties the index and leaves the blocks their keys.",
        "a reset keeps the keys on the blocks",
        Patch("reference/pool.py", "        self.keys = [()] * self.num_gpu_blocks\n", ""),
        (index.BOTH_WAYS,),
        without("reset"),
    ),
    PlantedFault(
        "reset-misses-a-block",
        "A reset leaves the last block of the free queue its keys.",
        "a loop ends one block early",
        Patch(
            "reference/pool.py",
            "        self.keys = [()] * self.num_gpu_blocks\n        self.index = {}\n",
            "        for block_id in self.queue[:-1]:\n            self._drop_keys(block_id)\n",
        ),
        (pool.RESET_WHEN_IDLE,),
        without("reset"),
    ),
    PlantedFault(
        "reset-while-in-use",
        "A reset takes all keys although requests run.",
        "a reset in the middle of work",
        Patch("reference/pool.py", "+ self.num_sinks + 1 < self.num_gpu_blocks", "+ self.num_sinks + 1 < 0"),
        (pool.RESET_WHEN_IDLE,),
        without("reset"),
    ),
)
