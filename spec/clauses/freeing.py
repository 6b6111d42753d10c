"""The end of a request."""

from .clause import Clause

FORGETS_THE_REQUEST = Clause(
    "Free/forgets_the_request",
    "A free releases a request's pins and tables and forgets it; an unknown request has no effect.",
    "0.1",
)
POP_KEEPS_HOLDING = Clause(
    "Free/pop_keeps_holding",
    "Popping a request forgets it but leaves its blocks held by whoever popped them.",
    "0.1",
)
WITHDRAWN_KEYS_GO = Clause(
    "Withdraw/keys_go",
    "Work that will never run leaves no key: what a request published in this pass is taken back when it is "
    "withdrawn; a moved entry stays.",
    "0.1",
)
NOT_WHAT_OTHERS_TOOK = Clause(
    "Withdraw/not_what_others_took",
    "A withdrawal is refused while another request holds a block that was published for it in this pass.",
    "0.1",
)
