"""Faults of the hit of one kind."""

from functools import partial

from pagedkv.conformance.proofs.contracts import hits

from .fault import planted

_in_hits = partial(planted, "hits.py")

FAULTS = (
    _in_hits(
        "hit-run-past-limit",
        "A block that ends one token past the limit counts.",
        "length + block_size <= max_length",
        "length + block_size <= max_length + 1",
        (hits.full_hit_of_one_unit_blocks,),
    ),
    _in_hits(
        "hit-run-stops-early",
        "A block that ends with the limit does not count.",
        "length + block_size <= max_length",
        "length + block_size < max_length",
        (hits.full_hit_by_blocks,),
    ),
    _in_hits(
        "hit-probe-low-to-high",
        "Inside the last block the shortest prefix is taken.",
        "range(longest_inside, length, -unit)",
        "range(length + unit, longest_inside + 1, unit)",
        (hits.full_hit_by_units,),
    ),
    _in_hits(
        "hit-probe-past-limit",
        "Inside the last block the limit is not looked at.",
        "min(length + block_size - unit, floor_to(max_length, unit))",
        "length + block_size - unit",
        (hits.full_hit_by_units,),
    ),
    _in_hits(
        "hit-probe-misses-last-unit",
        "The last unit boundary inside a block is never looked up.",
        "min(length + block_size - unit, floor",
        "min(length + block_size - 2 * unit, floor",
        (hits.full_hit_by_units,),
    ),
    _in_hits(
        "eagle-drops-a-block",
        "With hits by units EAGLE gives up a whole block.",
        "length -= min(alignment, block_size)",
        "length -= block_size",
        (hits.eagle_drops_one_unit,),
    ),
    _in_hits(
        "eagle-drops-alignment",
        "EAGLE gives up as much as lies between two hits.",
        "length -= min(alignment, block_size)",
        "length -= alignment",
        (hits.full_hit_by_pairs_of_blocks,),
    ),
    _in_hits(
        "eagle-drops-nothing",
        "EAGLE gives up nothing.",
        "    if drop_eagle and length:",
        "    if drop_eagle and not length:",
        (hits.eagle_drops_one_block,),
    ),
    _in_hits(
        "eagle-drops-from-nothing",
        "EAGLE gives up a part of an empty hit.",
        "if drop_eagle and length:",
        "if drop_eagle:",
        (hits.eagle_drops_one_unit,),
    ),
    _in_hits(
        "hit-not-aligned-down",
        "A hit ends with any block.",
        "    length = floor_to(length, alignment)\n",
        "",
        (hits.full_hit_by_pairs_of_blocks,),
    ),
    _in_hits(
        "hit-blocks-not-cut",
        "A hit keeps the block that EAGLE gave up.",
        "tuple(named_by[: blocks_for(length, block_size)])",
        "tuple(named_by)",
        (hits.full_hit_by_blocks,),
    ),
    _in_hits(
        "hit-blocks-cut-down",
        "A hit lacks the block that it ends in.",
        "named_by[: blocks_for(length, block_size)]",
        "named_by[: length // block_size]",
        (hits.full_hit_by_units,),
    ),
    _in_hits(
        "hit-inside-blocks-always",
        "Keys inside a block count though hits are whole blocks.",
        "if alignment < block_size:",
        "if unit < block_size:",
        (
            hits.full_hit_by_blocks,
            hits.eagle_drops_one_block,
        ),
    ),
    _in_hits(
        "hit-inside-blocks-never",
        "Keys inside a block are never looked up.",
        "if alignment < block_size:",
        "if alignment < unit:",
        (hits.full_hit_by_units,),
    ),
    _in_hits(
        "hit-misses-last-hash",
        "The last hashed unit is never looked up.",
        "num_tokens // unit <= len(cached)",
        "num_tokens // unit < len(cached)",
        (
            hits.full_hit_of_one_unit_blocks,
            hits.state_hit_by_units,
        ),
    ),
    _in_hits(
        "hit-reads-past-hashes",
        "Units that are not hashed are looked up.",
        "num_tokens // unit <= len(cached) and cached",
        "cached",
        (hits.full_hit_of_one_unit_blocks,),
    ),
    _in_hits(
        "state-not-aligned",
        "A state at any unit counts.",
        "range(floor_to(max_length, alignment), 0, -alignment)",
        "range(floor_to(max_length, unit), 0, -unit)",
        (hits.state_hit_by_blocks,),
    ),
    _in_hits(
        "state-shortest-first",
        "The first state is taken.",
        "range(floor_to(max_length, alignment), 0, -alignment)",
        "range(alignment, max_length + 1, alignment)",
        (hits.state_hit_by_units,),
    ),
    _in_hits(
        "state-past-limit",
        "A state past the limit counts.",
        "range(floor_to(max_length, alignment), 0, -alignment)",
        "range(floor_to(max_length + alignment, alignment), 0, -alignment)",
        (hits.state_hit_by_units,),
    ),
    _in_hits(
        "state-at-limit-missed",
        "A state at the limit does not count.",
        "range(floor_to(max_length, alignment), 0, -alignment)",
        "range(floor_to(max_length - 1, alignment), 0, -alignment)",
        (hits.state_hit_by_blocks,),
    ),
)
