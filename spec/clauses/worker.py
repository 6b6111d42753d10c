"""What the model reads: the purpose of all other clauses."""

from .clause import Clause

READS_ITS_PREFIX = Clause(
    "Worker/reads_its_prefix",
    "Every position that a step reads holds the KV or state of exactly the request's prefix.",
    "0.1",
)
KEYS_TELL_THE_TRUTH = Clause(
    "Worker/keys_tell_the_truth",
    "Once the queued work has run, every key in the index names a block that holds that very prefix.",
    "0.1",
)
STATES_OF_DRAFTS = Clause(
    "Worker/states_of_drafts",
    "In every mode a step that verifies drafts writes the state after its last known token into the entry "
    "in which its tokens end with the drafts, and that after each draft one entry further, each into a "
    "block of its own. The request goes on from the state of its last right draft; the states at block "
    "boundaries that its right tokens pass are put into the entries of these.",
    "0.1",
)
INVALID_LOADS = Clause(
    "Worker/invalid_loads",
    "A load in a step may turn out invalid from some token on when the step is processed. Then, before "
    "anything else, the keys of all blocks from there on are evicted: of that request, of whoever holds one "
    "of these or a copy of it, and of what they have computed behind it. Such requests take in nothing of "
    "their steps and lose their blocks; they find what was valid when they come back, and compute the rest.",
    "0.1",
)
WRITES_ALONE = Clause(
    "Worker/writes_alone",
    "No block that a request can still write is one that another request, a copy under way or a hand-off "
    "reads.",
    "0.1",
)
IN_FLIGHT_IS_HELD = Clause(
    "Worker/in_flight_is_held",
    "A block that a dispatched step reads or writes is not free before that step is processed, and nobody "
    "is given it.",
    "0.1",
)
TABLES_AGREE = Clause(
    "Worker/tables_agree",
    "The append-only table that a worker keeps has the manager's block wherever the manager's entry is not "
    "null.",
    "0.1",
)
HAND_OFF_IS_THE_STATE = Clause(
    "Worker/hand_off_is_the_state",
    "A block that is handed over holds the state of the request's prefix at the length given.",
    "0.1",
)
