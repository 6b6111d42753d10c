"""Kinds of groups in the torch manager."""

from pagedkv.conformance.faults.fault import PlantedFault
from pagedkv.conformance.faults.patching import Patch
from pagedkv.spec.clauses import allocation, hit, pool, worker

from .elsewhere import WITHOUT_WINDOWS

_SEEN_BY_TAKING = "the same row can be judged by what was taken for it and by what it has"
_LOOKUP_FIRST = "a lookup or a call may come before the step that shows it"
_PLACES = (allocation.PREDICTION_IS_EXACT, allocation.COVERS_THE_TOKENS, allocation.HOLDS_NO_MORE)
_REFERENCE = ("reference", "full+reference", "reference+mamba")

FAULTS = (
    PlantedFault(
        "torch-latent-attention-asked-first",
        "Of several kinds of full attention the last is asked first.",
        "a new kind is put before those that were there",
        Patch(
            "impl/coordinator.py",
            "return [k for k in kinds if not k.reads_end]",
            "return [k for k in reversed(kinds) if not k.reads_end]",
        ),
        (hit.JUNCTION,),
        WITHOUT_WINDOWS,
        mixes=("full+latent",),
    ),
    PlantedFault(
        "torch-states-per-block-without-speculative",
        "A row with a state per block gets no places for drafts.",
        "speculative blocks are forgotten in one mode",
        Patch("impl/kinds.py", "slots + speculative * self.block_size", "slots"),
        _PLACES,
        WITHOUT_WINDOWS,
        _SEEN_BY_TAKING,
        mixes=("mamba-all", "full+mamba-all"),
    ),
    PlantedFault(
        "torch-running-state-without-speculative",
        "A running state that is kept alone has no places for drafts.",
        "speculative blocks are forgotten where nothing is cached",
        Patch("impl/kinds.py", "slots + speculative * self.block_size", "slots"),
        _PLACES,
        WITHOUT_WINDOWS,
        _SEEN_BY_TAKING,
        mixes=("mamba-none", "full+mamba-none"),
    ),
    PlantedFault(
        "torch-encoder-row-grows-with-the-request",
        "Cross attention gets places for the request's own tokens.",
        "cross attention is managed like self attention",
        Patch("impl/kinds.py", "return asked.encoder", "return asked.slots"),
        _PLACES,
        WITHOUT_WINDOWS,
        _SEEN_BY_TAKING,
        mixes=("cross", "full+cross"),
    ),
    PlantedFault(
        "torch-gap-one-token-too-long",
        "A reference window ends one token early.",
        "the step's own token is counted as one of the window",
        Patch("impl/kinds.py", ".rswa_window).clamp(min=0)", ".rswa_window + 1).clamp(min=0)"),
        (allocation.SKIPPED_ARE_FREED, allocation.COVERS_THE_TOKENS, allocation.TABLES_APPEND_ONLY),
        WITHOUT_WINDOWS,
        "what is let go too early may be missed in the same step",
        mixes=("reference", "full+reference"),
    ),
    PlantedFault(
        "torch-keys-behind-the-gap",
        "What a reference window computes behind its gap becomes a key.",
        "the next turn of a chat finds the last answer as it was computed with less in sight",
        Patch(
            "impl/naming.py",
            "if coordinator.shared_ahead is not None:",
            "if coordinator.shared_ahead == 0:",
        ),
        (allocation.KEYS_BEFORE_THE_GAP, worker.KEYS_TELL_THE_TRUTH),
        WITHOUT_WINDOWS,
        "what a step with a gap computes is looked at before the next call",
        mixes=_REFERENCE,
    ),
    PlantedFault(
        "torch-hits-behind-the-gap",
        "A request that comes back hits beyond its window what a longer prompt has left.",
        "a preempted request goes on from KV that it would not have computed itself",
        Patch("impl/views.py", "longest if ahead is None else min(", "longest if True else min("),
        (allocation.KEYS_BEFORE_THE_GAP, hit.LONGEST, hit.EAGLE_DROPS_ONE, hit.JUNCTION),
        WITHOUT_WINDOWS,
        "a draft model may give up all of what is too much, or another kind not have it",
        mixes=("reference+mamba",),
        options=("max_drafts",),
    ),
    PlantedFault(
        "torch-hits-behind-the-gap-unseen",
        "A request that comes back hits beyond its window, and nobody can look into the pool.",
        "what a request says depends on whether it was preempted",
        Patch("impl/views.py", "longest if ahead is None else min(", "longest if True else min("),
        (worker.READS_ITS_PREFIX,),
        WITHOUT_WINDOWS,
        mixes=("reference+mamba",),
        options=("max_drafts",),
        tells_state=False,
    ),
    PlantedFault(
        "torch-widest-gap-decides",
        "Of several reference windows the longest says what becomes a key.",
        "a limit is taken from the wrong one of several groups",
        Patch("impl/coordinator.py", "1 + min(windows)", "1 + max(windows)"),
        (allocation.KEYS_BEFORE_THE_GAP, worker.KEYS_TELL_THE_TRUTH),
        WITHOUT_WINDOWS,
        "what a step with a gap computes is looked at before the next call",
        mixes=("reference+reference",),
    ),
    PlantedFault(
        "torch-sinks-not-taken",
        "A group with sinks takes no blocks for them.",
        "sinks are overwritten by the first request",
        Patch("impl/kinds.py", "take_sinks(kv_cache_spec.sink_len // self.block_size)", "take_sinks(0)"),
        (pool.SINKS_STAY,),
        WITHOUT_WINDOWS,
        mixes=("sink", "full+sink"),
    ),
    PlantedFault(
        "torch-reset-refused-for-sinks",
        "Sinks count as blocks in use, so that the cache is never reset.",
        "whatever is out of the queue is taken for a request's",
        Patch("impl/pool.py", "self.queue.free + self.num_sinks <", "self.queue.free <"),
        (pool.RESET_WHEN_IDLE,),
        WITHOUT_WINDOWS,
        mixes=("sink", "full+sink"),
    ),
    PlantedFault(
        "torch-prefill-ranks-not-counted",
        "Only the ranks of decode count for what a block covers.",
        "one of two kinds of context parallelism is forgotten",
        Patch(
            "impl/single_type.py",
            "kv_cache_spec.tokens_per_block(dcp_world_size * pcp_world_size)",
            "kv_cache_spec.tokens_per_block(dcp_world_size)",
        ),
        (
            allocation.PREDICTION_IS_EXACT,
            allocation.HOLDS_NO_MORE,
            hit.BLOCKS_COVER_IT,
            allocation.FULL_BLOCKS_BECOME_KEYS,
            hit.LONGEST,
        ),
        WITHOUT_WINDOWS,
        _LOOKUP_FIRST,
        mixes=("latent",),
    ),
    PlantedFault(
        "torch-hits-inside-spread-blocks",
        "Hits end inside blocks of which each rank has its part.",
        "a check for context parallelism is lost",
        Patch("impl/coordinator.py", "can_all = num_ranks == 1 and all(", "can_all = all("),
        (
            hit.ALIGNED,
            hit.LONGEST,
            hit.EAGLE_DROPS_ONE,
            hit.JUNCTION,
            allocation.PARTIAL_PROMPT_END,
            allocation.FULL_BLOCKS_BECOME_KEYS,
        ),
        WITHOUT_WINDOWS,
        _LOOKUP_FIRST,
        mixes=("latent+mamba", "latent+mamba+mamba"),
    ),
)
