"""Steps of a scheduler, and the places at which a state is kept.

Places are lengths in tokens. Blocks have 6 tokens, units 2.
"""

from collections.abc import Iterable
from functools import cache
from itertools import product
from typing import NamedTuple

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


def block_ends_within(low: int, high: int) -> bool:
    """Whether a block boundary lies in ``(low, high]``."""
    return high // BLOCK > low // BLOCK


def is_last_state(step: Step, place: int) -> bool:
    """Whether ``place`` is the last block boundary of the tokens, or with EAGLE the one before."""
    spare = BLOCK if step.is_eagle else 0
    return place % BLOCK == 0 and place + spare <= step.num_tokens < place + spare + BLOCK


def is_partial_stop(step: Step, place: int) -> bool:
    """Whether ``place`` is the partial entry, and the last state lies before it."""
    spare = BLOCK if step.is_eagle else 0
    is_behind = not block_ends_within(place + spare, step.num_tokens)
    return place == step.boundary and place < step.num_prompt and is_behind


def is_junction_stop(step: Step, place: int) -> bool:
    """Whether ``place`` is the last place whole blocks after the start that the junction does not precede."""
    is_offered = step.start < place and step.junction < step.offer_end
    return is_offered and (place - step.start) % BLOCK == 0 and place <= step.junction < place + BLOCK


@cache
def steps() -> list[tuple[Step]]:
    """Steps around the boundaries of two blocks, with the partial entry of their prompt or without."""
    return [
        (Step(start, offered, num_prompt, num_prompt + more, max_step, is_eagle, junction, boundary),)
        for start, offered, num_prompt in product(range(14), (1, 2, 5, 6, 7, 9, 13), range(1, 15))
        for boundary in {0, num_prompt - num_prompt % UNIT}
        for more, max_step, is_eagle, junction in product((0, 7), (3, 13), (False, True), (0, 4, 6, 8, 13))
    ]


def steps_and_places() -> Iterable[tuple[Step, int]]:
    """With the block boundaries that they offer, and the places whole blocks after their start."""
    for (step,) in steps():
        aligned, after_start = range(0, step.offer_end, BLOCK), range(step.start, step.offer_end, BLOCK)
        for place in {*aligned, *after_start}:
            if place > step.start:
                yield step, place


def steps_and_units() -> Iterable[tuple[Step, int]]:
    """Those without other stops, with the unit boundaries of their prompts."""
    for (step,) in steps():
        if step.has_no_stops:
            yield from ((step, place) for place in range(0, step.num_prompt, UNIT))
