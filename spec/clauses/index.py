"""Who owns a key."""

from .clause import Clause

BOTH_WAYS = Clause(
    "Index/both_ways",
    "The index has exactly the keys that blocks have, and lists for each key exactly the blocks that have "
    "it. What cannot be the number of a group is refused.",
    "0.1",
)
LONGEST_HOLDER_ANSWERS = Clause(
    "Index/longest_holder_answers",
    "A lookup answers with the block that has held the key longest, and with nothing if one of the groups "
    "asked holds it nowhere.",
    "0.1",
)
PROMOTION = Clause(
    "Index/promotion",
    "A block with keys takes a longer prefix as its primary key. Where blocks only grow (attention) the "
    "earlier keys stay true and stay; where they are overwritten (states) they are false now and go first. "
    "A full key for a block whose primary covers as much already is refused, and so is one for a block that "
    "the same call names twice.",
    "0.1",
)
PARTIAL_ENTRY = Clause(
    "Index/partial_entry",
    "A block may be named by a unit boundary inside it, as its primary key if it has none or a shorter one, "
    "else as a secondary; a length that is not such a boundary, or not hashed yet, is refused.",
    "0.1",
)
MOVE_TAKES_ALL = Clause(
    "Index/move_takes_all",
    "A move gives a block without keys every key of another, the primary's length included, as their newest "
    "holder, and leaves the other none.",
    "0.1",
)
KEYS_STAY = Clause(
    "Index/keys_stay",
    "A key leaves a block only when the block is taken for reuse, evicted, reset, moved from, withdrawn or, "
    "for a state, promoted.",
    "0.1",
)
