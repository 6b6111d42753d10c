"""Which keys a call makes."""

from pagedkv.conformance.faults.fault import PlantedFault
from pagedkv.conformance.faults.patching import Patch
from pagedkv.spec.clauses import allocation, index

from .elsewhere import ATTENTION_ALONE, COARSE, WITH_CACHING, WITHOUT_CACHING

FAULTS = (
    PlantedFault(
        "keys-made-without-caching",
        "Blocks become keys although caching is off.",
        "a switch that is asked in one place and not in another",
        Patch(
            "reference/manager.py",
            "publishes = self.enable_caching and not delay_cache_blocks",
            "publishes = not delay_cache_blocks",
        ),
        (allocation.FULL_BLOCKS_BECOME_KEYS,),
        WITH_CACHING,
    ),
    PlantedFault(
        "keys-past-the-alignment",
        "All full blocks become keys, also those that end where no hit can.",
        "the cache fills with keys that nobody can ask for",
        Patch("spec/rules/caching.py", "cacheable = floor_to(final, alignment)", "cacheable = final"),
        (allocation.FULL_BLOCKS_BECOME_KEYS,),
        ATTENTION_ALONE,
    ),
    PlantedFault(
        "counter-stays",
        "The count of blocks that are keys does not grow.",
        "blocks are named again and again",
        Patch("reference/single_type.py", "= max(num_cached, num_full)", "= num_cached"),
        (allocation.FULL_BLOCKS_BECOME_KEYS,),
        WITHOUT_CACHING,
    ),
    PlantedFault(
        "counter-starts-before-the-hit",
        "The blocks of a hit count as not yet named.",
        "blocks of others are named again",
        Patch(
            "reference/single_type.py",
            "self.num_cached_block[call.request_id] = call.hit // self.block_size",
            "self.num_cached_block[call.request_id] = 0",
        ),
        (index.PROMOTION, allocation.FULL_BLOCKS_BECOME_KEYS),
        WITHOUT_CACHING,
    ),
    PlantedFault(
        "boundary-before-the-last-token",
        "The boundary that becomes a partial entry is that of the prompt without its last token.",
        "the prompt's end is rounded in two ways",
        Patch(
            "reference/single_type.py",
            "lengths = {floor_to(num_prompt_tokens, self",
            "lengths = {floor_to(num_prompt_tokens - 1, self",
        ),
        (allocation.PARTIAL_PROMPT_END,),
        COARSE,
    ),
    PlantedFault(
        "state-named-when-passed",
        "A state becomes a partial entry in every call that has passed the boundary.",
        "a hit on a state whose chunk did not end on that boundary",
        Patch("reference/kinds.py", "return end == boundary", "return boundary <= length"),
        (index.MOVE_TAKES_ALL, index.PROMOTION),
        COARSE,
        "the block has lost that key to a private block, or has the key of its real state",
    ),
    PlantedFault(
        "partial-entry-made-again",
        "Attention names the prompt's end in every call, also after the key was evicted.",
        "an evicted key comes back",
        Patch(
            "reference/kinds.py",
            "self.named_partial.get(request_id, 0) < boundary <= length",
            "0 < boundary <= length",
        ),
        (allocation.PARTIAL_PROMPT_END,),
        COARSE,
        mixes=("full+full+mamba",),
    ),
    PlantedFault(
        "partial-entry-remembered-after-the-request",
        "That a request named its prompt's end is not forgotten when it is freed.",
        "a resumed request does not name its prompt's end again",
        Patch("reference/single_type.py", "        self.named_partial.pop(request_id, None)\n", ""),
        (allocation.PARTIAL_PROMPT_END,),
        COARSE,
    ),
)
