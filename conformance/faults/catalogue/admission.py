"""How much of the pool an admission may claim, and places for tokens to come."""

from pagedkv.conformance.faults.fault import PlantedFault
from pagedkv.conformance.faults.patching import Patch
from pagedkv.spec.clauses import allocation, pool

from .elsewhere import WITHOUT_OPTIONS

_WATERMARK = ("watermark_percent",)
_WHOLE = ("full_sequence_must_fit",)
_CAPPED = ("full_sequence_must_fit", "max_in_flight_tokens")
_AHEAD = ("num_lookahead_tokens",)
_WINDOWS = ("window", "full+window", "window+window")
_CHUNKS = ("chunk", "full+chunk")
_NO_RESERVE = "every admission may find blocks reserved"

FAULTS = (
    PlantedFault(
        "reserve-forgotten",
        "Blocks that are reserved are given away.",
        "what a running request was promised is gone",
        Patch("reference/manager.py", "spare = reserved_blocks + (", "spare = ("),
        (allocation.PREDICTION_IS_EXACT,),
        _NO_RESERVE,
    ),
    PlantedFault(
        "reserve-for-the-watermark",
        "Of reserve and watermark only the larger stays free.",
        "a margin is spent twice",
        Patch(
            "reference/manager.py",
            "spare = reserved_blocks + (self.watermark_blocks if is_admitted and has_scheduled_reqs else 0)",
            "spare = max(reserved_blocks, self.watermark_blocks if is_admitted and has_scheduled_reqs else 0)",
        ),
        (allocation.PREDICTION_IS_EXACT,),
        WITHOUT_OPTIONS,
        options=_WATERMARK,
    ),
    PlantedFault(
        "watermark-forgotten",
        "Requests are admitted up to the last block.",
        "running requests are preempted for those just admitted",
        Patch("reference/manager.py", "is_admitted and has_scheduled_reqs else", "False else"),
        (allocation.WATERMARK,),
        WITHOUT_OPTIONS,
        also=(allocation.PREDICTION_IS_EXACT,),
        options=_WATERMARK,
    ),
    PlantedFault(
        "watermark-for-running-requests",
        "A running request has to leave the watermark free, too.",
        "a request waits for blocks that are kept for it",
        Patch(
            "reference/manager.py", "if is_admitted and has_scheduled_reqs else", "if has_scheduled_reqs else"
        ),
        (allocation.PREDICTION_IS_EXACT,),
        WITHOUT_OPTIONS,
        options=_WATERMARK,
    ),
    PlantedFault(
        "watermark-rounded-up",
        "The watermark's share is rounded up.",
        "a small pool never gives its last block",
        Patch(
            "spec/rules/admission.py",
            "int(Fraction(watermark) * num_blocks)",
            "int(-(-Fraction(watermark) * num_blocks // 1))",
        ),
        (allocation.PREDICTION_IS_EXACT,),
        WITHOUT_OPTIONS,
        options=_WATERMARK,
    ),
    PlantedFault(
        "watermark-of-what-is-free",
        "The watermark is a share of the free blocks, not of all.",
        "the margin goes when it is needed",
        Patch(
            "reference/manager.py",
            "(self.watermark_blocks if",
            "(self.watermark_blocks * self.block_pool.get_num_free_blocks() // self.block_pool.num_gpu_blocks if",
        ),
        (allocation.WATERMARK,),
        WITHOUT_OPTIONS,
        options=_WATERMARK,
    ),
    PlantedFault(
        "watermark-when-nothing-is-scheduled",
        "The watermark stays free although nobody else is scheduled.",
        "a request that needs the whole pool waits for ever",
        Patch("reference/manager.py", "is_admitted and has_scheduled_reqs", "is_admitted"),
        (allocation.PREDICTION_IS_EXACT,),
        WITHOUT_OPTIONS,
        options=_WATERMARK,
    ),
    PlantedFault(
        "full-sequence-asks-for-the-chunk",
        "Where the full sequence must fit, only the chunk is asked for.",
        "a prompt is admitted that can never be finished",
        Patch(
            "reference/manager.py",
            "whole = max(call.end, min(request.num_tokens, self.max_model_len)) if",
            "whole = call.end if",
        ),
        (allocation.WHOLE_SEQUENCE_FITS,),
        WITHOUT_OPTIONS,
        options=_WHOLE,
    ),
    PlantedFault(
        "full-sequence-without-spare",
        "The full sequence may take what is reserved.",
        "a prompt is admitted that can only be finished from the reserve",
        Patch(
            "reference/allocation.py",
            "is_capped=True) for manager, row in asked) > free:",
            "is_capped=True) for manager, row in asked) > free + spare:",
        ),
        (allocation.WHOLE_SEQUENCE_FITS,),
        WITHOUT_OPTIONS,
        options=("full_sequence_must_fit", "watermark_percent"),
    ),
    PlantedFault(
        "full-sequence-looks-ahead",
        "The full sequence counts the places that draft models need.",
        "a request that fits is never admitted",
        Patch(
            "reference/manager.py",
            "min(request.num_tokens, self.max_model_len)",
            "min(request.num_tokens + num_lookahead_tokens, self.max_model_len)",
        ),
        (allocation.PREDICTION_IS_EXACT,),
        WITHOUT_OPTIONS,
        options=("full_sequence_must_fit", "num_lookahead_tokens"),
    ),
    PlantedFault(
        "cap-without-what-is-in-flight",
        "A window is taken to hold its own length at most.",
        "blocks of steps that are not processed are forgotten",
        Patch(
            "spec/rules/admission.py",
            "blocks_for(min(reach - 1 + max_in_flight_tokens, max_model_len), block_size) + 1",
            "blocks_for(min(reach - 1, max_model_len), block_size) + 1",
        ),
        (allocation.WHOLE_SEQUENCE_FITS,),
        WITHOUT_OPTIONS,
        mixes=_WINDOWS,
        options=_CAPPED,
    ),
    PlantedFault(
        "cap-of-chunks-without-what-is-in-flight",
        "A chunk is taken to hold its own length at most.",
        "blocks of steps that are not processed are forgotten",
        Patch(
            "spec/rules/admission.py",
            "blocks_for(min(reach + max_in_flight_tokens, max_model_len), block_size)",
            "blocks_for(min(reach, max_model_len), block_size)",
        ),
        (allocation.WHOLE_SEQUENCE_FITS,),
        WITHOUT_OPTIONS,
        mixes=_CHUNKS,
        options=_CAPPED,
    ),
    PlantedFault(
        "cap-without-the-block-it-begins-in",
        "A window is taken to begin with a block.",
        "a window that lies across one block more than its length",
        Patch("spec/rules/admission.py", "block_size) + 1\n", "block_size)\n"),
        (allocation.WHOLE_SEQUENCE_FITS,),
        WITHOUT_OPTIONS,
        mixes=_WINDOWS,
        options=_CAPPED,
    ),
    PlantedFault(
        "cap-for-full-attention",
        "Full attention is taken to hold what is in flight at most.",
        "a prompt is admitted that can never be finished",
        Patch(
            "spec/rules/admission.py",
            "    return None\n\n\ndef",
            "    return blocks_for(max_in_flight_tokens, block_size)\n\n\ndef",
        ),
        (allocation.WHOLE_SEQUENCE_FITS,),
        WITHOUT_OPTIONS,
        mixes=("full", "full+window"),
        options=_CAPPED,
    ),
    PlantedFault(
        "cap-forgotten",
        "A window is taken to hold all its tokens at a time.",
        "a long prompt is never admitted although it fits",
        Patch("reference/single_type.py", "if is_capped and self.admission_cap is not None:", "if False:"),
        (allocation.PREDICTION_IS_EXACT,),
        WITHOUT_OPTIONS,
        mixes=_WINDOWS,
        options=_CAPPED,
    ),
    PlantedFault(
        "lookahead-forgotten",
        "A call gets no places for the tokens that a draft model looks ahead to.",
        "a draft model writes past the table",
        Patch(
            "reference/manager.py",
            "slots=min(start + num_new_tokens + num_lookahead_tokens, self.max_model_len)",
            "slots=min(start + num_new_tokens, self.max_model_len)",
        ),
        (allocation.COVERS_THE_TOKENS,),
        WITHOUT_OPTIONS,
        options=_AHEAD,
    ),
    PlantedFault(
        "lookahead-for-states",
        "States are placed where the lookahead ends.",
        "the running state stands at another block's place",
        Patch(
            "reference/kinds.py",
            "return mamba_growth(row_length, call.end,",
            "return mamba_growth(row_length, call.slots,",
        ),
        (
            allocation.COVERS_THE_TOKENS,
            allocation.HOLDS_NO_MORE,
        ),
        WITHOUT_OPTIONS,
        "where no entry is left out, only too many are taken",
        options=_AHEAD,
    ),
    PlantedFault(
        "lookahead-past-the-model-length",
        "A call gets places behind the longest that a request can become.",
        "the last step of a long request takes a block that nobody can use",
        Patch(
            "reference/manager.py",
            "slots=min(start + num_new_tokens + num_lookahead_tokens, self.max_model_len)",
            "slots=start + num_new_tokens + num_lookahead_tokens",
        ),
        (allocation.HOLDS_NO_MORE,),
        WITHOUT_OPTIONS,
        options=_AHEAD,
    ),
    PlantedFault(
        "lookahead-not-counted",
        "The places for the lookahead are not counted as taken.",
        "a draft model's block is not counted",
        Patch(
            "reference/allocation.py",
            "manager.blocks_to_take(call, row) for manager, row in asked) > free",
            "manager.blocks_to_take(call._replace(slots=call.end), row) for manager, row in asked) > free",
        ),
        (pool.NEVER_MORE_THAN_FREE,),
        WITHOUT_OPTIONS,
        options=_AHEAD,
    ),
)
