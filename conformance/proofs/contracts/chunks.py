"""A chunk of prefill ends where a state is kept, and passes no place where one must be.

Places are lengths in tokens. A chunk of n tokens covers ``[start, start + n)`` of what is offered. Blocks
have 16 tokens, units 4.
"""

from collections.abc import Iterable
from itertools import product
from typing import NamedTuple

from pagedkv.spec.clauses import chunk
from pagedkv.spec.rules.chunks import chunk_tokens

from .contract import Contract

BLOCK = 16
UNIT = 4


class Step(NamedTuple):
    """What a chunk depends on, in the order of the rule's arguments."""

    start: int
    offered: int
    num_prompt: int
    num_tokens: int
    max_step: int
    is_eagle: bool
    junction: int
    boundary: int

    @property
    def is_possible(self) -> bool:
        """Whether a request can be in this position."""
        return (
            self.start >= 0
            and self.offered >= 1
            and 1 <= self.num_prompt <= self.num_tokens
            and self.max_step >= 1
            and 0 <= self.junction < self.num_tokens
            and (self.boundary == 0 or _is_partial_entry(self.boundary, self.num_prompt))
        )

    @property
    def offer_end(self) -> int:
        """Where a chunk of everything offered would end."""
        return self.start + self.offered

    @property
    def is_prefill(self) -> bool:
        """Whether more than the newest token is still to be computed."""
        return self.start < self.num_prompt or self.start < self.num_tokens - 1

    @property
    def is_last(self) -> bool:
        """Whether what is offered ends the prefill."""
        return self.offer_end >= self.num_prompt and self.offer_end >= self.num_tokens - 1

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


def _is_partial_entry(place: int, num_prompt: int) -> bool:
    return place > 0 and place % UNIT == 0 and place % BLOCK != 0 and place <= num_prompt < place + UNIT


def _block_ends_within(low: int, high: int) -> bool:
    """Whether a block boundary lies in ``(low, high]``."""
    return high // BLOCK > low // BLOCK


def _is_kept(step: Step, place: int) -> bool:
    """Whether the state at ``place``, after the start, has to be there for later requests or steps."""
    spare = BLOCK if step.is_eagle else 0
    ends_block = place % BLOCK == 0
    is_last_useful = ends_block and place + spare <= step.num_tokens < place + spare + BLOCK
    ends_started_block = ends_block and step.start % BLOCK != 0
    is_partial_entry = (
        place == step.boundary
        and place < step.num_prompt
        and not _block_ends_within(place + spare, step.num_tokens)
    )
    is_junction = (
        (place - step.start) % BLOCK == 0
        and place <= step.junction < place + BLOCK
        and step.junction < step.offer_end
    )
    return is_last_useful or ends_started_block or is_partial_entry or is_junction


def decode_is_not_cut(step: Step) -> None:
    """A request whose prefill is done gets what is offered."""
    assert step.is_possible and not step.is_prefill
    assert step.chunk == step.offered


def chunk_is_part_of_the_offer(step: Step) -> None:
    """Neither negative nor more than offered."""
    assert step.is_possible
    assert 0 <= step.chunk <= step.offered


def chunk_passes_no_kept_state(step: Step, place: int) -> None:
    """No place inside the chunk needs its state kept."""
    assert step.is_possible and step.is_prefill
    assert place > step.start and _is_kept(step, place)
    assert place >= step.start + step.chunk


def chunk_is_cut_only_for_a_state(step: Step) -> None:
    """Where less is computed than offered, its end needs a state, or is the last block boundary offered."""
    assert step.is_possible and step.is_prefill
    length = step.chunk
    end = step.start + length
    if 0 < length < step.offered:
        is_last_boundary = end % BLOCK == 0 and not _block_ends_within(end, step.offer_end)
        assert _is_kept(step, end) or (is_last_boundary and not step.is_last)


def chunk_ends_on_a_state(step: Step) -> None:
    """A chunk ends on a block boundary, at the partial entry or with the prefill.

    Where no step can ever hold a block, it may also end on the way to the next boundary.
    """
    assert step.is_possible and step.is_prefill
    length = step.chunk
    end = step.start + length
    if length > 0 and end % BLOCK != 0 and end != step.boundary:
        assert length == step.offered
        assert step.is_last or (step.max_step < BLOCK and not _block_ends_within(step.start, end))


def chunk_waits_only_for_a_boundary(step: Step) -> None:
    """Nothing is computed exactly if no boundary is within the offer, but would be within a longer step."""
    assert step.is_possible and step.is_prefill
    comes_later = not step.is_last and not _block_ends_within(step.start, step.offer_end)
    assert (step.chunk == 0) == (comes_later and step.max_step >= BLOCK)


def whole_step_progresses(step: Step) -> None:
    """Whoever is offered all that a step can give computes something."""
    assert step.is_possible and step.offered >= step.max_step
    assert step.chunk > 0
CONTRACTS = ()
