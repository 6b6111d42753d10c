"""What a step reads begins where the kind says, and what no step reads any more is skipped, and only that.

The statements are about one position or one entry of a row, whichever it is. Entry i is the place of tokens
``[i * B, (i + 1) * B)``.
"""

from itertools import product

from pagedkv.spec.clauses import allocation
from pagedkv.spec.rules.reach import Reads, first_read, gap_entries, shared_length, skipped_entries

from .answers import is_read
from .contract import Contract

# Positions


def _judge_first(reads: Reads, position: int, num_processed: int, reach: int) -> None:
    first = first_read(reads, num_processed, reach)
    assert 0 <= first <= num_processed, f"{first}"
    assert (position >= first) == is_read(reads, position, num_processed, reach), f"{first}"


def a_step_reads_its_window(position: int, num_processed: int, reach: int) -> None:
    """The step's own token is one of the window."""
    assert 0 <= position < num_processed and reach >= 1
    _judge_first("window", position, num_processed, reach)


def a_step_reads_its_chunk(position: int, num_processed: int) -> None:
    """Chunks of 6 tokens; the chunk is that of the step's own token."""
    assert 0 <= position < num_processed
    _judge_first("chunk", position, num_processed, 6)


def a_step_reads_its_chunk_of_any_length(position: int, num_processed: int, reach: int) -> None:
    """The same for every small chunk."""
    assert 0 <= position < num_processed and 1 <= reach <= 4
    _judge_first("chunk", position, num_processed, reach)


def a_step_reads_the_last_state(position: int, num_processed: int) -> None:
    """The state after the last token, and no other."""
    assert 0 <= position < num_processed
    _judge_first("state", position, num_processed, 0)


def a_step_reads_the_whole_prefix(position: int, num_processed: int) -> None:
    """Full attention."""
    assert 0 <= position < num_processed
    _judge_first("prefix", position, num_processed, 0)


# Entries


def _is_needed(reads: Reads, position: int, num_processed: int, reach: int) -> bool:
    """Whether the position is still written, or the next step reads it."""
    return position >= num_processed or is_read(reads, position, num_processed, reach)


def _judge_skipped(reads: Reads, num_processed: int, reach: int, entry: int, block_size: int) -> None:
    skipped = skipped_entries(reads, num_processed, reach, block_size)
    positions = [entry * block_size + i for i in range(block_size)]
    is_needed = any(_is_needed(reads, position, num_processed, reach) for position in positions)
    assert (entry >= skipped) == is_needed, f"{skipped}"


def entries_before_the_window_are_skipped(num_processed: int, reach: int, entry: int) -> None:
    """Blocks of 4 tokens."""
    assert num_processed >= 0 and reach >= 1 and entry >= 0
    _judge_skipped("window", num_processed, reach, entry, 4)


def entries_before_the_chunk_are_skipped(num_processed: int, entry: int) -> None:
    """Blocks of 4 tokens, of which chunks of 6 begin inside."""
    assert num_processed >= 0 and entry >= 0
    _judge_skipped("chunk", num_processed, 6, entry, 4)


def entries_before_a_chunk_inside_a_block_are_skipped(num_processed: int, entry: int) -> None:
    """Blocks of 4 tokens with two chunks each."""
    assert num_processed >= 0 and entry >= 0
    _judge_skipped("chunk", num_processed, 2, entry, 4)


def entries_before_the_last_state_are_skipped(num_processed: int, entry: int) -> None:
    """Blocks of 4 tokens."""
    assert num_processed >= 0 and entry >= 0
    _judge_skipped("state", num_processed, 0, entry, 4)


def entries_of_one_token_are_skipped(num_processed: int, reach: int, entry: int, is_window: bool) -> None:
    """Windows and states again, with blocks of one token."""
    assert num_processed >= 0 and reach >= 1 and entry >= 0
    _judge_skipped("window" if is_window else "state", num_processed, reach, entry, 1)


def entries_of_attention_are_never_skipped(num_processed: int, block_size: int) -> None:
    """Every later step reads every position."""
    assert num_processed >= 0 and block_size >= 1
    skipped = skipped_entries("prefix", num_processed, 0, block_size)
    assert skipped == 0, f"{skipped}"


def _judge_gap(num_prompt: int, num_processed: int, reach: int, entry: int, block_size: int) -> None:
    gap = gap_entries(num_prompt, num_processed, reach, block_size)
    positions = [entry * block_size + i for i in range(block_size)]
    is_dead = all(num_prompt <= position < num_processed - reach for position in positions)
    assert (entry in gap) == is_dead, f"{gap}"


def entries_between_prompt_and_window_are_skipped(
    num_prompt: int, num_processed: int, reach: int, entry: int
) -> None:
    """Blocks of 4 tokens; an entry with a token of the prompt or of the window stays."""
    assert num_prompt >= 1 and num_processed >= 0 and reach >= 1 and entry >= 0
    _judge_gap(num_prompt, num_processed, reach, entry, 4)


