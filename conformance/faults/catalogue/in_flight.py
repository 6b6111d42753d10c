"""Steps that are dispatched and not processed, and draft tokens."""

from pagedkv.conformance.faults.fault import PlantedFault
from pagedkv.conformance.faults.patching import Patch
from pagedkv.spec.clauses import allocation, index, pool, worker

from .elsewhere import WITHOUT_OPTIONS, WITHOUT_SPECULATIVE_BLOCKS, WITHOUT_WINDOWS, without

_FLIGHT = ("max_in_flight",)
_DRAFTS = ("max_drafts",)

FAULTS = (
    PlantedFault(
        "windows-skipped-by-dispatched-tokens",
        "Blocks before a window are let go while a step that is not processed reads them.",
        "skipped blocks are freed by the dispatched count",
        Patch(
            "reference/manager.py",
            "request.num_computed_tokens - request.num_in_flight_tokens",
            "request.num_computed_tokens",
        ),
        (
            worker.IN_FLIGHT_IS_HELD,
            allocation.TABLES_APPEND_ONLY,
        ),
        WITHOUT_OPTIONS,
        "another may hold what is let go",
        mixes=("window", "full+window"),
        options=_FLIGHT,
    ),
    PlantedFault(
        "states-skipped-by-dispatched-tokens",
        "The state before last is let go while a step that is not processed starts from it.",
        "the state before last is freed by the dispatched count",
        Patch(
            "reference/manager.py",
            "request.num_computed_tokens - request.num_in_flight_tokens",
            "request.num_computed_tokens",
        ),
        (
            worker.IN_FLIGHT_IS_HELD,
            allocation.TABLES_APPEND_ONLY,
        ),
        WITHOUT_OPTIONS,
        "another may hold what is let go",
        mixes=("mamba", "full+mamba"),
        options=_FLIGHT,
    ),
    PlantedFault(
        "in-flight-tokens-let-go-twice",
        "Entries are let go by fewer tokens than are processed.",
        "blocks are held for steps that have run",
        Patch(
            "reference/manager.py",
            "request.num_computed_tokens - request.num_in_flight_tokens",
            "request.num_computed_tokens - 2 * request.num_in_flight_tokens",
        ),
        (
            allocation.SKIPPED_ARE_FREED,
            allocation.HOLDS_NO_MORE,
        ),
        WITHOUT_OPTIONS,
        "the next step shows what it does not read",
        mixes=("window", "mamba"),
        options=_FLIGHT,
    ),
    PlantedFault(
        "popped-blocks-freed-while-in-flight",
        "A pop frees what steps that are not processed still use.",
        "a deferred free and an immediate one release the same blocks",
        Patch(
            "reference/manager.py",
            "        rows = self._pop(request, withdraw)\n",
            "        rows = self._pop(request, withdraw)\n"
            "        for row in rows:\n"
            "            self.block_pool.free_blocks(BlockList(self.block_pool, row))\n",
        ),
        (
            pool.COUNT_IS_HOLDERS,
            pool.FREED_ONCE_PER_HOLDER,
        ),
        without("pop"),
        "a second holder of a block loses it",
        also=(worker.IN_FLIGHT_IS_HELD,),
        options=_FLIGHT,
    ),
    PlantedFault(
        "drafts-become-keys",
        "Blocks that draft tokens fill become keys.",
        "a rejected guess is hit by the next request",
        Patch("spec/rules/caching.py", "final = min(end, num_tokens)", "final = end"),
        (
            allocation.FULL_BLOCKS_BECOME_KEYS,
            allocation.NONE_CHANGES_NOTHING,
            index.PARTIAL_ENTRY,
        ),
        WITHOUT_WINDOWS,
        "no hash may be there for a guess",
        mixes=("full", "window"),
        options=_DRAFTS,
    ),
    PlantedFault(
        "last-known-token-kept-from-keys",
        "The last token that is known counts as a draft.",
        "a full block is named one step late",
        Patch("spec/rules/caching.py", "final = min(end, num_tokens)", "final = min(end, num_tokens - 1)"),
        (allocation.FULL_BLOCKS_BECOME_KEYS,),
        "every prompt may end with a block",
        mixes=("full", "window"),
        options=_DRAFTS,
    ),
    PlantedFault(
        "last-draft-without-a-place",
        "A row of states that are not aligned has one speculative block too few, and nobody can look into the "
        "pool.",
        "the state after the last draft is written past the row, or over what somebody else has",
        Patch(
            "spec/rules/rows.py",
            "end + num_speculative * block_size",
            "end + max(0, num_speculative - 1) * block_size",
        ),
        (worker.STATES_OF_DRAFTS,),
        WITHOUT_SPECULATIVE_BLOCKS,
        mixes=("mamba-none", "mamba-all", "full+mamba-all"),
        options=_DRAFTS,
        tells_state=False,
    ),
    PlantedFault(
        "state-moved-with-the-speculative-blocks",
        "The running state's block moves with the speculative ones.",
        "the state that the next step starts from is taken for a draft's",
        Patch("spec/rules/rows.py", "min(row_length, running))", "min(row_length, running + 1))"),
        (
            allocation.COVERS_THE_TOKENS,
            allocation.PREDICTION_IS_EXACT,
            worker.WRITES_ALONE,
        ),
        WITHOUT_SPECULATIVE_BLOCKS,
        mixes=("mamba", "full+mamba"),
        options=_DRAFTS,
    ),
)
