"""What consumers elsewhere are told of the index."""

from .clause import Clause

REPLAY_REBUILDS = Clause(
    "Events/replay_rebuilds",
    "Whoever replays all events from an empty set has exactly the keys of the index after every operation.",
    "0.1",
)
STORED_WHEN_NEW = Clause(
    "Events/stored_when_new",
    "A key is announced stored only when it enters the index: between two of its announcements it was "
    "announced removed, since a consumer that counts holders by announcements would never lose the key "
    "again; a further holder is no event.",
    "0.1",
)
REMOVED_WHEN_GONE = Clause(
    "Events/removed_when_gone",
    "A key is announced removed only when it leaves the index: not while a block has it, and not when its "
    "entry moves.",
    "0.1",
)
PARENTS_KNOWN = Clause(
    "Events/parents_known",
    "The parent of a stored key is the prefix before its block, and is named exactly when it is among the "
    "keys announced and not removed: keys can outlive that prefix, or come without it where blocks are left "
    "out, and a consumer has no place for what hangs on a prefix that it was never told of.",
    "0.1",
)
TELLS_THE_BLOCK = Clause(
    "Events/tells_the_block",
    "A stored key comes with the tokens from its block's start to its end, how many lie before them, the "
    "group and its block size, the adapter, and per unit the extra keys of its hash.",
    "0.1",
)
IN_ORDER = Clause(
    "Events/in_order",
    "Events come in the order of what happened: in one operation what a group loses makes room for what it "
    "stores, and is told first. Among removals that follow each other the order is free.",
    "0.1",
)
CLEARED_BY_RESET = Clause(
    "Events/cleared_by_reset",
    "A reset that took place announces that all is cleared, and nothing more; nothing else announces it.",
    "0.1",
)
TAKEN_ONCE = Clause(
    "Events/taken_once",
    "Taking the events answers each once; without the option there are none.",
    "0.1",
)
