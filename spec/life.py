"""A request as the engine loop keeps it."""

from typing import NamedTuple


class Life(NamedTuple):
    """Where a request stands. It changes only by being replaced."""

    request: str
    prompt: int
    num_tokens: int
    computed: int
    """Tokens whose KV is there."""
    junction: int = 0
    is_running: bool = False
