"""A chunk of prefill ends where a state is kept, and passes no place where one must be.

Places are lengths in tokens. A chunk of n tokens covers ``[start, start + n)`` of what is offered. Blocks
have 6 tokens, units 2. Each statement has as few free arguments as it can, so that a search ends;
together they cover a prompt and a request that is computed again past its prompt.
"""

from collections.abc import Callable

from pagedkv.spec.clauses import Clause, allocation, chunk
from pagedkv.spec.rules.chunks import chunk_tokens

from .contract import Contract
from .steps import (
    BLOCK,
    Step,
    block_ends_within,
    is_junction_stop,
    is_last_state,
    is_partial_stop,
    steps,
    steps_and_places,
    steps_and_units,
)


def _chunk(step: Step, resent: int = 0, drafted: int = 0) -> int:
    return chunk_tokens(
        step.start,
        step.offered,
        step.num_prompt,
        step.num_tokens,
        BLOCK,
        step.max_step,
        step.is_eagle,
        step.junction,
        step.boundary,
        resent,
        drafted,
    )


# What is not prefill


def decode_is_not_cut(step: Step) -> None:
    """A request whose prefill is done gets what is offered."""
    assert step.start >= step.num_prompt and step.start >= step.num_tokens - 1
    length = _chunk(step)
    assert length == step.offered, f"{length}"


# Which places a chunk does not pass


def _judge_stop(step: Step, place: int) -> None:
    length = _chunk(step)
    assert step.start + length <= place, f"{length}"


def chunk_passes_no_last_state(step: Step, place: int) -> None:
    """The last block boundary of all tokens is the last state that another request can ask for."""
    assert step.is_in_prompt and not step.is_eagle and place > step.start and is_last_state(step, place)
    _judge_stop(step, place)


def chunk_passes_no_last_state_for_eagle(step: Step, place: int) -> None:
    """With EAGLE it is the block boundary before that."""
    assert step.is_in_prompt and step.is_eagle and place > step.start and is_last_state(step, place)
    assert step.has_no_stops
    _judge_stop(step, place)


def resumed_chunk_passes_no_last_state(step: Step, place: int) -> None:
    """The same past the prompt."""
    assert step.is_resumed and place > step.start and is_last_state(step, place)
    _judge_stop(step, place)


def chunk_closes_a_started_block(step: Step, place: int) -> None:
    """A chunk that starts inside a block does not pass the end of that block."""
    assert step.is_in_prompt and place % BLOCK == 0 and step.start < place < step.start + BLOCK
    assert step.boundary == 0
    _judge_stop(step, place)


def resumed_chunk_closes_a_started_block(step: Step, place: int) -> None:
    """The same past the prompt."""
    assert step.is_resumed and place % BLOCK == 0 and step.start < place < step.start + BLOCK
    _judge_stop(step, place)


def chunk_passes_no_partial_entry(step: Step) -> None:
    """The last unit boundary of the prompt has a key, unless a last state lies behind it."""
    assert step.is_in_prompt and step.has_partial_entry and step.boundary > step.start and step.junction == 0
    assert is_partial_stop(step, step.boundary)
    _judge_stop(step, step.boundary)


def chunk_passes_no_junction(step: Step, place: int) -> None:
    """A shared prefix that another kind lost gets a state, as many whole blocks on as fit before it."""
    assert step.is_in_prompt and 0 <= step.junction < step.num_tokens and is_junction_stop(step, place)
    _judge_stop(step, place)


def chunk_passes_no_resent_prefix(step: Step, place: int) -> None:
    """The longest prefix that the same prompt could hit gets a state."""
    assert step.is_in_prompt and step.has_no_stops and step.start < place < step.num_prompt
    length = _chunk(step, place)
    assert step.start + length <= place, f"{length}"


def chunk_passes_no_state_of_drafts(step: Step, place: int) -> None:
    """Up to where drafts had states every block boundary gets one of its own."""
    assert step.is_in_prompt and step.has_no_stops and step.start < place
    length = _chunk(step, drafted=place)
    assert not any(end % BLOCK == 0 for end in range(step.start + 1, step.start + length)), f"{length}"


def chunk_is_not_cut_for_drafts_behind(step: Step, place: int) -> None:
    """Drafts that the request has passed cut nothing."""
    assert step.is_in_prompt and step.has_no_stops and 0 <= place <= step.start
    length = _chunk(step, drafted=place)
    assert length == _chunk(step), f"{length}"


# Where it ends


def _judge_end(step: Step, resent: int = 0) -> None:
    """A part of the offer; if not all, it ends where a state is kept or with the last block offered."""
    length = _chunk(step, resent)
    end = step.start + length
    assert 0 <= length <= step.offered, f"{length}"
    if 0 < length < step.offered:
        ends_block = end % BLOCK == 0
        is_last_block = ends_block and not step.is_last and not block_ends_within(end, step.offer_end)
        closes_block = ends_block and step.start % BLOCK != 0 and length < BLOCK
        is_stop = is_last_state(step, end) or is_partial_stop(step, end) or is_junction_stop(step, end)
        assert is_last_block or closes_block or is_stop or end == resent, f"{length}"


def chunk_is_cut_for_a_state(step: Step) -> None:
    """Without partial entry and junction."""
    assert step.is_in_prompt and step.has_no_stops
    _judge_end(step)


def resumed_chunk_is_cut_for_a_state(step: Step) -> None:
    """The same past the prompt."""
    assert step.is_resumed and step.has_no_stops
    _judge_end(step)


