"""How tables grow and what they let go."""

from pagedkv.conformance.faults.fault import PlantedFault
from pagedkv.conformance.faults.patching import Patch
from pagedkv.spec.clauses import allocation, freeing, worker

from .elsewhere import ATTENTION_ALONE, COARSE, STATES_ALONE, WITHOUT_SPECULATIVE_BLOCKS

FAULTS = (
    PlantedFault(
        "new-blocks-evict-hits",
        "Each group takes its new blocks before the next group has touched its hit.",
        "one group's new blocks evict another group's hit",
        Patch(
            "reference/allocation.py",
            "        for manager, row in asked:\n"
            "            manager.add_hit(call, row)\n"
            "        for manager in managers:\n"
            "            manager.add_external(call)\n"
            "    return [manager.allocate_new_blocks(call) for manager in managers]\n",
            "        pass\n"
            "    new_rows = []\n"
            "    for manager, row in asked:\n"
            "        if call.is_first:\n"
            "            manager.add_hit(call, row)\n"
            "            manager.add_external(call)\n"
            "        new_rows.append(manager.allocate_new_blocks(call))\n"
            "    return new_rows\n",
        ),
        (allocation.HITS_BEFORE_NEW, worker.WRITES_ALONE),
        ATTENTION_ALONE,
        "the evicted block may be one that the request goes on to write",
        mixes=("full+mamba+mamba",),
    ),
    PlantedFault(
        "hit-added-before-the-check",
        "A request has its hit in its table before it is known whether the rest fits.",
        "None after a partial change",
        Patch(
            "reference/allocation.py",
            "    if sum(manager.blocks_to_take(call, row) for manager, row in asked) > free:\n"
            "        return None\n"
            "    if call.is_first:\n"
            "        for manager, row in asked:\n"
            "            manager.add_hit(call, row)\n",
            "    taken = sum(manager.blocks_to_take(call, row) for manager, row in asked)\n"
            "    if call.is_first:\n"
            "        for manager, row in asked:\n"
            "            manager.add_hit(call, row)\n"
            "    if taken > free:\n"
            "        return None\n"
            "    if call.is_first:\n",
        ),
        (allocation.NONE_CHANGES_NOTHING,),
        "every pool fills up",
    ),
    PlantedFault(
        "running-table-rewritten",
        "A request that goes on inside a block gets a copy of it in its table.",
        "a table entry is rewritten while its request runs",
        Patch(
            "reference/single_type.py",
            "        if call.hit % self.block_size:\n",
            "        if call.start % self.block_size:\n",
        ),
        (allocation.TABLES_APPEND_ONLY,),
        "every run has chunks that start inside a block",
    ),
    PlantedFault(
        "skipped-by-dispatched-tokens",
        "States are let go by the tokens that this call schedules, not by those that are processed.",
        "skipped blocks are freed by the dispatched count",
        Patch(
            "reference/manager.py",
            "self.remove_skipped_blocks(request_id, processed, request.num_prompt_tokens)",
            "self.remove_skipped_blocks(request_id, call.end, request.num_prompt_tokens)",
        ),
        (allocation.COVERS_THE_TOKENS,),
        ATTENTION_ALONE,
    ),
    PlantedFault(
        "state-in-use-skipped",
        "The state that the next step starts from is let go when it is on a block boundary.",
        "a state is freed one step early",
        Patch("spec/rules/reach.py", "return max(0, num_processed - 1)", "return num_processed"),
        (allocation.COVERS_THE_TOKENS,),
        ATTENTION_ALONE,
    ),
    PlantedFault(
        "states-never-skipped",
        "A request keeps all its states.",
        "the state before last is never freed",
        Patch("spec/rules/reach.py", "return max(0, num_processed - 1)", "return 0"),
        (allocation.HOLDS_NO_MORE,),
        ATTENTION_ALONE,
    ),
    PlantedFault(
        "skipped-only-when-served",
        "States that nobody reads are let go only after the call was found to fit.",
        "a request waits for blocks that it holds itself",
        Patch(
            "reference/manager.py",
            "        self.remove_skipped_blocks(request_id, processed, request.num_prompt_tokens)\n",
            "        asked = zip(managers, rows, strict=True)\n"
            "        if sum(m.blocks_to_take(call, row) for m, row in asked) > self.block_pool.get_num_free_blocks():\n"
            "            return None\n"
            "        self.remove_skipped_blocks(request_id, processed, request.num_prompt_tokens)\n",
        ),
        (allocation.SKIPPED_ARE_FREED,),
        ATTENTION_ALONE,
    ),
    PlantedFault(
        "block-for-the-next-token",
        "Attention takes a block as soon as the one before is full.",
        "decoding at a block boundary appends too early",
        Patch(
            "spec/rules/rows.py",
            "max(0, blocks_for(end, block_size) - row_length)",
            "max(0, blocks_for(end + 1, block_size) - row_length)",
        ),
        (allocation.HOLDS_NO_MORE,),
        STATES_ALONE,
    ),
    PlantedFault(
        "block-for-the-last-token-missing",
        "Attention has no block for a token that is the first of its block.",
        "the last token is written past the table",
        Patch(
            "spec/rules/rows.py",
            "max(0, blocks_for(end, block_size) - row_length)",
            "max(0, blocks_for(end - 1, block_size) - row_length)",
        ),
        (allocation.COVERS_THE_TOKENS, allocation.NONE_CHANGES_NOTHING),
        STATES_ALONE,
        "the model itself fails where the missing block would have become a key",
    ),
    PlantedFault(
        "speculative-blocks-not-reused",
        "The speculative blocks of the last step stay where they are and new ones are taken.",
        "speculative blocks are not reused",
        Patch(
            "spec/rules/rows.py",
            "moved_to = max(moved_from, min(row_length, running))",
            "moved_to = moved_from",
        ),
        (allocation.HOLDS_NO_MORE, allocation.PREDICTION_IS_EXACT),
        WITHOUT_SPECULATIVE_BLOCKS,
        "as long as the old ones stand where the new state would, only too many are taken",
    ),
    PlantedFault(
        "hit-taken-for-speculative",
        "The first allocation moves blocks of the hit as if they were speculative ones.",
        "a cached state is written by the request that hit it",
        Patch(
            "spec/rules/rows.py",
            "row_length if is_first else row_length - num_speculative",
            "max(0, row_length - num_speculative)",
        ),
        (worker.WRITES_ALONE, allocation.COVERS_THE_TOKENS),
        WITHOUT_SPECULATIVE_BLOCKS,
    ),
    PlantedFault(
        "padding-left-out",
        "States that nobody will read get blocks instead of null entries.",
        "the running state stands at another block's place",
        Patch("spec/rules/rows.py", "padding = max(0, running - row_length)", "padding = 0"),
        (allocation.HOLDS_NO_MORE,),
        ATTENTION_ALONE,
    ),
    PlantedFault(
        "nulls-not-answered",
        "The answer lacks the null entries that were appended.",
        "the worker's table slips against the manager's",
        Patch(
            "reference/single_type.py",
            "return new + row[num_old:]",
            "return new + [block for block in row[num_old:] if block]",
        ),
        (allocation.ANSWERS_NEW_ENTRIES,),
        ATTENTION_ALONE,
    ),
    PlantedFault(
        "private-block-not-answered",
        "The answer lacks the private block of the hit.",
        "the worker reads on from the shared block",
        Patch(
            "reference/single_type.py",
            "            new.append(private.block_id)\n",
            "",
        ),
        (allocation.ANSWERS_NEW_ENTRIES,),
        COARSE,
    ),
    PlantedFault(
        "stranger-cannot-be-freed",
        "Freeing a request without tables is an error.",
        "an abort before the first allocation fails",
        Patch(
            "reference/single_type.py",
            "return self.rows.pop(request_id, [])",
            "return self.rows.pop(request_id)",
        ),
        (freeing.FORGETS_THE_REQUEST,),
        "every run has requests that end before they are admitted",
    ),
    PlantedFault(
        "table-sent-without-nulls",
        "The table that a worker is sent lacks the null entries.",
        "the worker's table slips against the manager's",
        Patch(
            "reference/views.py",
            "return self.get_blocks(request_id).get_block_ids()",
            "return tuple([i for i in row if i] for row in self.get_blocks(request_id).get_block_ids())",
        ),
        (worker.READS_ITS_PREFIX, worker.TABLES_AGREE),
        ATTENTION_ALONE,
        "the worker may not have read from the part that slipped yet",
    ),
    PlantedFault(
        "table-sent-with-an-entry-too-many",
        "The table that a worker is sent ends with a null entry that the manager's does not have.",
        "the worker's table is one entry ahead",
        Patch(
            "reference/views.py",
            "return self.get_blocks(request_id).get_block_ids()",
            "return tuple([*row, 0] for row in self.get_blocks(request_id).get_block_ids())",
        ),
        (worker.TABLES_AGREE,),
        "every run sends tables",
    ),
)
