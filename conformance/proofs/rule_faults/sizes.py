"""Faults of rounding."""

from functools import partial

from pagedkv.conformance.proofs.contracts import sizes

from .fault import planted

_in_sizes = partial(planted, "sizes.py")

FAULTS = (
    _in_sizes(
        "rounds-blocks-down",
        "The last block of a length that ends inside it is not counted.",
        "-(-num_tokens // block_size)",
        "num_tokens // block_size",
        (
            sizes.blocks_cover_and_one_less_does_not,
            sizes.blocks_of_any_size_cover,
        ),
    ),
    _in_sizes(
        "rounds-lengths-up",
        "Lengths are rounded up to the grain.",
        "num_tokens - num_tokens % grain",
        "-(-num_tokens // grain) * grain",
        (
            sizes.floor_is_the_last_multiple,
            sizes.floor_of_any_grain_is_the_last_multiple,
        ),
    ),
)
