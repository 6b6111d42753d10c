"""What a worker is sent for a request."""

from typing import NamedTuple

from pagedkv.spec.snapshot import Rows


class Work(NamedTuple):
    """What a step computes for one request."""

    request: str
    prompt: int
    start: int
    end: int
    rows: Rows
    is_new: bool
    """Whether this pass has admitted the request."""
    is_whole: bool
    """Whether ``rows`` is the whole table, or what is appended to it."""
    loaded_from: int
    """From where to ``start`` a connector loads what others have computed."""
    drafts: int = 0
    """How many of the tokens are guesses, the last ones."""
    accepted: int = 0
    """How many of these are right, the first ones."""
    samples: bool = False
    """Whether the step gives the request its next token."""
    valid: int | None = None
    """Up to where what is loaded in the step turns out right, if not up to ``start``."""
    state_entry: int | None = None
    """Where the state before ``start`` is, where drafts have put it."""

    @property
    def right_end(self) -> int:
        """Up to where its tokens are right."""
        return self.end - self.drafts + self.accepted

    def states(self, block_size: int) -> list[tuple[int, int]]:
        """Which states the step writes: in entries one behind the other, each after so many tokens.

        They are those after its last token that is no draft and after each draft, and begin in the entry in
        which all its tokens end.
        """
        first, known = (self.end - 1) // block_size, self.end - self.drafts
        return [(first + i, known + i) for i in range(self.drafts + 1)]

    def state_entry_after(self, block_size: int) -> int | None:
        """Where the state after the right tokens is, if not in the entry in which they end."""
        return self.states(block_size)[self.accepted][0] if self.drafts and block_size else None
