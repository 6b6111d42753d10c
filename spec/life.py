"""A request as the engine loop keeps it."""

from typing import NamedTuple


class Continued(NamedTuple):
    """From where on a request has another prompt than it came with."""

    before: int
    """Its prompt before."""
    computed: int
    """Tokens that were computed then."""


class Life(NamedTuple):
    """Where a request stands. It changes only by being replaced."""

    request: str
    prompt: int
    num_tokens: int
    computed: int
    """Tokens whose KV is there."""
    junction: int = 0
    is_running: bool = False
    continued: Continued | None = None
    """How it came to go on with this prompt, in its present holding of blocks."""
