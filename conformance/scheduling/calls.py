"""What a scheduler says to its manager and is answered, in the loop's words."""

from collections.abc import Sequence
from itertools import takewhile
from operator import eq
from typing import NamedTuple

from pagedkv.spec.outcomes import Outcome
from pagedkv.spec.snapshot import Rows


class Slots(NamedTuple):
    """What an allocation or a lookup answers."""

    rows: Rows

    def get_block_ids(self) -> tuple[list[int], ...]:
        """Per group."""
        return tuple(list(row) for row in self.rows)


class Options(NamedTuple):
    """What a call for slots says beside its tokens."""

    num_lookahead_tokens: int
    num_encoder_tokens: int = 0
    full_sequence_must_fit: bool = False
    has_scheduled_reqs: bool = True


class Admission(NamedTuple):
    """What was asked for who waits, and what was answered."""

    request: str
    left: int
    """Tokens of the pass before that."""
    has_scheduled: bool
    """Whether others were scheduled before that."""
    available: int
    """Tokens that a connector has."""
    outcome: Outcome


def num_right(guesses: Sequence[int], tokens: Sequence[int]) -> int:
    """How many guesses come before the first wrong one."""
    return sum(1 for _ in takewhile(bool, map(eq, guesses, tokens)))
