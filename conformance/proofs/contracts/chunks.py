"""A chunk of prefill ends where a state is kept, and passes no place where one must be.

Places are lengths in tokens. A chunk of n tokens covers ``[start, start + n)`` of what is offered. Blocks
have 6 tokens, units 2. Each statement has as few free arguments as it can, so that a search ends;
together they cover a prompt and a request that is computed again past its prompt.
"""

from collections.abc import Callable, Iterable
from functools import cache
from itertools import product
from typing import NamedTuple

from pagedkv.spec.clauses import Clause, chunk
from pagedkv.spec.rules.chunks import chunk_tokens

from .contract import Contract

BLOCK = 6
UNIT = 2


class Step(NamedTuple):
    """What a chunk depends on."""

    start: int
    offered: int
    num_prompt: int
    num_tokens: int
    max_step: int
    is_eagle: bool
    junction: int
    boundary: int

    @property
    def offer_end(self) -> int:
        """Where a chunk of everything offered would end."""
        return self.start + self.offered

    @property
    def is_in_prompt(self) -> bool:
        """Whether prompt tokens are still to be computed."""
        return 0 <= self.start < self.num_prompt <= self.num_tokens and self.offered >= 1

    @property
    def is_resumed(self) -> bool:
        """Whether output tokens other than the newest have to be computed again."""
        return 1 <= self.num_prompt <= self.start < self.num_tokens - 1 and self.offered >= 1

    @property
    def is_last(self) -> bool:
        """Whether what is offered ends the prefill."""
        return self.offer_end >= self.num_prompt and self.offer_end >= self.num_tokens - 1

    @property
    def has_no_stops(self) -> bool:
        """Whether there is neither a junction nor a partial entry."""
        return self.junction == 0 and self.boundary == 0

    @property
    def has_partial_entry(self) -> bool:
        """Whether ``boundary`` is the last unit boundary of the prompt, inside a block."""
        is_unit = self.boundary % UNIT == 0 and self.boundary % BLOCK != 0
        return is_unit and 0 < self.boundary <= self.num_prompt < self.boundary + UNIT

    @property
    def chunk(self) -> int:
        """The rule's answer."""
        return chunk_tokens(
            self.start,
            self.offered,
            self.num_prompt,
            self.num_tokens,
            BLOCK,
            self.max_step,
            self.is_eagle,
            self.junction,
            self.boundary,
        )


def _block_ends_within(low: int, high: int) -> bool:
    """Whether a block boundary lies in ``(low, high]``."""
    return high // BLOCK > low // BLOCK


def _is_last_state(step: Step, place: int) -> bool:
    """Whether ``place`` is the last block boundary of the tokens, or with EAGLE the one before."""
    spare = BLOCK if step.is_eagle else 0
    return place % BLOCK == 0 and place + spare <= step.num_tokens < place + spare + BLOCK


def _is_partial_stop(step: Step, place: int) -> bool:
    """Whether ``place`` is the partial entry, and the last state lies before it."""
    spare = BLOCK if step.is_eagle else 0
    is_behind = not _block_ends_within(place + spare, step.num_tokens)
    return place == step.boundary and place < step.num_prompt and is_behind


def _is_junction_stop(step: Step, place: int) -> bool:
    """Whether ``place`` is the last place whole blocks after the start that the junction does not precede."""
    is_offered = step.start < place and step.junction < step.offer_end
    return is_offered and (place - step.start) % BLOCK == 0 and place <= step.junction < place + BLOCK


# What is not prefill


def decode_is_not_cut(step: Step) -> None:
    """A request whose prefill is done gets what is offered."""
    assert step.start >= step.num_prompt and step.start >= step.num_tokens - 1
    length = step.chunk
    assert length == step.offered, f"{length}"


# Which places a chunk does not pass


def _judge_stop(step: Step, place: int) -> None:
    length = step.chunk
    assert step.start + length <= place, f"{length}"


def chunk_passes_no_last_state(step: Step, place: int) -> None:
    """The last block boundary of all tokens is the last state that another request can ask for."""
    assert step.is_in_prompt and not step.is_eagle and place > step.start and _is_last_state(step, place)
    _judge_stop(step, place)


def chunk_passes_no_last_state_for_eagle(step: Step, place: int) -> None:
    """With EAGLE it is the block boundary before that."""
    assert step.is_in_prompt and step.is_eagle and place > step.start and _is_last_state(step, place)
    _judge_stop(step, place)


