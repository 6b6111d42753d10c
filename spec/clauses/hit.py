"""Lookups."""

from .clause import Clause

LEAVES_A_TOKEN = Clause(
    "Hit/leaves_a_token", "A hit is shorter than the request: its last token is always computed.", "0.1"
)
ALIGNED = Clause(
    "Hit/aligned",
    "A hit is a multiple of the alignment: the hash unit when hits are fine-grained, the block size of a "
    "single "
    "kind, else the scheduler block size.",
    "0.1",
)
BLOCKS_COVER_IT = Clause(
    "Hit/blocks_cover_it",
    "In every group the hit has exactly the blocks that cover it, null where nothing will be read.",
    "0.1",
)
LONGEST = Clause(
    "Hit/longest",
    "A hit is the longest prefix that every group can answer: full attention by keys of all blocks before "
    "its "
    "last and a key of its last, a mamba group by one state at its end.",
    "0.1",
)
EAGLE_DROPS_ONE = Clause(
    "Hit/eagle_drops_one",
    "Full attention that a draft model reads gives up one unit of its hit when fine-grained, else one block, "
    "once; states give up nothing.",
    "0.1",
)
JUNCTION = Clause(
    "Hit/junction",
    "The longest prefix that some kind had and the common hit lost is reported, 0 where none is longer.",
    "0.1",
)
DIVERGENT = Clause(
    "Hit/divergent",
    "For a connector each kind is asked alone: if none is deeper than full attention, its hit is reported "
    "and "
    "whether another lags; otherwise, and where there is no full attention or no state, the common hit.",
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
