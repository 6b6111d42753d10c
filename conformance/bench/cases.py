"""The operations that are timed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from .candidate import BLOCK_SIZE, Candidate, deployment
from .workload import Ids, admit, fill, ids_of, prompt, tables

Answer = Mapping[str, Ids]
"""What has to be equal for every candidate, by what it belongs to."""

CONTEXT = 256
"""Tokens that a running request has computed when a decode case begins, and up to a block more."""
FILLER = 4096
"""Tokens of the requests that leave their prefixes in the free blocks."""


class Load(Protocol):
    """One candidate in the midst of a case."""

    def settled(self) -> Answer:
        """What the blocks are before the first round."""
        ...

    def prepare(self, number: int) -> None:
        """Bring about what round ``number`` acts on; not timed."""
        ...

    def run(self) -> Any:
        """The operation; timed."""
        ...

    def answer(self, result: Any) -> Answer:
        """What ``run`` answered, as it is compared; not timed."""
        ...


@dataclass(frozen=True)
class Case:
    """An operation to be timed, round after round."""

    name: str
    does: str
    """What is timed, and what is not."""
    unit: str
    """What the cost should be proportional to."""
    units: int
    """How many of them an operation has."""
    set_up: Callable[[Candidate, int], Load]
    """A candidate that is ready for so many rounds."""
    has_batch: bool = False
    """Whether the batched call applies."""


class Decode:
    """``size`` running requests, of which each computes one token per round.

    They stand at different places in their blocks, so a sixteenth of them takes a block in each round and as
    many publish one. Every block they take has to be evicted.
    """

    def __init__(self, candidate: Candidate, rounds: int, size: int) -> None:
        lengths = [CONTEXT + i % BLOCK_SIZE for i in range(size)]
        num_blocks = 1 + sum(-(-(length + rounds) // BLOCK_SIZE) for length in lengths)
        self._manager = candidate.make_manager(deployment(num_blocks, FILLER + CONTEXT + rounds))
        self._requests = [
            candidate.new_request(f"r{i}", prompt(i, length)) for i, length in enumerate(lengths)
        ]
        for request in self._requests:
            admit(self._manager, request)
        fill(candidate, self._manager, FILLER)
        self._is_batched = candidate.is_batched

    def settled(self) -> Answer:
        """The tables."""
        return tables(self._manager, self._requests)

    def prepare(self, number: int) -> None:
        """Each request gets the token that its last step gave, and the hash of a block that it filled."""
        for request in self._requests:
            request.num_computed_tokens = request.num_tokens
            request.append_output_token_ids(number)

    def run(self) -> Any:
        """Open the pass and allocate a slot for each request."""
        self._manager.new_step_starts()
        if self._is_batched:
            return self._manager.allocate_slots_batch(self._requests, 1)[1]
        allocate = self._manager.allocate_slots
        return [allocate(request, 1) for request in self._requests]

    def answer(self, result: Any) -> Answer:
        """The new blocks of each request."""
        return {
            request.request_id: ids_of(blocks) for request, blocks in zip(self._requests, result, strict=True)
        }


class Lookup:
    """A prefix of ``size`` tokens is cached and free; in each round another request has it."""

    def __init__(self, candidate: Candidate, rounds: int, size: int) -> None:
        self._candidate = candidate
        self._manager = candidate.make_manager(deployment(size // BLOCK_SIZE + 2, size + 1))
        self._tokens = prompt(0, size)
        owner = candidate.new_request("owner", self._tokens)
        self._hashes = list(owner.block_hashes)
        admit(self._manager, owner)
        self._settled = tables(self._manager, [owner])
        self._manager.free(owner)

    def settled(self) -> Answer:
        """The blocks that hold the prefix."""
        return self._settled

    def prepare(self, number: int) -> None:
        """A new request, longer by one token, as the last token of a request is never looked up."""

        def known(request: Any) -> list[Any]:
            return self._hashes[len(request.block_hashes) :]

        self._request = self._candidate.make_request(f"r{number}", [*self._tokens, 0], known)

    def run(self) -> Any:
        """Look it up."""
        return self._manager.get_computed_blocks(self._request)

    def answer(self, result: Any) -> Answer:
        """The hit in tokens, and its blocks."""
        return {"hit": (result[1],), "blocks": ids_of(result[0])}


class AdmitAndFree:
    """A pool full of cached prefixes; in each round another prompt of ``size`` tokens comes and goes."""

    POOL = 16
    """Prompts that the pool holds."""

    def __init__(self, candidate: Candidate, rounds: int, size: int) -> None:
        self._candidate = candidate
        self._size = size
        self._manager = candidate.make_manager(deployment(1 + self.POOL * size // BLOCK_SIZE, size))
        fill(candidate, self._manager, size)

    def settled(self) -> Answer:
        """Nobody holds anything."""
        return {}

    def prepare(self, number: int) -> None:
        """A new request, hashed."""
        self._request = self._candidate.new_request(f"r{number}", prompt(number, self._size))

    def run(self) -> Any:
        """Open a pass, find nothing in the cache, allocate all of the prompt, and let it go."""
        blocks = admit(self._manager, self._request)
        self._manager.free(self._request)
        return blocks

    def answer(self, result: Any) -> Answer:
        """The blocks that it had. The order of eviction shows in those of later rounds."""
        return {self._request.request_id: ids_of(result)}


def _decode(size: int) -> Case:
    does = (
        f"a step of {size:,} running requests: opening the pass and one token for each, with the blocks that "
        "are taken, evicted and published; without appending tokens and hashing them"
    )
    return Case(
        f"decode-{size}",
        does,
        "request",
        size,
        lambda candidate, rounds: Decode(candidate, rounds, size),
        has_batch=True,
    )


def _lookup(thousands: int) -> Case:
    size = thousands * 1024
    return Case(
        f"lookup-{thousands}k",
        f"get_computed_blocks for {size:,} tokens that are all cached; without hashing them",
        "block",
        size // BLOCK_SIZE,
        lambda candidate, rounds: Lookup(candidate, rounds, size),
    )


ALL_CASES = (
    Case(
        "allocate",
        f"allocate_slots for one token, {BLOCK_SIZE} calls in a row of which one takes a block and one "
        "publishes; without appending tokens and hashing them",
        "call",
        BLOCK_SIZE,
        lambda candidate, rounds: Decode(candidate, rounds, BLOCK_SIZE),
    ),
    *map(_decode, (64, 256, 1024, 4096)),
    *map(_lookup, (1, 8, 32, 128)),
    Case(
        "admit",
        "a prompt of 4,096 tokens that finds nothing in the cache: lookup, allocation with every block "
        "evicted from another prefix and published, free; without hashing the prompt",
        "block",
        4096 // BLOCK_SIZE,
        lambda candidate, rounds: AdmitAndFree(candidate, rounds, 4096),
    ),
)
