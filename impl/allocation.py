"""How a request gets blocks, and how they get keys."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from pagedkv.spec import Request

from .coordinator import KVCacheCoordinator
from .layout import NOBODY
from .ledger import COPY
from .ops.fixed import put, ragged
from .single_type import SingleTypeKVCacheManager


class Calls(NamedTuple):
    """What is asked for requests that stand in ``rows``, each int64 [n], in tokens."""

    rows: Tensor
    starts: Tensor
    ends: Tensor
    num_tokens: Tensor
    num_prompt_tokens: Tensor
    num_processed: Tensor


def calls_of(
    requests: Sequence[Request],
    rows: Sequence[int],
    starts: Sequence[int],
    ends: Sequence[int],
    device: torch.device,
) -> Calls:
    """The calls as columns."""
    columns = [
        (row, start, end, r.num_tokens, r.num_prompt_tokens, r.num_computed_tokens - r.num_in_flight_tokens)
        for r, row, start, end in zip(requests, rows, starts, ends, strict=True)
    ]
    return Calls(
        *torch.tensor(columns, dtype=torch.int64, device=device).view(-1, len(Calls._fields)).unbind(1)
    )


def allocate(
    coordinator: KVCacheCoordinator,
    request: Request,
    hits: Sequence[Tensor],
    hit: int,
    start: int,
    end: int,
    publishes: bool,
) -> list[Tensor] | None:
    """Places for tokens ``start`` to ``end`` of a request after ``hit`` tokens in ``hits``, ids per group.

    Answers the new entries per group, or None if they do not fit now.
    """
    pool, ledger, managers = coordinator.pool, coordinator.ledger, coordinator.single_type_managers
    row, is_first = ledger.rows.get(request.request_id, NOBODY), request.request_id not in ledger.rows
    for g, manager in enumerate(managers):
        first_reads = manager.reads_before_forward(hits[g], hit)
        if len(first_reads) and bool(ledger.is_filled(g, first_reads).any()):
            return None
    lengths = [len(hits[g]) if is_first else int(m.tables.length[row]) for g, m in enumerate(managers)]
    target = torch.tensor([end], device=pool.device)
    growths = [
        m.growth(torch.full_like(target, n), target, is_first) for n, m in zip(lengths, managers, strict=True)
    ]
    sources = [own_entry(m, row) if not is_first else m.tables.length[:0].long() for m in managers]
    private = [len(source) + (hit % m.block_size > 0) for m, source in zip(managers, sources, strict=True)]
    taken = [int(growth.taken) for growth in growths]
    num_queued = sum(int(((ids != 0) & (pool.ref_counts[ids] == 0)).sum()) for ids in hits if len(ids))
    if sum(taken) + sum(private) + num_queued > pool.queue.free:
        return None

    if is_first:
        row = ledger.open(request.request_id)
        for g, manager in enumerate(managers):
            pool.hold(hits[g])
            manager.start(row, hits[g], hit)
    blocks = pool.take(sum(taken) + sum(private)).split(
        [n for pair in zip(private, taken, strict=True) for n in pair]
    )
    calls = calls_of([request], [row], [start], [end], pool.device)
    answered = []
    for g, manager in enumerate(managers):
        own, new = blocks[2 * g], blocks[2 * g + 1]
        if len(sources[g]):
            move_own_entry(manager, row, sources[g], own)
        elif len(own):
            private_copy(manager, row, own)
        if not manager.keeps_keys:
            # Whatever it was, the next allocation has come: the state goes on.
            manager.tables.named_partial[row] = 0
        entries, _ = manager.append(calls.rows, growths[g], new)
        answered.append(torch.cat([own[: len(own) * (hit > 0)], entries]))
        ledger.fill(g, *manager.written(calls.rows, calls.starts, calls.ends))
    if publishes:
        publish(coordinator, [request], calls)
    return answered


def private_copy(manager: SingleTypeKVCacheManager, row: int, block: Tensor) -> None:
    """Let a copy take the place of the block in which a hit ends."""
    last = int(manager.tables.length[row]) - 1
    source = manager.tables.blocks[row, last].long().view(1)
    manager.block_pool.hold(block)
    manager.ledger.copies.append(manager.kv_cache_group_id, source, block)
    manager.tables.blocks[row, last] = block[0].to(torch.int32)


def own_entry(manager: SingleTypeKVCacheManager, row: int) -> Tensor:
    """The block whose partial entry the request's next allocation moves away, int64 [0 or 1]."""
    if manager.keeps_keys:
        return manager.tables.length[:0].long()
    boundary = int(manager.tables.named_partial[row])
    entry = boundary // manager.block_size
    block = manager.tables.blocks[row, entry : entry + 1].long()
    return block[manager.block_pool.keys.has_keys(block) & (boundary > 0)]


