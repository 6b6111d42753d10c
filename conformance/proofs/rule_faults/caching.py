"""Faults of what becomes a key."""

from functools import partial

from pagedkv.conformance.proofs.contracts import caching

from .fault import planted

_in_caching = partial(planted, "caching.py")

FAULTS = (
    _in_caching(
        "drafts-become-keys",
        "Tokens that may be rejected become keys.",
        "final = min(end, num_tokens)",
        "final = end",
        (caching.keys_end_with_the_last_unit_of_final_tokens,),
    ),
    _in_caching(
        "keys-unaligned",
        "Blocks become keys that no hit can end with.",
        "cacheable = floor_to(final, alignment)",
        "cacheable = final",
        (caching.keys_end_with_the_last_aligned_final_token,),
    ),
    _in_caching(
        "keys-by-blocks",
        "Lengths are rounded to blocks, not to the grain of hits.",
        "cacheable = floor_to(final, alignment)",
        "cacheable = floor_to(final, block_size)",
        (caching.keys_end_with_the_last_unit_of_final_tokens,),
    ),
    _in_caching(
        "eagle-keys-of-drafts",
        "The block that EAGLE adds may hold drafts.",
        "min(final, cacheable + block_size)",
        "cacheable + block_size",
        (caching.keys_of_eagle_by_units_go_to_the_end,),
    ),
    _in_caching(
        "eagle-keys-from-nothing",
        "EAGLE adds a block to nothing.",
        "if is_eagle and cacheable else",
        "if is_eagle else",
        (caching.keys_of_eagle_go_one_block_further,),
    ),
    _in_caching(
        "eagle-keys-as-others",
        "The block that EAGLE gives up becomes no key.",
        "min(final, cacheable + block_size)",
        "min(final, cacheable)",
        (caching.keys_of_eagle_go_one_block_further,),
    ),
    _in_caching(
        "drafts-stop-keys",
        "A step with drafts publishes nothing.",
        "final = min(end, num_tokens)",
        "final = end if end <= num_tokens else 0",
        (caching.keys_never_go_back,),
    ),
    _in_caching(
        "partial-entry-on-a-block",
        "A full block gets a partial entry.",
        "boundary if boundary % block_size else 0",
        "boundary",
        (
            caching.partial_entry_is_the_last_unit_inside_a_block,
            caching.partial_entry_needs_room_inside_a_block,
        ),
    ),
    _in_caching(
        "partial-entry-of-the-next-prompt",
        "The entry is what the same prompt could hit, not where it ends.",
        "floor_to(num_prompt_tokens, unit)",
        "floor_to(num_prompt_tokens - 1, unit)",
        (caching.partial_entry_is_the_last_unit_inside_a_block,),
    ),
)
