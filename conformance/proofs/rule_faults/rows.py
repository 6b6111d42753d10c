"""Faults of how rows grow and shrink."""

from functools import partial

from pagedkv.conformance.proofs.contracts import rows

from .fault import planted

_in_rows = partial(planted, "rows.py")

FAULTS = (
    _in_rows(
        "attention-row-can-shrink",
        "A row that is long enough takes a negative number of blocks.",
        "max(0, blocks_for(end, block_size) - row_length)",
        "blocks_for(end, block_size) - row_length",
        (rows.attention_row_covers_the_tokens,),
    ),
    _in_rows(
        "attention-row-too-long",
        "A row gets a block before a token needs it.",
        "blocks_for(end, block_size) - row_length",
        "blocks_for(end + 1, block_size) - row_length",
        (
            rows.attention_row_covers_the_tokens,
            rows.attention_row_of_short_blocks_covers_the_tokens,
        ),
    ),
    _in_rows(
        "attention-row-rounded-down",
        "A started block gets no entry.",
        "blocks_for(end, block_size) - row_length",
        "end // block_size - row_length",
        (rows.attention_row_covers_the_tokens,),
    ),
    _in_rows(
        "speculative-tokens-for-blocks",
        "A speculative state gets a token's place, not a block.",
        "end + num_speculative * block_size",
        "end + num_speculative",
        (rows.row_of_a_state_per_block_has_a_place_for_every_state,),
    ),
    _in_rows(
        "state-row-too-long",
        "A row gets one block too many.",
        "needed = running + 1 + num_speculative",
        "needed = running + 2 + num_speculative",
        (
            rows.state_row_has_a_place_for_every_state,
            rows.state_row_takes_few_blocks,
        ),
    ),
    _in_rows(
        "state-row-without-speculative",
        "Speculative states get no place.",
        "needed = running + 1 + num_speculative",
        "needed = running + 1",
        (rows.state_row_has_a_place_for_every_state,),
    ),
    _in_rows(
        "moved-blocks-taken-again",
        "Blocks are taken for entries that were moved.",
        " - padding - (moved_to - moved_from)",
        " - padding",
        (rows.state_row_of_short_blocks_has_a_place_for_every_state,),
    ),
    _in_rows(
        "running-entry-after-boundary",
        "A state at a block boundary goes into the next entry.",
        "running = blocks_for(end, block_size) - 1",
        "running = end // block_size",
        (rows.state_row_moves_what_was_passed,),
    ),
    _in_rows(
        "padding-over-the-running-entry",
        "The running entry is null.",
        "padding = max(0, running - row_length)",
        "padding = max(0, running + 1 - row_length)",
        (rows.state_row_has_a_place_for_every_state,),
    ),
    _in_rows(
        "hit-blocks-moved",
        "Blocks of a hit are taken for speculative ones.",
        "row_length if is_first else row_length - num_speculative",
        "row_length - num_speculative",
        (rows.state_row_moves_what_was_passed,),
    ),
    _in_rows(
        "running-entry-moved",
        "The block of the running state moves away.",
        "min(row_length, running)",
        "min(row_length, running + 1)",
        (rows.state_row_moves_what_was_passed,),
    ),
    _in_rows(
        "passed-blocks-stay",
        "Speculative blocks that were passed are not used again.",
        "max(moved_from, min(row_length, running))",
        "moved_from",
        (
            rows.state_row_moves_what_was_passed,
            rows.state_row_takes_few_blocks,
        ),
    ),
    _in_rows(
        "state-row-can-shrink",
        "A shorter step takes a negative number of blocks.",
        "max(0, taken)",
        "taken",
        (rows.state_row_stays_for_a_shorter_step,),
    ),
)
