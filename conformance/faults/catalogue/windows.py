"""Windows and chunks: what is read of a prefix, and what is kept of it."""

from pagedkv.conformance.faults.fault import PlantedFault
from pagedkv.conformance.faults.patching import Patch
from pagedkv.spec.clauses import allocation, hit, worker

from .elsewhere import ATTENTION_ALONE, WITHOUT_CACHING, WITHOUT_CHUNKS, WITHOUT_DRAFT_MODELS, WITHOUT_WINDOWS

_WINDOWS = ("window", "full+window", "window+window")
_CHUNKS = ("chunk", "full+chunk")
_LOOKUP_FIRST = "a lookup may come before the step that shows it"
_REFUSED_OR_SEEN = "whoever allocates may refuse the hit before anybody can see it"

FAULTS = (
    PlantedFault(
        "window-one-token-too-short",
        "Windows end one token early, for lookups as for what is let go.",
        "the first token of the window is let go while it is read",
        Patch("spec/rules/reach.py", "num_processed - reach + 1)", "num_processed - reach + 2)"),
        (allocation.COVERS_THE_TOKENS, allocation.SKIPPED_ARE_FREED, hit.LONGEST, hit.BLOCKS_COVER_IT),
        WITHOUT_WINDOWS,
        _LOOKUP_FIRST,
        mixes=_WINDOWS,
    ),
    PlantedFault(
        "window-one-token-too-short-unseen",
        "Windows end one token early, and nobody can look into the pool.",
        "the first token of the window is overwritten while it is read",
        Patch("spec/rules/reach.py", "num_processed - reach + 1)", "num_processed - reach + 2)"),
        (worker.READS_ITS_PREFIX,),
        ATTENTION_ALONE,
        tells_state=False,
        mixes=("window",),
    ),
    PlantedFault(
        "block-in-which-the-chunk-begins-let-go-unseen",
        "The block in which what is read begins is let go with those before it, and nobody can look.",
        "a place inside a block is rounded up",
        Patch(
            "spec/rules/reach.py",
            "return first_read(reads, num_processed, reach) // block_size",
            "return -(-first_read(reads, num_processed, reach) // block_size)",
        ),
        (worker.READS_ITS_PREFIX,),
        ATTENTION_ALONE,
        tells_state=False,
        mixes=("chunk",),
    ),
    PlantedFault(
        "window-one-token-too-long",
        "Windows are counted without the token that reads.",
        "a block is held, and asked for, that nobody reads",
        Patch("spec/rules/reach.py", "num_processed - reach + 1)", "num_processed - reach)"),
        (allocation.HOLDS_NO_MORE, allocation.SKIPPED_ARE_FREED, hit.LONGEST, hit.BLOCKS_COVER_IT),
        WITHOUT_WINDOWS,
        _LOOKUP_FIRST,
        mixes=_WINDOWS,
    ),
    PlantedFault(
        "hit-padded-at-the-end",
        "The null entries of a hit are put behind its blocks instead of before them.",
        "the window is taken from the wrong end",
        Patch(
            "reference/lookup.py",
            "[pool.null_block] * (width - len(found)) + found",
            "found + [pool.null_block] * (width - len(found))",
        ),
        (allocation.FITS_THE_HIT, hit.BLOCKS_COVER_IT),
        ATTENTION_ALONE,
        _REFUSED_OR_SEEN,
        mixes=_WINDOWS,
    ),
    PlantedFault(
        "null-inside-the-window",
        "A window of which the last blocks are cached is a hit, with null where the others should be.",
        "a run of cached blocks that is shorter than the window is taken for a hit",
        Patch(
            "spec/rules/hits.py",
            "        if not held:\n            return None\n",
            '        if not held and kind.reads == "window" and names:\n'
            "            break\n"
            "        if not held:\n"
            "            return None\n",
        ),
        (allocation.FITS_THE_HIT, hit.LONGEST, hit.EAGLE_DROPS_ONE, hit.BLOCKS_COVER_IT),
        WITHOUT_WINDOWS,
        _REFUSED_OR_SEEN,
        mixes=("window",),
    ),
    PlantedFault(
        "hit-asks-for-one-block-too-few",
        "A lookup does not ask for the first block of the window.",
        "a block fewer is counted than the window touches",
        Patch(
            "spec/rules/hits.py",
            "skipped_entries(kind.reads, length, kind.reach, size)",
            'skipped_entries(kind.reads, length, kind.reach, size) + (kind.reads == "window" and length > size)',
        ),
        (allocation.FITS_THE_HIT, hit.LONGEST, hit.EAGLE_DROPS_ONE, hit.BLOCKS_COVER_IT),
        WITHOUT_WINDOWS,
        _REFUSED_OR_SEEN,
        mixes=_WINDOWS,
    ),
    PlantedFault(
        "hit-asks-for-the-whole-prefix",
        "A lookup asks for blocks before the window, too.",
        "windows are looked up as full attention is",
        Patch(
            "spec/rules/hits.py",
            "first = skipped_entries(kind.reads, length, kind.reach, size)",
            'reads = "prefix" if kind.reads == "window" else kind.reads\n'
            "    first = skipped_entries(reads, length, kind.reach, size)",
        ),
        (hit.LONGEST, hit.EAGLE_DROPS_ONE, hit.JUNCTION, hit.BLOCKS_COVER_IT),
        WITHOUT_WINDOWS,
        "a hit has blocks before the window where they are cached, and is shorter where they are not",
        mixes=_WINDOWS,
    ),
    PlantedFault(
        "hit-refused-for-its-nulls",
        "A hit is refused that has null entries before the window.",
        "a guard that was written for full attention",
        Patch(
            "reference/guards.py",
            "row[manager.num_skipped(call.start) :]",
            "row",
        ),
        (allocation.FITS_THE_HIT,),
        ATTENTION_ALONE,
        mixes=_WINDOWS,
    ),
    PlantedFault(
        "eagle-spares-windows",
        "Windows that a draft model reads give up nothing.",
        "the draft model reads a block that was never written for it",
        Patch(
            "spec/rules/hits.py",
            "kind.drops_for_eagle and not is_state",
            'kind.drops_for_eagle and kind.reads == "prefix"',
        ),
        (hit.EAGLE_DROPS_ONE, hit.LONGEST),
        WITHOUT_DRAFT_MODELS,
        "with another kind the hit may be longer than all can answer",
        mixes=_WINDOWS,
    ),
    PlantedFault(
        "eagle-moves-the-window",
        "With a draft model the window is that of the token after what is given up.",
        "the window is placed before the drop and used after it",
        Patch(
            "spec/rules/hits.py",
            "skipped_entries(kind.reads, length, kind.reach, size)",
            "skipped_entries(kind.reads, needed, kind.reach, size)",
        ),
        (allocation.FITS_THE_HIT, hit.EAGLE_DROPS_ONE, hit.LONGEST, hit.BLOCKS_COVER_IT),
        WITHOUT_DRAFT_MODELS,
        _REFUSED_OR_SEEN,
        mixes=_WINDOWS,
    ),
    PlantedFault(
        "keys-that-no-hit-reads",
        "All full blocks of windows become keys, also those that lie in no hit's window.",
        "the cache fills with keys that nobody can ask for",
        Patch(
            "spec/rules/caching.py",
            '(reads == "state" and retention is None)',
            "retention is None",
        ),
        (allocation.FULL_BLOCKS_BECOME_KEYS,),
        WITHOUT_WINDOWS,
        mixes=("full+window", "window+mamba"),
    ),
    PlantedFault(
        "first-block-of-a-hit-not-kept",
        "The first block of those that a hit reads does not become a key.",
        "windows are kept that no hit can use",
        Patch(
            "spec/rules/caching.py",
            "% every >= every - read)",
            "% every > every - read)",
        ),
        (allocation.FULL_BLOCKS_BECOME_KEYS,),
        WITHOUT_WINDOWS,
        mixes=("full+window", "window+mamba"),
    ),
    PlantedFault(
        "windows-end-hits-inside-blocks",
        "Windows with blocks of several units allow hits that end inside their blocks.",
        "a hit by units beside a kind that knows only blocks",
        Patch(
            "reference/kinds.py",
            '"window"\n    supports_fine_grained_hash_lookup: ClassVar[bool] = False',
            '"window"\n    supports_fine_grained_hash_lookup: ClassVar[bool] = True',
        ),
        (hit.ALIGNED, hit.LONGEST, allocation.FULL_BLOCKS_BECOME_KEYS, allocation.PARTIAL_PROMPT_END),
        WITHOUT_WINDOWS,
        "keys inside blocks are made before one is hit",
        mixes=("window+mamba", "full+window+mamba"),
    ),
    PlantedFault(
        "windows-have-a-common-prefix",
        "Leading blocks of windows count as common to all requests.",
        "what holds of full attention is inherited",
        Patch(
            "reference/kinds.py",
            "class SlidingWindowManager(AttentionManager)",
            "class SlidingWindowManager(FullAttentionManager)",
        ),
        (allocation.COMMON_PREFIX,),
        WITHOUT_WINDOWS,
        mixes=_WINDOWS,
    ),
    PlantedFault(
        "chunk-of-the-last-token",
        "The chunk is that of the last computed token, not of the next.",
        "at the boundary of two chunks the wrong one is taken",
        Patch(
            "spec/rules/reach.py",
            "return num_processed - num_processed % reach",
            "return max(0, num_processed - 1 - (num_processed - 1) % reach)",
        ),
        (allocation.HOLDS_NO_MORE, allocation.SKIPPED_ARE_FREED, hit.LONGEST, hit.BLOCKS_COVER_IT),
        WITHOUT_CHUNKS,
        _LOOKUP_FIRST,
        mixes=_CHUNKS,
    ),
    PlantedFault(
        "chunks-slide",
        "Chunks are treated as windows of their length.",
        "a chunk is taken for a window",
        Patch(
            "spec/rules/reach.py",
            "return num_processed - num_processed % reach",
            "return max(0, num_processed - reach + 1)",
        ),
        (allocation.HOLDS_NO_MORE, allocation.SKIPPED_ARE_FREED, hit.LONGEST, hit.BLOCKS_COVER_IT),
        WITHOUT_CHUNKS,
        _LOOKUP_FIRST,
        mixes=_CHUNKS,
    ),
    PlantedFault(
        "chunk-skipped-while-it-is-filled",
        "Chunks are let go block by block.",
        "the first block of the chunk is let go while it is read",
        Patch(
            "spec/rules/reach.py",
            "return num_processed - num_processed % reach",
            "return num_processed",
        ),
        (allocation.COVERS_THE_TOKENS, allocation.SKIPPED_ARE_FREED, hit.LONGEST, hit.BLOCKS_COVER_IT),
        WITHOUT_CHUNKS,
        _LOOKUP_FIRST,
        mixes=_CHUNKS,
    ),
    PlantedFault(
        "empty-chunk-is-no-hit",
        "A hit that ends where a chunk begins is none, since it has no block.",
        "what is not read has to be cached all the same",
        Patch(
            "spec/rules/hits.py",
            "for names in found if names is not None)",
            "for names in found if names)",
        ),
        (hit.LONGEST, hit.JUNCTION),
        WITHOUT_CACHING,
        "beside full attention what is lost shows in the junction",
        mixes=_CHUNKS,
    ),
)
