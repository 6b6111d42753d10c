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
    state_entry: int | None = None
    """Where the state before ``start`` is, where drafts have put it."""

    @property
    def right_end(self) -> int:
        """Up to where its tokens are right."""
        return self.end - self.drafts + self.accepted

    def state_entry_after(self, block_size: int) -> int | None:
        """Where the state after the right tokens is, if not in the entry in which they end."""
        return (self.end - 1) // block_size + self.accepted if self.drafts and block_size else None
