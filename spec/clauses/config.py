"""Which deployments the specification covers."""

from .clause import Clause

SIZES_ARE_POSITIVE = Clause(
    "Config/sizes_are_positive",
    "Block sizes, unit and number of blocks are whole numbers of at least 1; speculative blocks may be none.",
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
CHUNKS_OF_ONE_SIZE = Clause(
    "Config/chunks_of_one_size",
    "A deployment with chunked local attention has one block size, and no draft model reads such a group.",
    "0.1",
)
COVERED = Clause(
    "Config/covered",
    "A deployment or an argument that this version of the specification does not describe is refused.",
    "0.1",
)
