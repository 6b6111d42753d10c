"""How blocks get their keys."""

from collections.abc import Sequence

import torch
from torch import Tensor

from pagedkv.spec import Request

from .calls import Calls
from .coordinator import KVCacheCoordinator
from .ops.fixed import put, ragged
from .single_type import SingleTypeKVCacheManager


def publish(coordinator: KVCacheCoordinator, requests: Sequence[Request], calls: Calls) -> None:
    """Name what the rows hold once ``calls.ends`` tokens are computed (clauses Cache/...)."""
    can_name = [i for i, request in enumerate(requests) if request.block_hashes]
    if len(can_name) < len(requests):
        # Without hashes a request has no names for what it holds.
        requests = [requests[i] for i in can_name]
        chosen = torch.tensor(can_name, dtype=torch.int64, device=calls.rows.device)
        calls = Calls(*(column[chosen] for column in calls))
    final = torch.minimum(calls.ends, calls.num_tokens)
    if coordinator.shared_ahead is not None:
        final = torch.minimum(final, calls.num_prompt_tokens + coordinator.shared_ahead)
    cacheable = final - final % coordinator.alignment
    for manager in coordinator.single_type_managers:
        size, tables = manager.block_size, manager.tables
        beyond = size * (cacheable > 0) if manager.use_eagle else 0
        lengths = torch.minimum(final, cacheable + beyond)
        cached = tables.num_cached[calls.rows].long()
        full = torch.maximum(cached, lengths // size)
        num_new = int((full - cached).sum())
        if num_new:
            owner, k = ragged(full - cached, num_new)
            is_kept = manager.is_kept(cached[owner] + k, manager.boundaries(calls)[owner])
            owner, k = owner[is_kept], k[is_kept]
            _name(manager, requests, calls, owner, (cached[owner] + k + 1) * size)
            put(tables.num_cached, calls.rows, full)
        for boundaries in manager.inner_boundaries(calls.num_prompt_tokens):
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
