"""What the scheduler does with requests."""

from .clause import Clause

LOOKUP_BY_CONNECTOR = Clause(
    "Schedule/lookup_by_connector",
    "Only a connector that can use them is given divergent hits.",
    "0.1",
)
LOADS_FROM_BLOCKS_ON = Clause(
    "Schedule/loads_from_blocks_on",
    "Where a connector has more than the hit, that is loaded: from where blocks of all groups last end "
    "inside the hit, which is cut there.",
    "0.1",
)
RELEASED_WHEN_PROCESSED = Clause(
    "Schedule/released_when_processed",
    "Ends of copies are released at once when their step is processed, else behind a fence.",
    "0.1",
)
FREED_IN_ORDER = Clause(
    "Schedule/freed_in_order",
    "With steps in flight, blocks that one of them uses return once it is processed: first in first out, "
    "and each request's in the order that an immediate free would have used.",
    "0.1",
)
SETTLED_IN_ORDER = Clause(
    "Schedule/settled_in_order",
    "No more steps are in flight than allowed; they are settled in the order in which they were made, each "
    "with the tokens that it was to give: one for each request that reached its end, and accepted drafts.",
    "0.1",
)
DRAFTS_HAVE_PLACES = Clause(
    "Schedule/drafts_have_places",
    "A request is given no more drafts than each group of states, in whatever mode, has speculative blocks: "
    "the state after a further one would be written over another's. More are refused.",
    "0.1",
)
ARRIVES_ONCE = Clause(
    "Schedule/arrives_once",
    "A request that is known already, or has computed tokens, is refused when it arrives.",
    "0.1",
)
NEVER_FITS = Clause(
    "Schedule/never_fits",
    "A request that is longer than the model allows, or may need more blocks at a time than the pool has, "
    "is refused when it arrives; no other is.",
    "0.1",
)
ASKS_FOR_ALL = Clause(
    "Schedule/asks_for_all",
    "Each call asks for the places that draft models need beyond its tokens; an admission also for those of "
    "what an encoder made and, where that is wanted, for room for all its tokens, and it says whether "
    "others are scheduled in the pass.",
    "0.1",
)
VERIFIES_DRAFTS = Clause(
    "Schedule/verifies_drafts",
    "Guesses of the tokens after the next one are computed with it, as many as budget and output have room "
    "for; those before the first wrong one are accepted, and the rest is computed again.",
    "0.1",
)
WITHIN_BUDGET = Clause(
    "Schedule/within_budget",
    "A pass gives out no more tokens than its budget, and no more requests run than may.",
    "0.1",
)
RUNNING_FIRST = Clause(
    "Schedule/running_first",
    "Before anyone is admitted those that run are asked, in the order in which they were admitted.",
    "0.1",
)
IN_TURN = Clause(
    "Schedule/in_turn",
    "Who waits is admitted in order of arrival, the preempted before all others and the latest of them "
    "first; under priorities the lowest number first, then by arrival.",
    "0.1",
)
LAST_GIVES_WAY = Clause(
    "Schedule/last_gives_way",
    "When a running request gets no slots, the last admitted gives way, under priorities the one with the "
    "highest number, then the latest to arrive; if it is still the asker's turn, the asker asks again.",
    "0.1",
)
SPARES_WHAT_OTHERS_TOOK = Clause(
    "Schedule/spares_what_others_took",
    "Nobody gives way of whose keys of this pass another request holds a block: the next in order does.",
    "0.1",
)
WITHDRAWS_ITS_PASS = Clause(
    "Schedule/withdraws_its_pass",
    "Who gives way in a pass that had scheduled it is withdrawn: nothing of it is sent, and its tokens go "
    "back to the budget.",
    "0.1",
)
NOBODY_AFTER_PREEMPTION = Clause(
    "Schedule/nobody_after_preemption",
    "In a pass in which somebody gave way nobody is admitted.",
    "0.1",
)
SHORTER_HIT = Clause(
    "Schedule/shorter_hit",
    "A request whose hit does not fit although nothing else runs is admitted with less of it, down to none.",
    "0.1",
)
EVERYBODY_ENDS = Clause(
    "Schedule/everybody_ends",
    "No request that was taken waits for ever: some token is computed in the end, and every request ends.",
    "0.1",
)
