"""How many running requests get blocks in one call."""

from collections.abc import Callable, Sequence

import torch

from pagedkv.spec import Request

from .calls import calls_of
from .coordinator import KVCacheCoordinator
from .layout import NOBODY
from .naming import num_naming_inside, publish
from .ops.fixed import ragged

Rows = Sequence[Sequence[int]]
"""Block ids per group."""


def serve(
    coordinator: KVCacheCoordinator,
    requests: Sequence[Request],
    starts: Sequence[int],
    ends: Sequence[int],
    spare: int,
    publishes: bool,
    alone: Callable[[Request, int], Rows | None],
) -> list[Rows | None]:
    """Serve requests in order, without hits: together if the calls add up, else one half after the other.

    ``alone`` serves one request with so many tokens; several at once leave ``spare`` blocks free. Answers the
    new entries, or None for whoever got none.
    """
    if not requests:
        return []
    rows = allocate_many(coordinator, requests, starts, ends, spare, publishes)
    if rows is not None:
        return [*rows]
    if len(requests) == 1:
        return [alone(requests[0], ends[0] - starts[0])]
    half = len(requests) // 2
    answers: list[Rows | None] = []
    for part in (slice(half), slice(half, None)):
        answers += serve(coordinator, requests[part], starts[part], ends[part], spare, publishes, alone)
    return answers


def allocate_many(
    coordinator: KVCacheCoordinator,
    requests: Sequence[Request],
    starts: Sequence[int],
    ends: Sequence[int],
    spare: int,
    publishes: bool,
) -> list[Rows] | None:
    """Places for running requests, all in one go.

    None, with nothing changed, when the calls one by one would not just add up: when one is not running or
    comes twice, not all fit, a partial entry moves, a block without a key would be next to be taken, or two
    name the inside of a block, which they may share.
    """
    pool, ledger, managers = coordinator.pool, coordinator.ledger, coordinator.single_type_managers
    rows = [ledger.rows.get(request.request_id, NOBODY) for request in requests]
    if NOBODY in rows or len(set(rows)) < len(rows):
        return None
    calls = calls_of(requests, rows, starts, ends, pool.device)
    growths = [m.growth(m.tables.length[calls.rows].long(), calls.ends, calls.ends, False) for m in managers]
    taken = torch.stack([growth.taken for growth in growths], 1)
    if int(taken.sum()) > pool.queue.free - spare:
        return None
    skips = [m.skippable(calls.rows, calls.num_processed, calls.num_prompt_tokens) for m in managers]
    for manager, (_, _, blocks) in zip(managers, skips, strict=True):
        moves = (manager.tables.named_partial[calls.rows] > 0) & (not manager.keeps_keys)
        if bool(moves.any()) or not bool((pool.keys.has_keys(blocks) & pool.enable_caching).all()):
            return None
    if publishes and num_naming_inside(coordinator, calls) > 1:
        return None

    for manager, skip in zip(managers, skips, strict=True):
        manager.let_go(calls.rows, calls.num_processed, calls.num_prompt_tokens, skip)
    by_request = torch.cat([owner for owner, _, _ in skips]).argsort(stable=True)
    pool.release(torch.cat([blocks for _, _, blocks in skips])[by_request])
    blocks = pool.take(int(taken.sum()))
    begins = (taken.flatten().cumsum(0) - taken.flatten()).view_as(taken)
    answered = []
    for g, manager in enumerate(managers):
        owner, k = ragged(taken[:, g], int(taken[:, g].sum()))
        new = blocks[begins[owner, g] + k]
        entries, counts = manager.append(calls.rows, growths[g], new)
        manager.list_new(new)
        answered.append([ids.tolist() for ids in entries.split(counts.tolist())])
        ledger.fill(g, *manager.written(calls.rows, calls.starts, calls.ends))
    if publishes:
        publish(coordinator, requests, calls)
    return [list(rows) for rows in zip(*answered, strict=True)]