def chunk_is_cut_for_a_partial_entry(step: Step) -> None:
    """With a partial entry ahead."""
    assert step.is_in_prompt and step.has_partial_entry and step.start < step.boundary
    assert not step.is_eagle and step.junction == 0
    _judge_end(step)


def chunk_is_cut_for_a_junction(step: Step) -> None:
    """With a junction ahead."""
    assert (
        step.is_in_prompt and step.start < step.junction < step.offer_end and step.junction < step.num_tokens
    )
    assert not step.is_eagle and step.boundary == 0
    _judge_end(step)


def chunk_is_cut_for_a_resent_prefix(step: Step, place: int) -> None:
    """With a prefix ahead, or behind, that the same prompt could hit."""
    assert step.is_in_prompt and step.has_no_stops and 0 <= place < step.num_prompt
    _judge_end(step, place)


def chunk_is_cut_for_one_of_all_stops(step: Step) -> None:
    """With everything that can stop it."""
    assert step.is_in_prompt and (step.boundary == 0 or step.has_partial_entry)
    assert 0 <= step.junction < step.num_tokens
    _judge_end(step)


def chunk_is_cut_back_to_a_block(step: Step) -> None:
    """An offer that passes a block boundary, but ends inside a block of the prompt, is not used up."""
    assert step.is_in_prompt and step.has_no_stops
    assert step.offer_end < step.num_prompt and step.offer_end % BLOCK != 0
    assert block_ends_within(step.start, step.offer_end)
    length = _chunk(step)
    assert length < step.offered, f"{length}"


# Waiting


def chunk_waits_for_a_boundary(step: Step) -> None:
    """Nothing is computed if no boundary is within the offer, but one would be within a longer step."""
    assert step.is_in_prompt and step.offer_end < step.num_prompt and step.max_step >= BLOCK
    assert not block_ends_within(step.start, step.offer_end)
    length = _chunk(step)
    assert length == 0, f"{length}"


def resumed_chunk_waits_for_a_boundary(step: Step) -> None:
    """The same past the prompt."""
    assert step.is_resumed and step.offer_end < step.num_tokens - 1 and step.max_step >= BLOCK
    assert not block_ends_within(step.start, step.offer_end)
    length = _chunk(step)
    assert length == 0, f"{length}"


def _judge_progress(step: Step) -> None:
    """Neither partial entry nor junction can hold a chunk back."""
    length = _chunk(step)
    assert length > 0, f"{length}"


def chunk_to_a_boundary_progresses(step: Step) -> None:
    """An offer that reaches a block boundary is used."""
    assert step.is_in_prompt and block_ends_within(step.start, step.offer_end) and step.has_no_stops
    _judge_progress(step)


def chunk_to_the_end_progresses(step: Step) -> None:
    """An offer that ends the prefill is used."""
    assert step.is_in_prompt and step.is_last and step.has_no_stops
    _judge_progress(step)


def chunk_of_a_long_block_progresses(step: Step) -> None:
    """Where no step can ever hold a block, every offer is used."""
    assert step.is_in_prompt and step.max_step < BLOCK and step.has_no_stops
    _judge_progress(step)


def whole_step_progresses(step: Step) -> None:
    """Who is offered all that a step can give computes something."""
    assert step.is_in_prompt and step.has_no_stops and step.offered >= step.max_step
    _judge_progress(step)


def _contract(check: Callable[..., None], clause: Clause, has_place: bool = False) -> Contract:
    return Contract(check, chunk_tokens, (clause,), steps_and_places if has_place else steps)


CONTRACTS = (
    *(
        _contract(check, chunk.ENDS_ON_A_STATE, has_place=True)
        for check in (
            chunk_passes_no_last_state,
            chunk_passes_no_last_state_for_eagle,
            resumed_chunk_passes_no_last_state,
            chunk_closes_a_started_block,
            resumed_chunk_closes_a_started_block,
            chunk_passes_no_junction,
        )
    ),
    *(
        _contract(check, chunk.ENDS_ON_A_STATE)
        for check in (
            decode_is_not_cut,
            chunk_passes_no_partial_entry,
            chunk_is_cut_for_a_state,
            resumed_chunk_is_cut_for_a_state,
            chunk_is_cut_for_a_partial_entry,
            chunk_is_cut_for_a_junction,
            chunk_is_cut_back_to_a_block,
        )
    ),
    *(
        Contract(check, chunk_tokens, (allocation.RESEND_BOUNDARIES,), steps_and_units)
        for check in (chunk_passes_no_resent_prefix, chunk_is_cut_for_a_resent_prefix)
    ),
    *(
        Contract(check, chunk_tokens, (chunk.ENDS_ON_A_STATE,), steps_and_units)
        for check in (chunk_passes_no_state_of_drafts, chunk_is_not_cut_for_drafts_behind)
    ),
    Contract(
        chunk_is_cut_for_one_of_all_stops,
        chunk_tokens,
        (chunk.ENDS_ON_A_STATE,),
        steps,
        searched="five unbounded lengths with every order of four stops; each stop alone is confirmed",
    ),
    *(
        _contract(check, chunk.PROGRESSES)
        for check in (
            chunk_waits_for_a_boundary,
            resumed_chunk_waits_for_a_boundary,
            chunk_to_a_boundary_progresses,
            chunk_to_the_end_progresses,
            chunk_of_a_long_block_progresses,
            whole_step_progresses,
        )
    ),
)
