"""Lookups."""

from .clause import Clause

LEAVES_A_TOKEN = Clause(
    "Hit/leaves_a_token", "A hit is shorter than the request: its last token is always computed.", "0.1"
)
ALIGNED = Clause(
    "Hit/aligned",
    "A hit is a multiple of the alignment: the hash unit when hits are fine-grained, the block size of a "
    "single kind, else the scheduler block size.",
    "0.1",
)
BLOCKS_COVER_IT = Clause(
    "Hit/blocks_cover_it",
    "In every group the hit has exactly the blocks that cover it, null where nothing will be read.",
    "0.1",
)
LONGEST = Clause(
    "Hit/longest",
    "A hit is the longest prefix that every group can answer: by a key for each block that the next step "
    "reads. That is every block in full attention, those in the window or chunk of the next token, or the "
    "one state at the end.",
    "0.1",
)
EAGLE_DROPS_ONE = Clause(
    "Hit/eagle_drops_one",
    "Attention that a draft model reads gives up one unit of its hit when fine-grained, else one block, "
    "once: that must be cached as well; states give up nothing.",
    "0.1",
)
JUNCTION = Clause(
    "Hit/junction",
    "The longest prefix of the kind that is asked first, full attention before others, is reported where "
    "the common hit is shorter, else 0.",
    "0.1",
)
DIVERGENT = Clause(
    "Hit/divergent",
    "For a connector each kind is asked alone: if none is deeper than full attention, its hit is reported "
    "and whether another lags; otherwise, and where there is no full attention or no state, the common hit.",
    "0.1",
)
READ_ONLY = Clause("Hit/read_only", "A lookup, a view of blocks and a truncation change nothing.", "0.1")
OFF = Clause(
    "Hit/off",
    "With caching off, or for a request that must not read the cache, every lookup is empty.",
    "0.1",
)
TRUNCATION = Clause(
    "Hit/truncation",
    "A hit can be cut at a multiple of every block size; groups other than mamba must cover the cut.",
    "0.1",
)