def entries_of_one_token_between_prompt_and_window_are_skipped(
    num_prompt: int, num_processed: int, reach: int, entry: int
) -> None:
    """The same with blocks of one token."""
    assert num_prompt >= 1 and num_processed >= 0 and reach >= 1 and entry >= 0
    _judge_gap(num_prompt, num_processed, reach, entry, 1)


def tokens_that_see_all_before_them_are_shared(
    num_prompt: int, position: int, reach: int, before: int
) -> None:
    """``before`` is any position before ``position``; with one out of sight nothing more is shared."""
    assert num_prompt >= 1 and reach >= 1 and 0 <= before < position
    shared = shared_length(num_prompt, reach)
    is_seen = before < num_prompt or position - before <= reach
    assert position >= shared or is_seen, f"{shared}"


def no_token_behind_the_shared_ones_sees_all(num_prompt: int, position: int, reach: int) -> None:
    """The first position behind the prompt is the first that is not read."""
    assert num_prompt >= 1 and reach >= 1 and position > num_prompt
    shared = shared_length(num_prompt, reach)
    assert (position < shared) == (position - num_prompt <= reach), f"{shared}"


# Later steps


def a_window_never_goes_back(position: int, num_processed: int, later: int, reach: int) -> None:
    """What the next step does not read no later one does."""
    assert 0 <= position < num_processed <= later and reach >= 1
    first = first_read("window", num_processed, reach)
    assert position >= first or not is_read("window", position, later, reach), f"{first}"


def a_chunk_never_goes_back(position: int, num_processed: int, later: int) -> None:
    """The same of chunks of 6 tokens."""
    assert 0 <= position < num_processed <= later
    first = first_read("chunk", num_processed, 6)
    assert position >= first or not is_read("chunk", position, later, 6), f"{first}"


CONTRACTS = (
    *(
        Contract(
            check,
            first_read,
            (allocation.SKIPPED_ARE_FREED, allocation.COVERS_THE_TOKENS),
            lambda: product(range(12), range(14), range(1, 16)),
        )
        for check in (a_step_reads_its_window, a_step_reads_its_chunk_of_any_length)
    ),
    *(
        Contract(
            check,
            first_read,
            (allocation.SKIPPED_ARE_FREED, allocation.COVERS_THE_TOKENS),
            lambda: product(range(20), range(20)),
        )
        for check in (a_step_reads_its_chunk, a_step_reads_the_last_state, a_step_reads_the_whole_prefix)
    ),
    *(
        Contract(
            check,
            gap_entries,
            (allocation.SKIPPED_ARE_FREED,),
            lambda: product(range(1, 10), range(24), range(1, 6), range(8)),
        )
        for check in (
            entries_between_prompt_and_window_are_skipped,
            entries_of_one_token_between_prompt_and_window_are_skipped,
        )
    ),
    Contract(
        tokens_that_see_all_before_them_are_shared,
        shared_length,
        (allocation.KEYS_BEFORE_THE_GAP,),
        lambda: product(range(1, 8), range(16), range(1, 6), range(16)),
    ),
    Contract(
        no_token_behind_the_shared_ones_sees_all,
        shared_length,
        (allocation.KEYS_BEFORE_THE_GAP,),
        lambda: product(range(1, 8), range(16), range(1, 6)),
    ),
    Contract(
        entries_before_the_window_are_skipped,
        skipped_entries,
        (allocation.SKIPPED_ARE_FREED,),
        lambda: product(range(20), range(1, 12), range(6)),
    ),
    *(
        Contract(
            check,
            skipped_entries,
            (allocation.SKIPPED_ARE_FREED,),
            lambda: product(range(30), range(8)),
        )
        for check in (
            entries_before_the_chunk_are_skipped,
            entries_before_a_chunk_inside_a_block_are_skipped,
            entries_before_the_last_state_are_skipped,
        )
    ),
    Contract(
        entries_of_one_token_are_skipped,
        skipped_entries,
        (allocation.SKIPPED_ARE_FREED,),
        lambda: product(range(12), range(1, 6), range(12), (False, True)),
    ),
    Contract(
        entries_of_attention_are_never_skipped,
        skipped_entries,
        (allocation.SKIPPED_ARE_FREED,),
        lambda: product(range(50), range(1, 5)),
    ),
    Contract(
        a_window_never_goes_back,
        first_read,
        (allocation.SKIPPED_ARE_FREED,),
        lambda: product(range(8), range(10), range(12), range(1, 8)),
    ),
    Contract(
        a_chunk_never_goes_back,
        first_read,
        (allocation.SKIPPED_ARE_FREED,),
        lambda: product(range(14), range(16), range(16)),
    ),
)
