"""What the torch manager makes of loads, lookahead, reserves, zero lists, intervals and prompts sent again."""

from pagedkv.conformance.faults.fault import PlantedFault
from pagedkv.conformance.faults.patching import Patch
from pagedkv.spec.clauses import allocation, pool, worker

from .elsewhere import without_option

_WINDOWS = ("window", "full+window", "full+window+window")
_WITH_STATES = ("full+mamba",)

_LOADS = without_option("has_connector")
_LOOKAHEAD = without_option("num_lookahead_tokens")
_WATERMARK = without_option("watermark_percent")
_WHOLE = without_option("full_sequence_must_fit")
_ZEROING = without_option("needs_zeroing")
_INTERVAL = without_option("retention_interval")
_RESENDS = without_option("resend_boundaries")

FAULTS = (
    PlantedFault(
        "torch-loads-into-hits",
        "Blocks are taken before those of the hit are held.",
        "an allocation evicts what its own request has found",
        Patch(
            "impl/allocation.py",
            "            pool.hold(share.kept)\n"
            "            manager.start(row, share.kept, asked.hit)\n"
            "    # All that is loaded comes before all that is new.\n"
            "    parts = [share.loaded for share in shares] + [n for s in shares for n in (s.private, s.taken)]\n"
            "    blocks = pool.take(sum(parts)).split(parts)\n",
            "            manager.start(row, share.kept, asked.hit)\n"
            "    parts = [share.loaded for share in shares] + [n for s in shares for n in (s.private, s.taken)]\n"
            "    blocks = pool.take(sum(parts)).split(parts)\n"
            "    for share in shares:\n"
            "        pool.hold(share.kept)\n",
        ),
        (worker.WRITES_ALONE, allocation.HITS_BEFORE_NEW, pool.QUEUED_WHEN_UNHELD),
        "every run takes blocks beside hits",
        "the block is taken and hit at once, which shows in what is read",
    ),
    PlantedFault(
        "torch-loads-not-predicted",
        "Blocks for what others have computed are not counted when it is asked what fits.",
        "the prediction lacks a term",
        Patch("impl/allocation.py", "sum(share.loaded + share.taken for", "sum(share.taken for"),
        (pool.NEVER_MORE_THAN_FREE, allocation.PREDICTION_IS_EXACT),
        _LOADS,
        "more may be taken than there are, which is an error",
        mixes=("full",),
        options=("has_connector",),
    ),
    PlantedFault(
        "torch-hit-before-a-load-held",
        "A row takes all blocks of a hit, though no step after the load reads them.",
        "blocks stay held that nobody reads",
        Patch(
            "impl/allocation.py",
            "kept = torch.cat([hit.new_zeros(skipped), hit[skipped:]])",
            "kept = torch.cat([hit, hit.new_zeros(max(0, skipped - len(hit)))])",
        ),
        (worker.KEYS_TELL_THE_TRUTH, allocation.HOLDS_NO_MORE),
        _LOADS,
        "a state that is held may be named for a prefix that it is not the state of",
        mixes=("full+mamba", "full+window"),
        options=("has_connector",),
    ),
    PlantedFault(
        "torch-states-look-ahead",
        "States get places as far as draft models look.",
        "one rule for the growth of all kinds",
        Patch(
            "impl/kinds.py",
            "running = (ends - 1) // self.block_size",
            "running = (slots - 1) // self.block_size",
        ),
        (allocation.COVERS_THE_TOKENS,),
        _LOOKAHEAD,
        mixes=_WITH_STATES,
        options=("num_lookahead_tokens",),
    ),
    PlantedFault(
        "torch-looks-past-the-model",
        "Draft models get places past the length of the model.",
        "a bound is applied to tokens and not to places",
        Patch(
            "impl/manager.py",
            "slots=min(end + num_lookahead_tokens, self.max_model_len)",
            "slots=end + num_lookahead_tokens",
        ),
        (allocation.HOLDS_NO_MORE,),
        _LOOKAHEAD,
        mixes=("full",),
        options=("num_lookahead_tokens",),
    ),
    PlantedFault(
        "torch-watermark-for-all",
        "The watermark stays free of running requests, too.",
        "a limit of admission starves those that run",
        Patch(
            "impl/manager.py",
            "is_admitted = request.status in (RequestStatus.PREEMPTED, RequestStatus.WAITING)",
            "is_admitted = bool(request.status)",
        ),
        (allocation.PREDICTION_IS_EXACT, allocation.WATERMARK),
        _WATERMARK,
        "the watermark is part of the prediction",
        options=("watermark_percent",),
    ),
    PlantedFault(
        "torch-watermark-of-an-idle-pass",
        "The watermark stays free though nothing is scheduled.",
        "a request that fits is never admitted",
        Patch("impl/manager.py", "self._watermark(request) * has_scheduled_reqs", "self._watermark(request)"),
        (allocation.PREDICTION_IS_EXACT, allocation.WATERMARK),
        _WATERMARK,
        "the watermark is part of the prediction",
        options=("watermark_percent",),
    ),
    PlantedFault(
        "torch-reserve-forgotten",
        "What is reserved for others is taken.",
        "an argument that nobody reads",
        Patch("impl/manager.py", "spare=reserved_blocks + self", "spare=0 * reserved_blocks + self"),
        (allocation.PREDICTION_IS_EXACT,),
        "every run may reserve blocks",
    ),
    PlantedFault(
        "torch-whole-sequence-not-asked",
        "A chunk that fits is enough, though the whole sequence must.",
        "requests are admitted that preempt each other for ever",
        Patch("impl/allocation.py", "    if asked.whole:\n", "    if asked.whole < 0:\n"),
        (allocation.WHOLE_SEQUENCE_FITS,),
        _WHOLE,
        mixes=("full",),
        options=("full_sequence_must_fit",),
    ),
    PlantedFault(
        "torch-boundary-tail-one-block-short",
        "At a boundary the first block that a hit reads is not kept.",
        "the tail of a window is one block short",
        Patch(
            "impl/facts.py",
            "ends[:, None] > cls.first_read(hits, reach)",
            "ends[:, None] > size + cls.first_read(hits, reach)",
        ),
        (allocation.FULL_BLOCKS_BECOME_KEYS,),
        _INTERVAL,
        mixes=("full+window", "window+mamba"),
        options=("retention_interval",),
    ),
    PlantedFault(
        "torch-interval-ignored",
        "Windows keep what all hits read, whatever the interval.",
        "an option that one kind does not know",
        Patch("impl/kinds.py", "return alignment if retention is None else retention", "return alignment"),
        (allocation.FULL_BLOCKS_BECOME_KEYS,),
        _INTERVAL,
        mixes=_WINDOWS,
        options=("retention_interval",),
    ),
    PlantedFault(
        "torch-junction-not-kept",
        "With an interval the junction of shared prefixes is not kept.",
        "a prefix that many share is computed again and again",
        Patch(
            "impl/single_type.py",
            "torch.stack([last, calls.junctions, *resent], 1)",
            "torch.stack([last, *resent], 1)",
        ),
        (allocation.FULL_BLOCKS_BECOME_KEYS,),
        _INTERVAL,
        mixes=_WITH_STATES,
        options=("retention_interval",),
    ),
    PlantedFault(
        "torch-one-boundary-per-holding",
        "Of the boundaries of a prompt only the first becomes a key.",
        "a mark for one thing is used for two",
        Patch("impl/kinds.py", "(named < boundaries) & (lengths", "(named == 0) & (lengths"),
        (allocation.PARTIAL_PROMPT_END,),
        _RESENDS,
        mixes=("full+mamba", "full+full+mamba"),
        options=("resend_boundaries",),
    ),
    PlantedFault(
        "torch-list-not-drained",
        "Blocks stay listed for zeroing when the list has been taken.",
        "a block in use is zeroed a second time",
        Patch("impl/ledger.py", "        self.new.keep(~is_its)\n", ""),
        (allocation.LISTS_NEW_BLOCKS,),
        _ZEROING,
        options=("needs_zeroing",),
    ),
)
