"""The steps that cases are made of. None of them is timed unless a case says so."""

from collections.abc import Sequence
from typing import Any

from .candidate import BLOCK_SIZE, Candidate, WrongAnswer

Ids = tuple[int, ...] | None
"""Block ids; None for a request that was not served."""

FIRST_FILLER = 1 << 24
"""The first token of a filler's prompt; the prompts of cases begin with smaller ones."""


def prompt(first: int, num_tokens: int) -> list[int]:
    """Tokens that share no prefix with those of another ``first``."""
    return [first, *range(1, num_tokens)]


def admit(manager: Any, request: Any) -> Any:
    """Look up the request in a pass of its own and compute its whole prompt; answers the new blocks."""
    manager.new_step_starts()
    blocks, hit, _ = manager.get_computed_blocks(request)
    answer = manager.allocate_slots(request, request.num_tokens - hit, hit, blocks)
    request.num_computed_tokens = request.num_tokens
    return answer


def fill(candidate: Candidate, manager: Any, num_tokens: int) -> None:
    """Leave a prefix in every free block, by requests of up to ``num_tokens`` tokens that come and go.

    What one leaves goes to the back of the queue, so the next takes blocks that have nothing yet.
    """
    num_free = manager.block_pool.get_num_free_blocks()
    each = num_tokens // BLOCK_SIZE
    for start in range(0, num_free, each):
        width = min(each, num_free - start)
        request = candidate.new_request(f"filler{start}", prompt(FIRST_FILLER + start, width * BLOCK_SIZE))
        if admit(manager, request) is None:
            raise WrongAnswer(
                f"{candidate.name} has {num_free} free blocks and does not serve {width} of them"
            )
        manager.free(request)


def ids_of(blocks: Any) -> Ids:
    """The block ids of an answer in the only group."""
    if blocks is None:
        return None
    (ids,) = blocks.get_block_ids()
    return tuple(map(int, ids))


def tables(manager: Any, requests: Sequence[Any]) -> dict[str, Ids]:
    """The whole table of each request."""
    return {
        request.request_id: tuple(map(int, manager.get_block_ids(request.request_id)[0]))
        for request in requests
    }
