"""A request as the engine loop keeps it."""

from typing import NamedTuple


class Continued(NamedTuple):
    """From where on a request has another prompt than it came with."""

    before: int
    """Its prompt before."""
    computed: int
    """Tokens that were computed then."""


class Life(NamedTuple):
    """Where a request stands. It changes only by being replaced. Lengths are tokens."""

    request: str
    prompt: int
    num_tokens: int
    """Prompt and output, as far as anybody knows them."""
    computed: int
    """Tokens whose KV is there, or is made by a step that was dispatched."""
    junction: int = 0
    is_running: bool = False
    """Whether it has tables."""
    in_flight: int = 0
    """Of the computed ones, those whose steps are not processed yet."""
    pending: int = 0
    """Output tokens that steps in flight sample: computed may reach them before anybody knows them."""
    loading_from: int | None = None
    """Where what a connector still loads begins; it ends with the computed tokens."""
    is_sent: bool = False
    """Whether the worker has its tables."""
    state_entry: int | None = None
    """Where its state is after drafts were verified; else in the entry in which its tokens end."""
    high: int = 0
    """The most tokens that it has asked places for."""
    has_jumped: bool = False
    """Whether it ever took what a connector has, or went on with another prompt."""
    continued: Continued | None = None
    """How it came to go on with this prompt, in its present holding of blocks."""

    @property
    def processed(self) -> int:
        """Computed tokens whose steps are processed."""
        return self.computed - self.in_flight

    def waiting(self) -> "Life":
        """The same request without anything computed, and without tables."""
        return Life(self.request, self.prompt, self.num_tokens, 0, self.junction, has_jumped=self.has_jumped)