def resumed_chunk_passes_no_last_state(step: Step, place: int) -> None:
    """The same past the prompt."""
    assert step.is_resumed and place > step.start and _is_last_state(step, place)
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
    assert _is_partial_stop(step, step.boundary)
    _judge_stop(step, step.boundary)


def chunk_passes_no_junction(step: Step, place: int) -> None:
    """A shared prefix that another kind lost gets a state, as many whole blocks on as fit before it."""
    assert step.is_in_prompt and 0 <= step.junction < step.num_tokens and _is_junction_stop(step, place)
    _judge_stop(step, place)


# Where it ends


def _judge_end(step: Step) -> None:
    """A part of the offer; if not all, it ends where a state is kept or with the last block offered."""
    length = step.chunk
    end = step.start + length
    assert 0 <= length <= step.offered, f"{length}"
    if 0 < length < step.offered:
        ends_block = end % BLOCK == 0
        is_last_block = ends_block and not step.is_last and not _block_ends_within(end, step.offer_end)
        closes_block = ends_block and step.start % BLOCK != 0 and length < BLOCK
        is_stop = _is_last_state(step, end) or _is_partial_stop(step, end) or _is_junction_stop(step, end)
        assert is_last_block or closes_block or is_stop, f"{length}"


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


def chunk_is_cut_for_one_of_all_stops(step: Step) -> None:
    """With everything that can stop it."""
    assert step.is_in_prompt and (step.boundary == 0 or step.has_partial_entry)
    assert 0 <= step.junction < step.num_tokens
    _judge_end(step)


def chunk_is_cut_back_to_a_block(step: Step) -> None:
    """An offer that passes a block boundary, but ends inside a block of the prompt, is not used up."""
    assert step.is_in_prompt and step.offer_end < step.num_prompt and step.offer_end % BLOCK != 0
    assert _block_ends_within(step.start, step.offer_end)
    length = step.chunk
    assert length < step.offered, f"{length}"


# Waiting


def chunk_waits_for_a_boundary(step: Step) -> None:
    """Nothing is computed if no boundary is within the offer, but one would be within a longer step."""
    assert step.is_in_prompt and step.offer_end < step.num_prompt and step.max_step >= BLOCK
    assert not _block_ends_within(step.start, step.offer_end)
    length = step.chunk
    assert length == 0, f"{length}"


def resumed_chunk_waits_for_a_boundary(step: Step) -> None:
    """The same past the prompt."""
    assert step.is_resumed and step.offer_end < step.num_tokens - 1 and step.max_step >= BLOCK
    assert not _block_ends_within(step.start, step.offer_end)
    length = step.chunk
    assert length == 0, f"{length}"


def _judge_progress(step: Step) -> None:
    """Neither partial entry nor junction can hold a chunk back."""
    length = step.chunk
    assert length > 0, f"{length}"


def chunk_to_a_boundary_progresses(step: Step) -> None:
    """An offer that reaches a block boundary is used."""
    assert step.is_in_prompt and _block_ends_within(step.start, step.offer_end) and step.has_no_stops
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


@cache
def _steps() -> list[tuple[Step]]:
    """Steps around the boundaries of two blocks, with the partial entry of their prompt or without."""
    return [
        (Step(start, offered, num_prompt, num_prompt + more, max_step, is_eagle, junction, boundary),)
        for start, offered, num_prompt in product(range(14), (1, 2, 5, 6, 7, 9, 13), range(1, 15))
        for boundary in {0, num_prompt - num_prompt % UNIT}
        for more, max_step, is_eagle, junction in product((0, 7), (3, 13), (False, True), (0, 4, 6, 8, 13))
    ]


def _steps_and_places() -> Iterable[tuple[Step, int]]:
    """With the block boundaries that they offer, and the places whole blocks after their start."""
    for (step,) in _steps():
        aligned, after_start = range(0, step.offer_end, BLOCK), range(step.start, step.offer_end, BLOCK)
        for place in {*aligned, *after_start}:
            if place > step.start:
                yield step, place


def _contract(check: Callable[..., None], clause: Clause, has_place: bool = False) -> Contract:
    return Contract(check, chunk_tokens, (clause,), _steps_and_places if has_place else _steps)


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
    Contract(
        chunk_is_cut_for_one_of_all_stops,
        chunk_tokens,
        (chunk.ENDS_ON_A_STATE,),
        _steps,
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
