"""Faults of where a chunk ends."""

from functools import partial

from pagedkv.conformance.proofs.contracts import chunks

from .fault import planted

_in_chunks = partial(planted, "chunks.py")

FAULTS = (
    _in_chunks(
        "chunk-waits-forever",
        "Waits for a block that no step can ever hold.",
        "if whole_blocks > start or block_size <= max_step_tokens:",
        "if True:",
        (
            chunks.chunk_of_a_long_block_progresses,
            chunks.whole_step_progresses,
        ),
    ),
    _in_chunks(
        "chunk-never-waits",
        "Ends inside a block though a longer step would close it.",
        "if whole_blocks > start or block_size <= max_step_tokens:",
        "if whole_blocks > start:",
        (
            chunks.chunk_waits_for_a_boundary,
            chunks.resumed_chunk_waits_for_a_boundary,
        ),
    ),
    _in_chunks(
        "chunk-goes-back",
        "The end of a chunk may lie before its start.",
        "end = max(start, whole_blocks)",
        "end = whole_blocks",
        (
            chunks.chunk_waits_for_a_boundary,
            chunks.resumed_chunk_is_cut_for_a_state,
        ),
    ),
    _in_chunks(
        "chunk-passes-partial-entry",
        "Passes the prompt's last unit boundary.",
        "if last_state < boundary < num_prompt_tokens:",
        "if boundary < last_state:",
        (chunks.chunk_passes_no_partial_entry,),
    ),
    _in_chunks(
        "chunk-stops-at-stale-entry",
        "Stops at a partial entry behind which a state is kept.",
        "if last_state < boundary < num_prompt_tokens:",
        "if boundary < num_prompt_tokens:",
        (
            chunks.chunk_is_cut_for_a_partial_entry,
            chunks.chunk_is_cut_for_one_of_all_stops,
        ),
    ),
    _in_chunks(
        "chunk-ignores-started-block",
        "Passes the end of the block that it starts in.",
        "if start % block_size or",
        "if",
        (
            chunks.chunk_closes_a_started_block,
            chunks.resumed_chunk_closes_a_started_block,
        ),
    ),
    _in_chunks(
        "chunk-ignores-eagle",
        "With EAGLE the last state kept is one that cannot be hit.",
        " - (block_size if is_eagle else 0)",
        " - 0",
        (chunks.chunk_passes_no_last_state_for_eagle,),
    ),
    _in_chunks(
        "chunk-passes-last-state",
        "Passes the last block boundary of all tokens.",
        "stops = [last_state, resent]",
        "stops = [resent]",
        (
            chunks.chunk_passes_no_last_state,
            chunks.resumed_chunk_passes_no_last_state,
        ),
    ),
    _in_chunks(
        "chunk-passes-states-of-drafts",
        "Passes block boundaries at which rejected drafts had states.",
        " or start < drafted:",
        ":",
        (chunks.chunk_passes_no_state_of_drafts,),
    ),
    _in_chunks(
        "chunk-cut-for-passed-drafts",
        "Is cut on block boundaries where drafts have ended.",
        "start < drafted",
        "start <= drafted",
        (chunks.chunk_is_not_cut_for_drafts_behind,),
    ),
    _in_chunks(
        "chunk-passes-resent-prefix",
        "Passes the longest prefix that the same prompt could hit.",
        "stops = [last_state, resent]",
        "stops = [last_state]",
        (chunks.chunk_passes_no_resent_prefix,),
    ),
    _in_chunks(
        "chunk-ends-before-resent-prefix",
        "Ends one token before the longest prefix that the same prompt could hit.",
        "stops = [last_state, resent]",
        "stops = [last_state, resent - 1]",
        (chunks.chunk_is_cut_for_a_resent_prefix,),
    ),
    _in_chunks(
        "decode-is-cut",
        "A request with one token left is cut at boundaries.",
        "if start >= prefill_end:",
        "if start > prefill_end:",
        (chunks.decode_is_not_cut,),
    ),
    _in_chunks(
        "decode-is-prefill",
        "The newest token counts as prefill.",
        "max(num_prompt_tokens, num_tokens - 1)",
        "max(num_prompt_tokens, num_tokens)",
        (chunks.decode_is_not_cut,),
    ),
    _in_chunks(
        "resumed-is-decode",
        "A request that is computed again past its prompt is not cut.",
        "max(num_prompt_tokens, num_tokens - 1)",
        "num_prompt_tokens",
        (chunks.resumed_chunk_passes_no_last_state,),
    ),
    _in_chunks(
        "chunk-ends-at-raw-junction",
        "Ends at a junction inside a block.",
        "start + floor_to(junction - start, block_size)",
        "junction",
        (chunks.chunk_is_cut_for_a_junction,),
    ),
    _in_chunks(
        "chunk-passes-junction",
        "Passes a junction.",
        "if start < junction < end:",
        "if end < junction:",
        (chunks.chunk_passes_no_junction,),
    ),
    _in_chunks(
        "chunk-takes-last-stop",
        "Ends at the last stop instead of the first.",
        "return min([stop for stop in stops if start < stop < end], default=end)",
        "return max([stop for stop in stops if start < stop < end], default=end)",
        (chunks.chunk_passes_no_last_state,),
    ),
    _in_chunks(
        "chunk-stops-where-it-starts",
        "A stop at the start makes it wait forever.",
        "start < stop < end",
        "start <= stop < end",
        (
            chunks.chunk_to_a_boundary_progresses,
            chunks.chunk_to_the_end_progresses,
        ),
    ),
    _in_chunks(
        "chunk-last-cut-back",
        "The last chunk is cut back to a block.",
        "if end < prefill_end:",
        "if end <= prefill_end:",
        (chunks.chunk_is_cut_for_a_state,),
    ),
    _in_chunks(
        "chunk-not-cut-back",
        "An offer that ends inside a block is used up.",
        "if end < prefill_end:",
        "if end < 0:",
        (chunks.chunk_is_cut_back_to_a_block,),
    ),
)