def move_own_entry(manager: SingleTypeKVCacheManager, row: int, source: Tensor, block: Tensor) -> None:
    """Move the keys of ``source`` to ``block``, which a copy fills before the forward."""
    group, ledger = manager.kv_cache_group_id, manager.ledger
    manager.block_pool.keys.move(int(source), int(block))
    manager.block_pool.hold(source)
    ledger.copies.append(group, source, block)
    ledger.fill(group, block, COPY)
    ledger.hand_offs.append(row, group, block, manager.tables.named_partial[row].long().view(1))


def publish(coordinator: KVCacheCoordinator, requests: Sequence[Request], calls: Calls) -> None:
    """Name what the rows hold once ``calls.ends`` tokens are computed (clauses Cache/...)."""
    can_name = [i for i, request in enumerate(requests) if request.block_hashes]
    if len(can_name) < len(requests):
        # Without hashes a request has no names for what it holds.
        requests = [requests[i] for i in can_name]
        chosen = torch.tensor(can_name, dtype=torch.int64, device=calls.rows.device)
        calls = Calls(*(column[chosen] for column in calls))
    final = torch.minimum(calls.ends, calls.num_tokens)
    cacheable = final - final % coordinator.alignment
    unit = coordinator.pool.hash_block_size
    boundaries = calls.num_prompt_tokens - calls.num_prompt_tokens % unit
    for manager in coordinator.single_type_managers:
        size, tables = manager.block_size, manager.tables
        beyond = size * (cacheable > 0) if manager.use_eagle else 0
        lengths = torch.minimum(final, cacheable + beyond)
        cached = tables.num_cached[calls.rows].long()
        full = torch.maximum(cached, lengths // size)
        num_new = int((full - cached).sum())
        if num_new:
            owner, k = ragged(full - cached, num_new)
            is_kept = manager.is_kept(cached[owner] + k)
            owner, k = owner[is_kept], k[is_kept]
            _name(manager, requests, calls, owner, (cached[owner] + k + 1) * size)
            put(tables.num_cached, calls.rows, full)
        if coordinator.alignment < size:
            named = tables.named_partial[calls.rows].long()
            due = manager.names_partial(named, boundaries, calls.ends, lengths) & (boundaries % size > 0)
            owner = due.nonzero().view(-1)
            _name(manager, requests, calls, owner, boundaries[owner])
            put(tables.named_partial, calls.rows[owner], boundaries[owner])


def _name(
    manager: SingleTypeKVCacheManager,
    requests: Sequence[Request],
    calls: Calls,
    owner: Tensor,
    num_tokens: Tensor,
) -> None:
    """Give the blocks in which prefixes of ``num_tokens`` [n] end, of the calls ``owner`` [n], their keys."""
    if not len(owner):
        return
    pool, rows = manager.block_pool, calls.rows[owner]
    blocks = manager.tables.blocks[rows, (num_tokens - 1) // manager.block_size].long()
    is_there = blocks != 0
    owner, rows, blocks, num_tokens = owner[is_there], rows[is_there], blocks[is_there], num_tokens[is_there]
    names, new = pool.name(
        [requests[i] for i in owner.tolist()],
        blocks,
        num_tokens,
        manager.kv_cache_group_id,
        manager.block_size,
        manager.keeps_keys,
    )
    manager.ledger.publish(rows[new], blocks[new], names.at(new), num_tokens[new])


def is_taken_by_others(manager: SingleTypeKVCacheManager, row: int) -> bool:
    """Whether another request holds a block that this pass publishes and fills for the request in ``row``."""
    ledger, group = manager.ledger, manager.kv_cache_group_id
    published = ledger.published_for(row)
    blocks = published[published[:, 0] == group, 2].unique()
    blocks = blocks[ledger.filled_by(group, blocks, row)]
    # Most are held once: only for the others all tables have to be looked through.
    blocks = blocks[manager.block_pool.ref_counts[blocks] > 1]
    if not len(blocks):
        return False
    held = torch.isin(manager.tables.blocks.long(), blocks).any(1)
    return bool(held[:row].any() or held[row + 1 :].any())
