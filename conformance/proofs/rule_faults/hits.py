"""Faults of which keys name a hit."""

from functools import partial

from pagedkv.conformance.proofs.contracts import hits

from .fault import planted

_in_hits = partial(planted, "hits.py")

_CUT = "names[: blocks_for(length, size) - first]"
_EAGLE = "min(alignment, size) if kind.drops_for_eagle and not is_state else 0"
_FIRST = "skipped_entries(kind.reads, length, kind.reach, size)"
_KEY = "any(kind.cached[n // unit - 1 : n // unit])"
_MISSING = "        if not held:\n            return None\n        names.insert(0, held[-1])\n"
_MOST = "least if is_state else min(max_length, (i + 1) * size)"

FAULTS = (
    _in_hits(
        "key-past-limit",
        "A key past the limit names a block.",
        "min(max_length, (i + 1) * size)",
        "(i + 1) * size",
        (hits.names_of_attention_by_units, hits.full_hit_by_units),
    ),
    _in_hits(
        "key-one-past-limit",
        "A block that ends one token past the limit counts.",
        "min(max_length, (i + 1) * size)",
        "min(max_length + 1, (i + 1) * size)",
        (hits.names_of_attention_by_blocks,),
    ),
    _in_hits(
        "key-at-limit-missed",
        "A block that ends with the limit does not count.",
        "min(max_length, (i + 1) * size)",
        "min(max_length - 1, (i + 1) * size)",
        (hits.full_hit_by_blocks, hits.window_hit),
    ),
    _in_hits(
        "block-by-its-shortest-key",
        "A block is named by the first key that is long enough.",
        "names.insert(0, held[-1])",
        "names.insert(0, held[0])",
        (hits.names_of_attention_by_units,),
    ),
    _in_hits(
        "block-by-one-key",
        "A longer key of the block in which a hit ends does not count.",
        _MOST,
        "min(max_length, least)",
        (hits.names_of_attention_by_units,),
    ),
    _in_hits(
        "state-by-a-later-key",
        "A later state of the same block stands for an earlier one.",
        _MOST,
        "min(max_length, (i + 1) * size)",
        (hits.names_of_states,),
    ),
    _in_hits(
        "block-by-any-key",
        "A key that ends before what is read names the block.",
        "least = min(needed, (i + 1) * size)",
        "least = i * size + unit",
        (hits.names_of_attention_by_units, hits.names_of_attention_by_blocks, hits.full_hit_by_blocks),
    ),
    _in_hits(
        "hit-inside-blocks-never",
        "Only whole blocks count.",
        "least = min(needed, (i + 1) * size)",
        "least = (i + 1) * size",
        (hits.full_hit_by_units, hits.state_hit_by_units),
    ),
    _in_hits(
        "eagle-drops-a-block",
        "With hits by units EAGLE gives up a whole block.",
        "min(alignment, size) if",
        "size if",
        (hits.eagle_drops_one_unit,),
    ),
    _in_hits(
        "eagle-drops-a-unit",
        "With hits by blocks EAGLE gives up a unit.",
        "min(alignment, size) if",
        "unit if",
        (hits.names_of_attention_by_blocks,),
    ),
    _in_hits(
        "eagle-drops-alignment",
        "EAGLE gives up as much as lies between two hits.",
        "min(alignment, size) if",
        "alignment if",
        (
            hits.full_hit_by_pairs_of_blocks,
            hits.names_of_windows_by_pairs_of_blocks,
            hits.window_hit_by_pairs_of_blocks,
        ),
    ),
    _in_hits(
        "eagle-drops-twice",
        "EAGLE gives up two blocks, or two units.",
        "min(alignment, size) if",
        "2 * min(alignment, size) if",
        (hits.eagle_drops_one_block, hits.names_of_windows_of_draft_models),
    ),
    _in_hits(
        "eagle-drops-nothing",
        "EAGLE gives up nothing.",
        f"({_EAGLE})",
        "0",
        (hits.eagle_drops_one_block, hits.window_hit_by_pairs_of_blocks),
    ),
    _in_hits(
        "eagle-drops-states",
        "States give up a unit or a block for EAGLE.",
        "kind.drops_for_eagle and not is_state",
        "kind.drops_for_eagle",
        (hits.names_of_states, hits.state_hit_by_blocks),
    ),
    _in_hits(
        "eagle-spares-windows",
        "Windows give up nothing for EAGLE.",
        "kind.drops_for_eagle and not is_state",
        'kind.drops_for_eagle and kind.reads == "prefix"',
        (hits.names_of_windows_of_draft_models, hits.window_hit),
    ),
    _in_hits(
        "eagle-looks-one-block-too-few",
        "What EAGLE gives up need not be there.",
        "range(blocks_for(needed, size) - 1",
        "range(blocks_for(length, size) - 1",
        (hits.names_of_attention_by_blocks, hits.names_of_windows_of_draft_models),
    ),
    _in_hits(
        "eagle-moves-the-window",
        "The window is that of the token after what EAGLE gives up.",
        _FIRST,
        "skipped_entries(kind.reads, needed, kind.reach, size)",
        (hits.names_of_windows_of_draft_models, hits.names_of_windows_by_pairs_of_blocks),
    ),
    _in_hits(
        "window-of-the-last-token",
        "Windows, chunks and states are those of the last token that is hit, not of the next.",
        _FIRST,
        "skipped_entries(kind.reads, length - 1, kind.reach, size)",
        (hits.names_of_windows, hits.names_of_chunks, hits.names_of_states, hits.chunk_hit),
    ),
    _in_hits(
        "window-of-the-limit",
        "Windows, chunks and states are those of the longest hit that was asked for.",
        _FIRST,
        "skipped_entries(kind.reads, max_length, kind.reach, size)",
        (hits.names_of_windows, hits.names_of_chunks),
    ),
    _in_hits(
        "window-one-token-short",
        "What the first token of a window needs is not looked for.",
        _FIRST,
        "skipped_entries(kind.reads, length, max(kind.reach - 1, 1), size)",
        (hits.names_of_windows, hits.window_hit),
    ),
    _in_hits(
        "everything-is-read",
        "Blocks before windows and chunks have to be there, too.",
        _FIRST,
        "0",
        (
            hits.names_of_windows,
            hits.names_of_chunks,
            hits.names_of_states,
            hits.window_hit_by_pairs_of_blocks,
        ),
    ),
    _in_hits(
        "first-block-not-looked-for",
        "The first block that is read may be missing.",
        "first - 1, -1)",
        "first, -1)",
        (hits.full_hit_of_one_unit_blocks, hits.names_of_windows, hits.names_of_chunks),
    ),
    _in_hits(
        "gap-in-the-middle",
        "A block between the first and the last may be missing.",
        _MISSING,
        "        if not held and (i == first or not names):\n"
        "            return None\n"
        "        names.insert(0, max(held, default=0))\n",
        (hits.full_hit_of_one_unit_blocks, hits.names_of_windows),
    ),
    _in_hits(
        "gap-before-the-end",
        "The last blocks alone are taken for a hit.",
        _MISSING,
        "        if not held:\n            break\n        names.insert(0, held[-1])\n",
        (hits.full_hit_by_pairs_of_blocks, hits.names_of_windows_by_pairs_of_blocks, hits.chunk_hit),
    ),
    _in_hits(
        "blocks-backwards",
        "The blocks of a hit are answered from the last to the first.",
        "names.insert(0, held[-1])",
        "names.append(held[-1])",
        (hits.full_hit_by_blocks, hits.names_of_windows),
    ),
    _in_hits(
        "hit-blocks-not-cut",
        "A hit keeps the block that EAGLE gave up.",
        _CUT,
        "names",
        (hits.full_hit_by_blocks, hits.window_hit),
    ),
    _in_hits(
        "hit-blocks-cut-by-the-whole-row",
        "A hit of a window keeps the block that EAGLE gave up.",
        _CUT,
        "names[: blocks_for(length, size)]",
        (hits.names_of_windows_of_draft_models,),
    ),
    _in_hits(
        "hit-blocks-cut-down",
        "A hit lacks the block that it ends in.",
        _CUT,
        "names[: length // size - first]",
        (hits.full_hit_by_units, hits.state_hit_by_units),
    ),
    _in_hits(
        "hit-misses-last-hash",
        "The last hashed unit is never looked up.",
        _KEY,
        "n // unit < len(kind.cached) and kind.cached[n // unit - 1]",
        (hits.full_hit_of_one_unit_blocks, hits.state_hit_by_units),
    ),
    _in_hits(
        "hit-reads-past-hashes",
        "Units that are not hashed are looked up.",
        _KEY,
        "kind.cached[n // unit - 1]",
        (hits.full_hit_of_one_unit_blocks,),
    ),
)
