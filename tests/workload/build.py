"""Small traces and deployments."""

from pathlib import Path

from pagedkv.conformance.group_text import groups_of
from pagedkv.conformance.workload.conversations import made_requests
from pagedkv.conformance.workload.deployment import Deployment, world_of
from pagedkv.conformance.workload.trace import HASH_TOKENS, TracedRequest
from pagedkv.spec import World

NOWHERE = Path("made.jsonl")


def world(
    requests: tuple[TracedRequest, ...],
    groups: str = "full:512",
    blocks: int = 4096,
    unit: int = 512,
    budget: int = 8192,
    max_running: int = 64,
) -> World:
    """The world of these requests."""
    return world_of(
        NOWHERE, requests, Deployment(groups_of(groups, ",", 16, 999_999), blocks, unit, budget, max_running)
    )


def made(number: int, seed: int = 0) -> tuple[TracedRequest, ...]:
    """Requests as the command makes them."""
    return tuple(made_requests(number, seed))


def asking(
    input_length: int, output_length: int, *hash_ids: int, timestamp: float = 0, line: int = 1
) -> TracedRequest:
    """A request of these lengths; without ids, with some of its own."""
    ids = hash_ids or tuple(range(1000 * line, 1000 * line - (-input_length // HASH_TOKENS)))
    return TracedRequest(line, timestamp, input_length, output_length, ids)


def hits_of_one_after_the_other(requests: tuple[TracedRequest, ...]) -> int:
    """Tokens that a cache of whole 512-token blocks without an end has of each prompt, from the ids alone."""
    seen: set[tuple[int, ...]] = set()
    tokens = 0
    for request in requests:
        full = request.input_length // HASH_TOKENS
        usable = (request.input_length - 1) // HASH_TOKENS
        known = [n for n in range(1, usable + 1) if request.hash_ids[:n] in seen]
        tokens += max(known, default=0) * HASH_TOKENS
        seen.update(request.hash_ids[:n] for n in range(1, full + 1))
    return tokens
