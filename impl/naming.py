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
    for manager in coordinator.single_type_managers:
        size, tables, lengths = manager.block_size, manager.tables, _cacheable(coordinator, manager, calls)
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
            owner = _names_inside(manager, calls, boundaries, lengths).nonzero().view(-1)
            _name(manager, requests, calls, owner, boundaries[owner])
            put(tables.named_partial, calls.rows[owner], boundaries[owner])


def num_naming_inside(coordinator: KVCacheCoordinator, calls: Calls) -> int:
    """How many of the calls name a block by what ends inside it. Changes nothing."""
    names = torch.zeros_like(calls.rows, dtype=torch.bool)
    for manager in coordinator.single_type_managers:
        lengths = _cacheable(coordinator, manager, calls)
        for boundaries in manager.inner_boundaries(calls.num_prompt_tokens):
            names |= _names_inside(manager, calls, boundaries, lengths)
    return int(names.sum())


def _cacheable(coordinator: KVCacheCoordinator, manager: SingleTypeKVCacheManager, calls: Calls) -> Tensor:
    """Up to where each row has keys after its call, int64 [n]."""
    final = torch.minimum(calls.ends, calls.num_tokens)
    if coordinator.shared_ahead is not None:
        final = torch.minimum(final, calls.num_prompt_tokens + coordinator.shared_ahead)
    aligned = final - final % coordinator.alignment
    beyond = manager.block_size * (aligned > 0) if manager.use_eagle else 0
    return torch.minimum(final, aligned + beyond)


def _names_inside(
    manager: SingleTypeKVCacheManager, calls: Calls, boundaries: Tensor, lengths: Tensor
) -> Tensor:
    """Which calls name a block by what ends inside it at ``boundaries`` [n], bool [n]."""
    named = manager.tables.named_partial[calls.rows].long()
    is_due = manager.names_partial(named, boundaries, calls.ends, lengths)
    return is_due & (boundaries % manager.block_size > 0)


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
