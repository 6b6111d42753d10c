"""Copy on write, hand-offs, and what one pass may read of itself."""

from .clause import Clause

CONSUMER_GETS_PRIVATE_BLOCK = Clause(
    "Copy/consumer_gets_private_block",
    "A hit that ends inside a block gives the request a private block without keys in its place; the copy "
    "is queued, and both ends are held until it has run.",
    "0.1",
)
OWNER_KEEPS_ITS_BLOCK = Clause(
    "Copy/owner_keeps_its_block",
    "A mamba request that continues past its own partial entry keeps its block; the entry moves to a "
    "private block that a copy fills, unless it has lost its keys by then.",
    "0.1",
)
DRAINED_IN_ORDER = Clause(
    "Copy/drained_in_order",
    "Draining hands over each queued copy once, group by group in the order queued, with the blocks to "
    "release once it has run.",
    "0.1",
)
SAME_PASS_WAITS = Clause(
    "Copy/same_pass_waits",
    "A request may not start from a block that this pass still fills: the last block of a mamba hit, or the "
    "block in which a hit ends. It is answered None until the next pass.",
    "0.1",
)
HAND_OFF = Clause(
    "HandOff/once_and_pinned",
    "The private block of a moved entry can be taken once, with its length, and is held until the request "
    "is freed.",
    "0.1",
)
HAND_OFF_DIES_WITH_REQUEST = Clause(
    "HandOff/dies_with_request", "Of a request freed before, nothing is handed over.", "0.1"
)
