"""Faults of what becomes a key."""

from functools import partial

from pagedkv.conformance.proofs.contracts import caching

from .fault import planted

_in_caching = partial(planted, "caching.py")

_ALL = 'if reads in ("prefix", "chunk") or (reads == "state" and retention is None):'
_EVERY = "    every = (alignment if retention is None else retention) // block_size\n"

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
    _in_caching(
        "windows-keep-everything",
        "Windows keep blocks that no hit can read.",
        _ALL,
        "if reads:",
        (caching.windows_keep_no_more, caching.windows_with_hits_at_every_block_keep_all_that_they_reach),
    ),
    _in_caching(
        "others-keep-as-windows",
        "States and chunks lack keys as if they were windows.",
        _ALL,
        'if reads == "prefix":',
        (caching.others_keep_everything,),
    ),
    _in_caching(
        "eagle-block-not-counted",
        "The block that EAGLE gives up counts as none of those that are read.",
        "blocks_for(reach - 1, block_size) + spare",
        "blocks_for(reach - 1, block_size)",
        (
            caching.windows_keep_what_any_hit_uses,
            caching.windows_keep_no_more,
            caching.windows_with_hits_at_every_block_keep_all_that_they_reach,
        ),
    ),
    _in_caching(
        "kept-window-too-long",
        "The window is counted without the next token.",
        "blocks_for(reach - 1, block_size)",
        "blocks_for(reach, block_size)",
        (caching.windows_keep_no_more, caching.windows_of_short_blocks_keep_no_more),
    ),
    _in_caching(
        "kept-window-rounded-down",
        "A block of which a window reads only a part is not kept.",
        "blocks_for(reach - 1, block_size)",
        "(reach - 1) // block_size",
        (caching.windows_keep_what_any_hit_uses,),
    ),
    _in_caching(
        "kept-at-every-block",
        "Hits are taken to end with any block.",
        f"{_EVERY}    if every",
        "    every = 1\n    if every",
        (caching.windows_of_short_blocks_keep_no_more,),
    ),
    _in_caching(
        "kept-one-block-early",
        "With EAGLE the block that is given up is not kept, but one before those that are read.",
        "(i - spare) % every",
        "i % every",
        (caching.windows_keep_what_any_hit_uses, caching.windows_keep_no_more),
    ),
    _in_caching(
        "first-kept-block-dropped",
        "The first block that a hit reads is not kept.",
        ">= every - read)",
        "> every - read)",
        (caching.windows_keep_what_any_hit_uses, caching.windows_of_short_blocks_keep_no_more),
    ),
    _in_caching(
        "eagle-block-of-no-hit",
        "The block that EAGLE gives up of an empty hit is kept.",
        "(i >= spare and (i - spare)",
        "((i - spare)",
        (caching.windows_keep_no_more,),
    ),
    _in_caching(
        "gapless-windows-thinned",
        "Where hits use all blocks, the first is not kept.",
        "read >= every or",
        "read > every or",
        (caching.windows_keep_no_more, caching.windows_with_hits_at_every_block_keep_all_that_they_reach),
    ),
)
