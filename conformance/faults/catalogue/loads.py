"""What others have computed and a connector loads."""

from pagedkv.conformance.faults.fault import PlantedFault
from pagedkv.conformance.faults.patching import Patch
from pagedkv.spec.clauses import allocation, copies, hit, pool, worker

from .elsewhere import WITHOUT_OPTIONS, without

_OPTIONS = ("has_connector",)
_WINDOWS = ("window", "full+window", "window+window")

FAULTS = (
    PlantedFault(
        "external-blocks-before-all-hits",
        "Groups take blocks for what is loaded before they have touched their hits.",
        "a load evicts the hit that it begins behind",
        Patch(
            "reference/allocation.py",
            "        for manager, row in asked:\n"
            "            manager.add_hit(call, row)\n"
            "        for manager in managers:\n"
            "            manager.add_external(call)\n",
            "        loaded = []\n"
            "        for manager, row in asked:\n"
            "            hit = manager.row_before(call, row)\n"
            "            manager.rows[call.request_id] = [*hit]\n"
            "            manager.add_external(call)\n"
            "            loaded.append(manager.rows[call.request_id][len(hit) :])\n"
            "        for (manager, row), blocks in zip(asked, loaded, strict=True):\n"
            "            manager.add_hit(call, row)\n"
            "            manager.rows[call.request_id] += blocks\n",
        ),
        (allocation.HITS_BEFORE_NEW, worker.WRITES_ALONE),
        WITHOUT_OPTIONS,
        "the evicted block may be one that the request goes on to write",
        mixes=("full", "full+window", "full+full+mamba"),
        options=_OPTIONS,
    ),
    PlantedFault(
        "external-blocks-not-counted",
        "The blocks for what is loaded are not counted as taken.",
        "a load is admitted that does not fit",
        Patch("reference/single_type.py", "taken = external + self.growth(", "taken = self.growth("),
        (pool.NEVER_MORE_THAN_FREE,),
        WITHOUT_OPTIONS,
        options=_OPTIONS,
    ),
    PlantedFault(
        "external-blocks-counted-twice",
        "The blocks for what is loaded are counted as a part of the row's growth, too.",
        "a load is refused that fits",
        Patch(
            "reference/single_type.py",
            "self.growth(len(row) + external, call).taken",
            "self.growth(len(row), call).taken",
        ),
        (allocation.PREDICTION_IS_EXACT,),
        WITHOUT_OPTIONS,
        options=_OPTIONS,
    ),
    PlantedFault(
        "unread-part-loaded",
        "What is loaded gets blocks before the window, too.",
        "a load needs the whole prefix of a window",
        Patch(
            "reference/single_type.py",
            "return [0] * skipped + ids_of(hit_blocks[skipped:])",
            "return [0] * min(skipped, len(hit_blocks)) + ids_of(hit_blocks[skipped:])",
        ),
        (
            allocation.PREDICTION_IS_EXACT,
            allocation.HOLDS_NO_MORE,
            allocation.COVERS_THE_TOKENS,
        ),
        WITHOUT_OPTIONS,
        "what is held too much shows once the step computes something",
        mixes=_WINDOWS,
        options=_OPTIONS,
    ),
    PlantedFault(
        "unread-hit-held",
        "The blocks of a hit are held that what is loaded makes unread.",
        "a hit is touched before it is known what will be read of it",
        Patch(
            "reference/single_type.py",
            "return [0] * skipped + ids_of(hit_blocks[skipped:])",
            "return ids_of(hit_blocks) + [0] * (skipped - len(hit_blocks))",
        ),
        (
            allocation.HOLDS_NO_MORE,
            allocation.PREDICTION_IS_EXACT,
            pool.FREED_TAILS_FIRST,
            pool.TAKEN_FROM_THE_FRONT,
        ),
        WITHOUT_OPTIONS,
        "behind an asynchronous load nothing is computed, and it shows in the free queue first",
        mixes=_WINDOWS,
        options=_OPTIONS,
    ),
    PlantedFault(
        "load-of-all-but-the-last-token-refused",
        "What others have computed may not reach up to the last token but one.",
        "a prompt that is all there is computed again",
        Patch(
            "reference/guards.py",
            "num_external == 0 or call.start < request.num_tokens",
            "num_external == 0 or call.start + 1 < request.num_tokens",
        ),
        (allocation.LOAD_LEAVES_A_TOKEN,),
        WITHOUT_OPTIONS,
        options=_OPTIONS,
    ),
    PlantedFault(
        "load-without-the-lagging-state-refused",
        "A load is refused where the hit lacks a state that it brings.",
        "what a connector could complete is refused",
        Patch(
            "reference/guards.py",
            'len(row) <= width if manager.reads == "state" else len(row) == width',
            "len(row) == width",
        ),
        (allocation.FITS_THE_HIT,),
        WITHOUT_OPTIONS,
        mixes=("full+mamba",),
        options=_OPTIONS,
    ),
    PlantedFault(
        "load-alone-refused",
        "A call that computes nothing itself is refused, also while a load is under way.",
        "an asynchronous load can not be waited for",
        Patch("reference/guards.py", "num_new + num_external > 0 and", "num_new > 0 and"),
        (allocation.ASKS_FOR_SOMETHING,),
        WITHOUT_OPTIONS,
        options=_OPTIONS,
    ),
    PlantedFault(
        "load-under-way-published",
        "Blocks become keys while what fills them is still loaded.",
        "a request reads what was never loaded",
        Patch(
            "reference/manager.py",
            "publishes = self.enable_caching and not delay_cache_blocks",
            "publishes = self.enable_caching",
        ),
        (
            allocation.FULL_BLOCKS_BECOME_KEYS,
            allocation.PARTIAL_PROMPT_END,
        ),
        WITHOUT_OPTIONS,
        "a prompt's end may be all that is named",
        options=_OPTIONS,
    ),
    PlantedFault(
        "loaded-in-the-step-unpublished",
        "A call with a load in it makes no keys.",
        "what was loaded is loaded again",
        Patch(
            "reference/manager.py",
            "        if publishes:\n            self._publish",
            "        if publishes and call.start == call.local:\n            self._publish",
        ),
        (allocation.FULL_BLOCKS_BECOME_KEYS,),
        WITHOUT_OPTIONS,
        options=_OPTIONS,
    ),
    PlantedFault(
        "held-blocks-keep-their-keys",
        "Only keys of blocks that nobody holds are evicted, and nobody can look into the pool.",
        "a request that shares what a failed load has left reads it once more when it comes back",
        Patch(
            "reference/pool.py",
            "        for block_id in ids:\n            self._drop_keys(block_id)\n",
            "        for block_id in ids:\n            if block_id in self.queue:\n                "
            "self._drop_keys(block_id)\n",
        ),
        (worker.READS_ITS_PREFIX,),
        WITHOUT_OPTIONS,
        mixes=("full", "full+window", "full+mamba"),
        options=_OPTIONS,
        tells_state=False,
    ),
    PlantedFault(
        "counter-starts-behind-the-load",
        "What is loaded counts as named.",
        "loaded blocks never become keys",
        Patch(
            "reference/single_type.py",
            "self.num_cached_block[call.request_id] = call.hit // self.block_size",
            "self.num_cached_block[call.request_id] = call.start // self.block_size",
        ),
        (allocation.FULL_BLOCKS_BECOME_KEYS,),
        WITHOUT_OPTIONS,
        options=_OPTIONS,
    ),
    PlantedFault(
        "loads-do-not-arm-the-guard",
        "Blocks that a step loads do not count as being filled.",
        "a state is read that the same step loads",
        Patch(
            "reference/single_type.py",
            "return row[call.local // self.block_size : blocks_for(call.end",
            "return row[call.start // self.block_size : blocks_for(call.end",
        ),
        (
            copies.SAME_PASS_WAITS,
            worker.WRITES_ALONE,
        ),
        WITHOUT_OPTIONS,
        "two requests may hold the state that is loaded",
        mixes=("mamba", "full+mamba"),
        options=_OPTIONS,
    ),
    PlantedFault(
        "lookup-for-whom-must-not-read",
        "A request that must not read the cache is answered with a hit.",
        "a prompt whose log probabilities are wanted is not computed",
        Patch(
            "reference/views.py",
            "        if not self.enable_caching or request.skip_reading_prefix_cache:\n"
            "            return self.create",
            "        if not self.enable_caching:\n            return self.create",
        ),
        (hit.OFF,),
        without("skipped lookup"),
    ),
)
