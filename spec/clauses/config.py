"""Which deployments the specification covers."""

from .clause import Clause

SIZES_ARE_POSITIVE = Clause(
    "Config/sizes_are_positive",
    "Block sizes, unit, number of blocks, ranks, the length of a model, and how many tokens and requests a "
    "pass may have are whole numbers of at least 1; numbers of what a deployment can do without may be 0.",
    "0.1",
)
SIZES_DIVIDE = Clause(
    "Config/sizes_divide",
    "The hash unit divides every block size, and every block size divides the scheduler block size.",
    "0.1",
)
ONE_STATE_SIZE = Clause(
    "Config/one_state_size",
    "All mamba groups have one block size, because chunks of prefill end on its multiples.",
    "0.1",
)
ONE_STATE_MODE = Clause(
    "Config/one_state_mode",
    "All mamba groups keep their states in one mode, because it says where chunks of prefill have to end.",
    "0.1",
)
RUNNING_STATES_ALONE = Clause(
    "Config/running_states_alone",
    "Mode none keeps the running state only, in the first block of a row, and no state that another request "
    "could go on from: its block covers the model's length, and caching is off.",
    "0.1",
)
CROSS_WITHOUT_CACHING = Clause(
    "Config/cross_without_caching",
    "What cross attention reads was made for one request, and no prefix names it: a group of it has neither "
    "lookups nor keys, so no hit is common to all groups, and beside it caching is off.",
    "0.1",
)
SINKS_ARE_BLOCKS = Clause(
    "Config/sinks_are_blocks", "The sinks of a group fill whole blocks, and the pool has them.", "0.1"
)
CONTEXT_PARALLEL = Clause(
    "Config/context_parallel",
    "With context parallelism a block of attention covers its size times the ranks of decode and prefill, a "
    "state its size; windows and chunks are not spread, prefill over full attention of one spec alone, and "
    "hits end with blocks.",
    "0.1",
)
CHUNKS_OF_ONE_SIZE = Clause(
    "Config/chunks_of_one_size",
    "A deployment with chunked local attention has one block size, and no draft model reads such a group.",
    "0.1",
)
WATERMARK_IS_A_SHARE = Clause(
    "Config/watermark_is_a_share", "The watermark is a share of the pool, at least 0 and below 1.", "0.1"
)
RETENTION_BY_HITS = Clause(
    "Config/retention_by_hits",
    "A retention interval is a multiple of the scheduler block size, or 0: then only boundaries that are "
    "known to be asked for are kept.",
    "0.1",
)
DRAFTS_WITHIN_A_BLOCK = Clause(
    "Config/drafts_within_a_block",
    "A mamba group has fewer speculative blocks than a block has tokens: after rejected drafts its running "
    "state would else belong into an entry that was given away.",
    "0.1",
)
COVERED = Clause(
    "Config/covered",
    "A deployment or an argument that this version of the specification does not describe is refused.",
    "0.1",
)
