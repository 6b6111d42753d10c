"""Where a chunk of prefill ends when recurrent states are cached at block boundaries."""

from .sizes import floor_to


def chunk_tokens(
    start: int,
    num_new_tokens: int,
    num_prompt_tokens: int,
    num_tokens: int,
    block_size: int,
    max_step_tokens: int,
    is_eagle: bool,
    junction: int,
    boundary: int,
    resent: int = 0,
    drafted: int = 0,
) -> int:
    """How many of ``num_new_tokens`` tokens from ``start`` on to compute now (clauses Chunk/...).

    ``max_step_tokens`` is the most that one step may ever give a request, ``junction`` a shared
    prefix worth a state, ``boundary`` the length of the prompt's partial entry, ``resent`` the longest
    prefix that the same prompt could hit, ``drafted`` where the longest step of drafts ended; 0 where there
    is none. 0 means: wait for a step with more room.
    """
    end = start + num_new_tokens
    prefill_end = max(num_prompt_tokens, num_tokens - 1)
    if start >= prefill_end:
        return num_new_tokens
    if end < prefill_end:
        whole_blocks = floor_to(end, block_size)
        if whole_blocks > start or block_size <= max_step_tokens:
            end = max(start, whole_blocks)
    last_state = max(0, floor_to(num_tokens, block_size) - (block_size if is_eagle else 0))
    stops = [last_state, resent]
    # Up to there entries may have states of rejected drafts: each is written before it is passed.
    if start % block_size or start < drafted:
        stops.append(floor_to(start, block_size) + block_size)
    if last_state < boundary < num_prompt_tokens:
        stops.append(boundary)
    if start < junction < end:
        stops.append(start + floor_to(junction - start, block_size))
    return min([stop for stop in stops if start < stop < end], default=end) - start
