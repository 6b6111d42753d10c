"""Names of prefixes."""

from .clause import Clause

NAMES_THE_PREFIX = Clause(
    "Hash/names_the_prefix",
    "Two prefixes have equal hashes exactly when their tokens and everything else that shapes their KV are "
    "equal, however the requests came to hold them.",
    "0.1",
)
EVERY_FULL_UNIT = Clause(
    "Hash/every_full_unit",
    "A request has one hash for each of its full units, or none at all: then it finds nothing and names "
    "nothing. Another number is refused.",
    "0.1",
)
CANONICAL = Clause(
    "Hash/canonical",
    "A hash is a function of the canonical bytes of parent, tokens and extra keys, and these bytes can be "
    "read back in one way only.",
    "0.1",
)
