"""Physical blocks: who holds them, in which order they are used again."""

from .clause import Clause

COUNT_IS_HOLDERS = Clause(
    "Pool/count_is_holders",
    "A block's reference count is the number of its holders: entries of tables, ends of copies that are "
    "queued or not yet released, and pins of hand-offs.",
    "0.1",
)
QUEUED_WHEN_UNHELD = Clause(
    "Pool/queued_when_unheld",
    "The free queue has exactly the blocks that nobody holds, each once, and never the null block.",
    "0.1",
)
TAKEN_FROM_THE_FRONT = Clause(
    "Pool/taken_from_the_front",
    "Blocks are taken from the front of the free queue, which starts in the order of ids; a taken block has "
    "one holder and no key.",
    "0.1",
)
NEVER_MORE_THAN_FREE = Clause(
    "Pool/never_more_than_free",
    "Taking a negative number of blocks, or more than are free, is a ValueError and takes none.",
    "0.1",
)
FREED_TAILS_FIRST = Clause(
    "Pool/freed_tails_first",
    "A free removes one holder from each block in the given order; blocks left without holder go to the "
    "back of the queue, but those without a key as one run to its front. A request's blocks are freed group "
    "by group, the last block of each first.",
    "0.1",
)
FREED_ONCE_PER_HOLDER = Clause(
    "Pool/freed_once_per_holder",
    "Freeing a block more often than it has holders is refused and frees nothing.",
    "0.1",
)
TOUCHED_LEAVES_QUEUE = Clause(
    "Pool/touched_leaves_queue",
    "A touch adds a holder, and a block that had none leaves the free queue.",
    "0.1",
)
EVICT_TAKES_KEYS = Clause(
    "Pool/evict_takes_keys",
    "Evicting takes every key off the named blocks and frees nothing; an id outside the pool is refused by "
    "name.",
    "0.1",
)
RESET_WHEN_IDLE = Clause(
    "Pool/reset_when_idle",
    "Resetting the cache takes every key off every block, if nothing but null and sinks is held; otherwise "
    "it changes nothing and answers False.",
    "0.1",
)
USAGE = Clause(
    "Pool/usage", "Usage is the held share of the blocks other than null, 0.0 when there is none.", "0.1"
)
NO_LEAK = Clause(
    "Pool/no_leak", "Without requests and work under way every block but null and sinks is free.", "0.1"
)
SINKS_STAY = Clause(
    "Pool/sinks_stay",
    "A group with attention sinks takes the blocks for them from the front of the pool when it is made and "
    "is their one holder for ever; they have no key and are in no table.",
    "0.1",
)
