"""Which prefixes are kept although more could be hit, and that of a prompt sent again."""

from pagedkv.conformance.faults.fault import PlantedFault
from pagedkv.conformance.faults.patching import Patch
from pagedkv.spec.clauses import allocation

from .elsewhere import ATTENTION_ALONE, WITHOUT_OPTIONS, WITHOUT_WINDOWS

_INTERVAL = ("retention_interval",)
_RESENT = ("resend_boundaries",)
_SPARSE = ("window", "full+window", "window+window", "window+mamba")
_STATES = ("full+mamba", "full+full+mamba", "full+mamba+mamba")

FAULTS = (
    PlantedFault(
        "tail-of-a-boundary-one-block-short",
        "Of what a hit at a boundary reads the first block is not kept.",
        "a boundary is kept that cannot be hit",
        Patch(
            "spec/rules/caching.py",
            "any(end - read <= i < end for end in ends)",
            "any(end - read < i < end for end in ends)",
        ),
        (allocation.FULL_BLOCKS_BECOME_KEYS,),
        WITHOUT_OPTIONS,
        mixes=_SPARSE,
        options=_INTERVAL,
    ),
    PlantedFault(
        "boundary-not-rounded",
        "A boundary is kept where it lies, not where a hit before it can end.",
        "a block is kept that no hit reads",
        Patch(
            "spec/rules/caching.py",
            "[floor_to(boundary, alignment) for boundary in boundaries]",
            "list(boundaries)",
        ),
        (allocation.FULL_BLOCKS_BECOME_KEYS,),
        WITHOUT_OPTIONS,
        mixes=("full+window", "full+mamba", "window+mamba"),
        options=_INTERVAL,
    ),
    PlantedFault(
        "draft-block-not-kept-at-boundaries",
        "At a boundary the block that a draft model gives up is not kept.",
        "a boundary is kept that cannot be hit with a draft model",
        Patch(
            "spec/rules/caching.py",
            "ends = [length // block_size + spare for",
            "ends = [length // block_size for",
        ),
        (allocation.FULL_BLOCKS_BECOME_KEYS,),
        WITHOUT_OPTIONS,
        mixes=_SPARSE,
        options=_INTERVAL,
    ),
    PlantedFault(
        "draft-block-not-kept-at-intervals",
        "At the end of an interval the block that a draft model gives up is not kept.",
        "an interval's end is kept that cannot be hit with a draft model",
        Patch(
            "spec/rules/caching.py",
            "(i >= spare and (i - spare) % every >= every - read)",
            "(i % every >= every - read)",
        ),
        (allocation.FULL_BLOCKS_BECOME_KEYS,),
        WITHOUT_WINDOWS,
        mixes=_SPARSE,
        options=_INTERVAL,
    ),
    PlantedFault(
        "junction-not-kept",
        "With an interval the prefix that requests share is not kept.",
        "a shared prefix is computed for each request again",
        Patch(
            "reference/single_type.py",
            "return [request.num_prompt_tokens - 1, request.shared_prefix_boundary, *resent]",
            "return [request.num_prompt_tokens - 1, *resent]",
        ),
        (allocation.FULL_BLOCKS_BECOME_KEYS,),
        WITHOUT_OPTIONS,
        mixes=_STATES,
        options=_INTERVAL,
    ),
    PlantedFault(
        "last-prompt-token-not-left-out",
        "The boundary of a prompt is its whole length.",
        "a prompt sent again finds a state that is one block too long",
        Patch(
            "reference/single_type.py",
            "return [request.num_prompt_tokens - 1, request",
            "return [request.num_prompt_tokens, request",
        ),
        (allocation.FULL_BLOCKS_BECOME_KEYS,),
        WITHOUT_OPTIONS,
        mixes=("mamba", "window", "full+mamba", "full+window"),
        options=_INTERVAL,
    ),
    PlantedFault(
        "interval-one-hit-too-long",
        "An interval is longer by the distance of two hits.",
        "hits are kept at other places than they are expected at",
        Patch(
            "spec/rules/caching.py",
            "every = (alignment if retention is None else retention) // block_size\n    if",
            "every = (alignment if retention is None else retention + alignment) // block_size\n    if",
        ),
        (allocation.FULL_BLOCKS_BECOME_KEYS,),
        WITHOUT_OPTIONS,
        mixes=("mamba", "window", "full+mamba", "full+window"),
        options=_INTERVAL,
    ),
    PlantedFault(
        "interval-ignored",
        "Windows and states are kept as if there was no interval.",
        "the cache fills with keys that were to be left out",
        Patch(
            "reference/coordinator.py",
            "manager.retention_interval = retention_interval",
            "manager.retention_interval = None",
        ),
        (allocation.FULL_BLOCKS_BECOME_KEYS,),
        WITHOUT_OPTIONS,
        mixes=("mamba", "window", "full+mamba", "full+window"),
        options=_INTERVAL,
    ),
    PlantedFault(
        "states-thinned-without-an-interval",
        "States are kept where hits by the scheduler's block size end, and not at their own blocks.",
        "a state that could be hit beside a finer one is lost",
        Patch("spec/rules/caching.py", ' or (reads == "state" and retention is None)', ""),
        (allocation.FULL_BLOCKS_BECOME_KEYS,),
        ATTENTION_ALONE,
        mixes=("full+mamba",),
    ),
    PlantedFault(
        "interval-for-chunks",
        "An interval thins chunks, too.",
        "a chunk is taken for a window",
        Patch("spec/rules/caching.py", 'if reads in ("prefix", "chunk")', 'if reads == "prefix"'),
        (allocation.FULL_BLOCKS_BECOME_KEYS,),
        WITHOUT_OPTIONS,
        mixes=("chunk", "full+chunk"),
        options=_INTERVAL,
    ),
    PlantedFault(
        "resent-prompt-not-kept",
        "The longest prefix that the same prompt could hit is not named.",
        "a prompt sent again is computed from its last block on",
        Patch(
            "reference/single_type.py",
            "lengths.add(resend_length(num_prompt_tokens, self.alignment_tokens, self.resend_margin))",
            "pass",
        ),
        (allocation.RESEND_BOUNDARIES,),
        WITHOUT_OPTIONS,
        mixes=_STATES,
        options=_RESENT,
    ),
    PlantedFault(
        "resent-state-without-margin",
        "The state for a prompt sent again lies where no draft model's group can follow.",
        "a state is kept behind what attention can answer",
        Patch("reference/coordinator.py", '0 if manager.reads == "prefix" else self.resend_margin', "0"),
        (
            allocation.RESEND_BOUNDARIES,
            allocation.PARTIAL_PROMPT_END,
        ),
        WITHOUT_OPTIONS,
        "the state that is named instead may come first",
        mixes=_STATES,
        options=_RESENT,
    ),
    PlantedFault(
        "attention-gives-up-what-is-resent",
        "Attention names the prefix for a prompt sent again less what a draft model gives up.",
        "a draft model's margin is taken off twice",
        Patch(
            "reference/coordinator.py",
            '0 if manager.reads == "prefix" else self.resend_margin',
            "self.resend_margin",
        ),
        (
            allocation.RESEND_BOUNDARIES,
            allocation.PARTIAL_PROMPT_END,
        ),
        WITHOUT_OPTIONS,
        "the block that is named instead comes first",
        mixes=_STATES,
        options=_RESENT,
    ),
    PlantedFault(
        "resent-prompt-hits-its-last-token",
        "The prefix for a prompt sent again may be the whole prompt.",
        "what is kept for the next request is one unit too long",
        Patch(
            "spec/rules/caching.py",
            "max(0, num_prompt_tokens - 1 - margin)",
            "max(0, num_prompt_tokens - margin)",
        ),
        (allocation.RESEND_BOUNDARIES,),
        WITHOUT_OPTIONS,
        mixes=_STATES,
        options=_RESENT,
    ),
    PlantedFault(
        "resent-prompt-thinned",
        "With an interval the blocks that a prompt sent again reads are not kept.",
        "an interval takes what was to be kept",
        Patch("reference/single_type.py", "[request.num_prompt_tokens - 1 - self.resend_margin]", "[]"),
        (allocation.FULL_BLOCKS_BECOME_KEYS,),
        WITHOUT_OPTIONS,
        mixes=("full+mamba", "full+full+mamba", "full+mamba+mamba", "window+mamba"),
        options=("resend_boundaries", "retention_interval"),
    ),
)
