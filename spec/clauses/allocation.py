"""Slots for tokens."""

from .clause import Clause

ASKS_FOR_SOMETHING = Clause(
    "Allocate/asks_for_something",
    "A request for no new token is a ValueError, unless others have computed some for it, and so is one for "
    "a negative number or past the model's length.",
    "0.1",
)
FITS_THE_HIT = Clause(
    "Allocate/fits_the_hit",
    "Without tables nothing is computed. A hit, and what others have computed after it, is taken once, by a "
    "request without tables; it has in every group the blocks that the next step reads, and a load begins "
    "with blocks. Else the call is refused.",
    "0.1",
)
LOAD_LEAVES_A_TOKEN = Clause(
    "Allocate/load_leaves_a_token",
    "What others have computed is shorter than the request: the last token is computed here, and would else "
    "be written into a block that may be shared already.",
    "0.1",
)
SKIPPED_ARE_FREED = Clause(
    "Allocate/skipped_are_freed",
    "First, entries that no later step reads become null and lose this holder, the last first, judged by "
    "the tokens whose steps are processed. With a reference window these lie between the prompt and the "
    "window.",
    "0.1",
)
PREDICTION_IS_EXACT = Clause(
    "Allocate/prediction_is_exact",
    "A call answers None for want of blocks exactly when it would take more from the free queue than is "
    "free, less what is reserved: new blocks, those for what others have computed, hit blocks in the queue, "
    "and one for each copy.",
    "0.1",
)
WHOLE_SEQUENCE_FITS = Clause(
    "Allocate/whole_sequence_fits",
    "Where the full sequence must fit, a call answers None too when the request could not take all its "
    "tokens: windows and chunks count for what they hold at a time, with what is in flight.",
    "0.1",
)
WATERMARK = Clause(
    "Allocate/watermark",
    "The watermark's share of the pool, rounded down, stays free of requests that wait while others are "
    "scheduled in the pass.",
    "0.1",
)
LISTS_NEW_BLOCKS = Clause(
    "Allocate/lists_new_blocks",
    "Where the worker zeroes, each block that a group of attention hands out is listed once, in order; one "
    "that an asynchronous load fills is not, unless the load fails: then it is recorded again, from a block "
    "boundary on.",
    "0.1",
)
ENCODER_ONCE = Clause(
    "Allocate/encoder_once",
    "A request's first call gives cross attention the blocks that cover the encoder's tokens, which are its "
    "alone, and no later call gives it any; neither hits nor what others have computed take any there.",
    "0.1",
)
NONE_CHANGES_NOTHING = Clause(
    "Allocate/none_changes_nothing",
    "A call that answers None has changed nothing but the entries it skipped.",
    "0.1",
)
HITS_BEFORE_NEW = Clause(
    "Allocate/hits_before_new", "All groups hold their hit blocks before any group takes new ones.", "0.1"
)
ANSWERS_NEW_ENTRIES = Clause(
    "Allocate/answers_new_entries",
    "The answer has, per group, the private block of the request's own hit and every entry appended to its "
    "row, and nothing for an entry that moved away.",
    "0.1",
)
TABLES_APPEND_ONLY = Clause(
    "Allocate/tables_append_only",
    "While a request runs an entry of its table keeps its block, or becomes null once no step reads it.",
    "0.1",
)
COVERS_THE_TOKENS = Clause(
    "Allocate/covers_the_tokens",
    "After a call the tables have a place for all that its step reads and writes: attention for each such "
    "position, a mamba group for the state before the first token, after the last, and for its speculative "
    "successors.",
    "0.1",
)
HOLDS_NO_MORE = Clause(
    "Allocate/holds_no_more",
    "A request holds no more blocks than its tokens need: windows and chunks none before what the step "
    "reads, a reference window none in its gap but those of its hit until the next call, a mamba group the "
    "state it starts from, the running one and the speculative ones.",
    "0.1",
)
FULL_BLOCKS_BECOME_KEYS = Clause(
    "Cache/full_blocks_become_keys",
    "Blocks filled with final tokens become keys in order, each once, up to the last multiple of the "
    "alignment; an EAGLE group goes one block further. Of windows that leave gaps between the lengths of "
    "hits, only blocks that a hit can read; with a retention interval, of windows and states, only those "
    "that a hit at the end of an interval reads, at the prompt's last token or at a junction.",
    "0.1",
)
KEYS_BEFORE_THE_GAP = Clause(
    "Cache/keys_before_the_gap",
    "With a reference window no group makes a key of more than the prompt, the window and one token, and no "
    "hit is longer: the KV behind that depends on where the request's prompt ends, which no key says.",
    "0.1",
)
PARTIAL_PROMPT_END = Clause(
    "Cache/partial_prompt_end",
    "With fine-grained hits the prompt's last unit boundary inside a block becomes a key once per holding: "
    "in attention by the first call that reaches it, for a state only when the chunk ends on it. A request "
    "that goes on with a longer prompt has that prompt's end from then on; in attention the next call names "
    "it even if the keys have passed it.",
    "0.1",
)
RESEND_BOUNDARIES = Clause(
    "Cache/resend_boundaries",
    "With that option the longest prefix that the same prompt could hit becomes a key too, a chunk ends on "
    "it, and so a prompt that is sent again right after it was freed hits there.",
    "0.1",
)
COMMON_PREFIX = Clause(
    "Cache/common_prefix",
    "With caching on, common prefix blocks of full attention are the leading blocks that every request with "
    "a table holds; other kinds have none.",
    "0.1",
)
