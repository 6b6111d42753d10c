"""A manager whose cost is measured, and the requests it understands."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pagedkv.spec import World
from pagedkv.spec.world import Group, Prompt

BLOCK_SIZE = 16
"""Tokens per block, and per hash."""

Hasher = Callable[[Any], list[Any]]
"""Answers the hashes of the units that a request has filled since it was last asked."""


class WrongAnswer(Exception):
    """A manager answers what it must not; the message says where."""


def deployment(num_blocks: int, max_model_len: int) -> World:
    """One group of full attention, for requests of up to ``max_model_len`` tokens."""
    longest = Prompt((0,) * max_model_len, 1)
    return World((Group("full", BLOCK_SIZE),), num_blocks, BLOCK_SIZE, (longest,), 1, max_model_len)


def _nothing_is_pending() -> None:
    """Every call has done its work when it returns."""


@dataclass(frozen=True)
class Candidate:
    """A manager with the standard names."""

    name: str
    version: str
    make_manager: Callable[[World], Any]
    """A new manager of a deployment."""
    make_request: Callable[[str, Sequence[int], Hasher], Any]
    """A request of its own kind: id, prompt and hasher."""
    hasher: Hasher
    is_batched: bool = False
    """Whether a step of many requests is one call, ``allocate_slots_batch``."""
    synchronise: Callable[[], None] = _nothing_is_pending
    """Returns when all that was called has been done."""
    tensor_bytes: Callable[[Any], int] | None = None
    """Bytes of the tensors that a manager holds, where it holds its state in tensors."""

    def new_request(self, name: str, tokens: Sequence[int]) -> Any:
        """A request with the hashes of its prompt."""
        return self.make_request(name, tokens, self.hasher)
