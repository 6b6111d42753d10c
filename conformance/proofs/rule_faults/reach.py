"""Faults of what a step reads and what is skipped."""

from functools import partial

from pagedkv.conformance.proofs.contracts import hits, reach

from .fault import planted

_in_reach = partial(planted, "reach.py")

_WINDOW = "return max(0, num_processed - reach + 1)"
_CHUNK = "return num_processed - num_processed % reach"
_STATE = "return max(0, num_processed - 1)"
_ENTRIES = "first_read(reads, num_processed, reach) // block_size"

_GAP_START = "range(blocks_for(num_prompt_tokens, block_size), "
_GAP_WINDOW = "max(num_prompt_tokens, num_processed - reach)"
_SHARED = "num_prompt_tokens + reach + 1"

FAULTS = (
    _in_reach(
        "gap-begins-in-the-prompt",
        "The block in which the prompt ends is let go with what follows it.",
        _GAP_START,
        "range(num_prompt_tokens // block_size, ",
        (reach.entries_between_prompt_and_window_are_skipped,),
    ),
    _in_reach(
        "gap-reaches-into-the-window",
        "The block in which the window begins is let go.",
        "window // block_size)",
        "blocks_for(window, block_size))",
        (reach.entries_between_prompt_and_window_are_skipped,),
    ),
    _in_reach(
        "gap-one-token-too-long",
        "The window is counted with the step's own token.",
        _GAP_WINDOW,
        "max(num_prompt_tokens, num_processed - reach + 1)",
        (
            reach.entries_between_prompt_and_window_are_skipped,
            reach.entries_of_one_token_between_prompt_and_window_are_skipped,
        ),
    ),
    _in_reach(
        "shared-behind-the-gap",
        "The first token whose step has a gap counts as shared.",
        _SHARED,
        "num_prompt_tokens + reach + 2",
        (
            reach.tokens_that_see_all_before_them_are_shared,
            reach.no_token_behind_the_shared_ones_sees_all,
        ),
    ),
    _in_reach(
        "shared-to-the-window",
        "The last token whose step reads all is not shared.",
        _SHARED,
        "num_prompt_tokens + reach",
        (reach.no_token_behind_the_shared_ones_sees_all,),
    ),
    _in_reach(
        "window-one-token-too-long",
        "The window is counted without the step's own token.",
        _WINDOW,
        "return max(0, num_processed - reach)",
        (reach.a_step_reads_its_window, reach.entries_of_one_token_are_skipped, hits.names_of_windows),
    ),
    _in_reach(
        "window-one-token-too-short",
        "The first token of a window is skipped.",
        _WINDOW,
        "return max(0, num_processed - reach + 2)",
        (
            reach.a_step_reads_its_window,
            reach.a_window_never_goes_back,
            reach.entries_before_the_window_are_skipped,
        ),
    ),
    _in_reach(
        "window-before-the-start",
        "A window that is not full begins before the first token.",
        _WINDOW,
        "return num_processed - reach + 1",
        (reach.a_step_reads_its_window,),
    ),
    _in_reach(
        "window-as-a-chunk",
        "Windows do not slide.",
        _WINDOW,
        _CHUNK,
        (reach.a_step_reads_its_window, hits.window_hit_by_pairs_of_blocks),
    ),
    _in_reach(
        "chunk-of-the-last-token",
        "The chunk is that of the last processed token, not of the next.",
        _CHUNK,
        "return max(0, num_processed - 1 - (num_processed - 1) % reach)",
        (
            reach.a_step_reads_its_chunk,
            reach.a_step_reads_its_chunk_of_any_length,
            reach.entries_before_a_chunk_inside_a_block_are_skipped,
            hits.names_of_chunks,
        ),
    ),
    _in_reach(
        "chunk-ends-early",
        "The chunk is that of the token after the next.",
        _CHUNK,
        "return max(0, num_processed + 1 - (num_processed + 1) % reach - 1)",
        (reach.a_step_reads_its_chunk, reach.entries_before_the_chunk_are_skipped),
    ),
    _in_reach(
        "chunk-as-a-window",
        "Chunks slide.",
        _CHUNK,
        _WINDOW,
        (reach.a_step_reads_its_chunk, hits.chunk_hit),
    ),
    _in_reach(
        "chunk-begins-with-the-next-token",
        "Nothing before the next token is read.",
        _CHUNK,
        "return num_processed",
        (reach.a_chunk_never_goes_back, reach.entries_before_the_chunk_are_skipped),
    ),
    _in_reach(
        "last-state-skipped",
        "The state at a boundary that the next step starts from is let go.",
        _STATE,
        "return num_processed",
        (
            reach.a_step_reads_the_last_state,
            reach.entries_before_the_last_state_are_skipped,
            reach.entries_of_one_token_are_skipped,
        ),
    ),
    _in_reach(
        "states-never-skipped",
        "Old states are never let go.",
        _STATE,
        "return 0",
        (reach.a_step_reads_the_last_state, reach.entries_before_the_last_state_are_skipped),
    ),
    _in_reach(
        "attention-skipped",
        "Attention lets go of what it still reads.",
        '"prefix" | "encoder":\n            return 0',
        '"prefix" | "encoder":\n            return num_processed',
        (reach.a_step_reads_the_whole_prefix, reach.entries_of_attention_are_never_skipped),
    ),
    _in_reach(
        "entries-begun-are-skipped",
        "An entry of which the first positions are not read is skipped.",
        _ENTRIES,
        "-(-first_read(reads, num_processed, reach) // block_size)",
        (
            reach.entries_before_the_window_are_skipped,
            reach.entries_before_the_chunk_are_skipped,
            reach.entries_before_the_last_state_are_skipped,
        ),
    ),
    _in_reach(
        "entries-skipped-late",
        "The last entry that could be skipped is not.",
        _ENTRIES,
        f"max(0, {_ENTRIES} - 1)",
        (
            reach.entries_before_the_window_are_skipped,
            reach.entries_before_a_chunk_inside_a_block_are_skipped,
        ),
    ),
)
