"""The block tables of the torch manager: rows that are used again, grown and read through views."""

from pagedkv.conformance.faults.fault import PlantedFault
from pagedkv.conformance.faults.patching import Patch
from pagedkv.spec.clauses import allocation, copies, pool

from .elsewhere import ATTENTION_ALONE, COARSE, WITHOUT_CACHING, WITHOUT_SPECULATIVE_BLOCKS, without

FAULTS = (
    PlantedFault(
        "torch-skipped-of-the-request-before",
        "A row starts with the number of skipped entries of the request that had it before.",
        "a stale slot: states that nobody reads stay held",
        Patch("impl/single_type.py", "        tables.num_skipped[row] = 0\n", ""),
        (allocation.HOLDS_NO_MORE, allocation.SKIPPED_ARE_FREED),
        ATTENTION_ALONE,
    ),
    PlantedFault(
        "torch-named-of-the-request-before",
        "A row starts with the blocks named that the request before had.",
        "a stale slot: blocks of one request are skipped for another's keys",
        Patch(
            "impl/single_type.py",
            "        tables.num_cached[row] = hit // self.block_size\n",
            "        tables.num_cached[row] = max(hit // self.block_size, int(tables.num_cached[row]))\n",
        ),
        (allocation.FULL_BLOCKS_BECOME_KEYS,),
        WITHOUT_CACHING,
    ),
    PlantedFault(
        "torch-partial-entry-of-the-request-before",
        "A row starts with the partial entry of the request that had it before.",
        "a stale slot: the prompt's end is taken for named",
        Patch("impl/single_type.py", "        tables.named_partial[row] = 0\n\n", "\n"),
        (allocation.PARTIAL_PROMPT_END,),
        COARSE,
    ),
    PlantedFault(
        "torch-row-is-a-view",
        "A row is answered as a view of the table, which is cleared before its blocks are released.",
        "a view is taken for a copy",
        Patch(
            "impl/single_type.py",
            "return self.tables.blocks[row, : int(self.tables.length[row])].long()",
            "return self.tables.blocks[row, : int(self.tables.length[row])]",
        ),
        (pool.COUNT_IS_HOLDERS,),
        "every run frees requests",
    ),
    PlantedFault(
        "torch-moved-entries-cleared-first",
        "Entries that move to the end of their row are read when they have been cleared.",
        "an in-place operation comes before the one that reads what was there",
        Patch(
            "impl/single_type.py",
            "        values[is_moved] = self.tables.blocks[row[is_moved], source].long()\n"
            "        values[is_taken] = taken\n"
            "        put(self.tables.blocks, (row[is_moved], source), 0)\n",
            "        put(self.tables.blocks, (row[is_moved], source), 0)\n"
            "        values[is_moved] = self.tables.blocks[row[is_moved], source].long()\n"
            "        values[is_taken] = taken\n",
        ),
        (pool.COUNT_IS_HOLDERS,),
        WITHOUT_SPECULATIVE_BLOCKS,
    ),
    PlantedFault(
        "torch-moved-entries-stay",
        "Entries that move to the end of their row stay where they were as well.",
        "a gather without the scatter that belongs to it",
        Patch("impl/single_type.py", "        put(self.tables.blocks, (row[is_moved], source), 0)\n", ""),
        (pool.COUNT_IS_HOLDERS,),
        WITHOUT_SPECULATIVE_BLOCKS,
    ),
    PlantedFault(
        "torch-skipped-entries-stay",
        "Entries that are let go keep their block.",
        "a table shows a block that it does not hold",
        Patch(
            "impl/single_type.py",
            "        put(self.tables.blocks, (rows[skip.owner], skip.entry), 0)\n",
            "",
        ),
        (pool.COUNT_IS_HOLDERS,),
        ATTENTION_ALONE,
    ),
    PlantedFault(
        "torch-last-block-not-written",
        "The block in which a chunk ends does not count as being filled.",
        "a division rounds down where it has to round up",
        Patch(
            "impl/single_type.py",
            "last = starts // self.block_size, -(-ends // self.block_size)",
            "last = starts // self.block_size, ends // self.block_size",
        ),
        (copies.SAME_PASS_WAITS,),
        "most chunks end inside a block",
    ),
    PlantedFault(
        "torch-hit-moved-as-speculative",
        "The first allocation moves entries of the hit as if they were speculative.",
        "the first call of a row is treated as any other",
        Patch("impl/kinds.py", "reusable = 0 if is_first else speculative", "reusable = speculative"),
        (allocation.COVERS_THE_TOKENS,),
        WITHOUT_SPECULATIVE_BLOCKS,
    ),
    PlantedFault(
        "torch-grown-empty",
        "What grows loses what was in it.",
        "a larger array is made and nothing copied",
        Patch(
            "impl/layout.py",
            "    wider[tuple(slice(size) for size in tensor.shape)] = tensor\n",
            "",
        ),
        (copies.SAME_PASS_WAITS, allocation.TABLES_APPEND_ONLY, pool.COUNT_IS_HOLDERS),
        "every run fills more blocks in a pass than there is room for at first",
        "marks of the pass grow, and so do tables",
    ),
    PlantedFault(
        "torch-common-prefix-of-one-row",
        "The common prefix is taken of the request asked for and of one other.",
        "a reduction runs over a slice",
        Patch(
            "impl/kinds.py",
            "(tables.blocks[in_use, : len(mine)] == mine).all(0)",
            "(tables.blocks[in_use[:1], : len(mine)] == mine).all(0)",
        ),
        (allocation.COMMON_PREFIX,),
        without("common prefix"),
        mixes=("full+mamba+mamba",),
    ),
    PlantedFault(
        "torch-common-prefix-with-unused-rows",
        "The common prefix is taken of all rows, those that are not in use included.",
        "free slots are not masked out of a reduction",
        Patch(
            "impl/kinds.py",
            "in_use = torch.tensor(list(self.ledger.rows.values()), device=tables.length.device)",
            "in_use = torch.arange(self.ledger.num_rows, device=tables.length.device)",
        ),
        (allocation.COMMON_PREFIX,),
        without("common prefix"),
    ),
)
