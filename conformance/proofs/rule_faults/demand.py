"""Faults of what a request needs at most."""

from functools import partial

from pagedkv.conformance.proofs.contracts import demand

from .fault import planted

_in_demand = partial(planted, "demand.py")

FAULTS = (
    _in_demand(
        "counts-whole-prefix",
        "Windows and chunks are counted as if they read everything.",
        "        - skipped_entries(reads, start, reach, block_size)\n",
        "",
        (demand.a_window_needs_at_most_that, demand.a_chunk_needs_at_most_that),
    ),
    _in_demand(
        "counts-aligned-starts-only",
        "Only the first starts count, which lie at the beginning of blocks.",
        'reach + lcm(reach if reads == "chunk" else 1, block_size)',
        "reach",
        (demand.a_window_needs_at_most_that, demand.a_chunk_needs_at_most_that),
    ),
    _in_demand(
        "forgets-the-last-block",
        "The block that is not full is not counted.",
        "            return blocks_for(num_tokens, block_size)\n",
        "            return num_tokens // block_size\n",
        (demand.attention_needs_a_block_for_each_begun_one,),
    ),
    _in_demand(
        "forgets-what-is-handed-over",
        "A state that was handed over or is copied to is not counted.",
        "return 3 + num_speculative",
        "return 2 + num_speculative",
        (demand.a_state_needs_three_and_its_speculative,),
    ),
)
