"""Faults of the longest length, of one kind and of several."""

from functools import partial

from pagedkv.conformance.proofs.contracts import fits, hits

from .fault import planted

_in_hits = partial(planted, "hits.py")

_LENGTHS = "range(floor_to(max_length, alignment), 0, -alignment)"
_FIRST = "longest_hit(kinds[:1], max_length, unit, alignment).length"

FAULTS = (
    _in_hits(
        "hit-not-aligned",
        "The search starts from the limit, wherever it lies.",
        _LENGTHS,
        "range(max_length, 0, -alignment)",
        (hits.full_hit_by_pairs_of_blocks, hits.window_hit),
    ),
    _in_hits(
        "hit-by-units",
        "A hit may end with any unit.",
        _LENGTHS,
        "range(floor_to(max_length, unit), 0, -unit)",
        (hits.state_hit_by_blocks, hits.window_hit_by_pairs_of_blocks),
    ),
    _in_hits(
        "hit-shortest-first",
        "The first hit is taken.",
        _LENGTHS,
        "range(alignment, max_length + 1, alignment)",
        (hits.state_hit_by_units, hits.window_hit),
    ),
    _in_hits(
        "hit-past-limit",
        "A hit past the limit is answered.",
        _LENGTHS,
        "range(floor_to(max_length, alignment) + alignment, 0, -alignment)",
        (hits.state_hit_by_units, hits.chunk_hit),
    ),
    _in_hits(
        "hit-at-limit-missed",
        "The longest hit that is allowed is not asked for.",
        _LENGTHS,
        "range(floor_to(max_length - 1, alignment), 0, -alignment)",
        (hits.state_hit_by_blocks, fits.attention_and_states_by_blocks),
    ),
    _in_hits(
        "nothing-to-read-is-no-hit",
        "A length after which nothing is read, since a chunk begins there, is no answer.",
        "for names in found if names is not None",
        "for names in found if names",
        (hits.chunk_hit, hits.window_hit, fits.attention_and_chunks),
    ),
    _in_hits(
        "one-kind-is-enough",
        "A length that some kind can answer is the hit.",
        "if len(named_by) == len(kinds):",
        "if named_by:",
        (fits.two_kinds_of_states, fits.attention_and_windows, fits.two_kinds_of_windows),
    ),
    _in_hits(
        "first-kind-is-enough",
        "Kinds after the first are taken to have what it has.",
        "[names_of_hit(kind, length, max_length, unit, alignment) for kind in kinds]",
        "[names_of_hit(kinds[0], length, max_length, unit, alignment) for kind in kinds]",
        (
            fits.attention_and_states_by_units,
            fits.attention_and_windows_of_draft_models,
            fits.windows_beside_hits_inside_blocks,
        ),
    ),
    _in_hits(
        "keys-within-candidate",
        "Keys are looked for up to the length that is tried.",
        "names_of_hit(kind, length, max_length, unit, alignment)",
        "names_of_hit(kind, length, length, unit, alignment)",
        (fits.two_kinds_of_attention, fits.two_kinds_of_attention_by_units, fits.two_kinds_of_windows),
    ),
    _in_hits(
        "rows-of-one-kind",
        "Where there is no hit the answer is of one kind.",
        "0, ((),) * len(kinds)",
        "0, ((),)",
        (fits.states_alone,),
    ),
    _in_hits(
        "junction-of-the-last-kind",
        "The junction is what the last kind has.",
        _FIRST,
        "longest_hit(kinds[-1:], max_length, unit, alignment).length",
        (fits.attention_and_states_by_units, fits.windows_and_states),
    ),
    _in_hits(
        "junction-of-any-kind",
        "The junction is the longest that any kind has, though nobody was asked for it.",
        _FIRST,
        "max(longest_hit([kind], max_length, unit, alignment).length for kind in kinds)",
        (fits.two_kinds_of_attention, fits.attention_and_windows),
    ),
    _in_hits(
        "junction-within-the-hit",
        "The first kind is asked for no more than the hit.",
        _FIRST,
        "longest_hit(kinds[:1], length, unit, alignment).length",
        (fits.attention_and_states_by_blocks, fits.two_kinds_of_states),
    ),
    _in_hits(
        "junction-not-longer",
        "The common hit itself is reported as lost.",
        "first if first > length else 0",
        "first",
        (hits.full_hit_by_blocks, fits.states_alone),
    ),
    _in_hits(
        "junction-never",
        "No junction is reported.",
        "first if first > length else 0",
        "0",
        (fits.attention_and_states_by_blocks, fits.attention_and_chunks),
    ),
)
