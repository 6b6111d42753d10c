"""How a request gets blocks."""

from typing import NamedTuple

import torch
from torch import Tensor

from .calls import Asked, calls_of
from .coordinator import KVCacheCoordinator
from .layout import NOBODY
from .ledger import COPY
from .naming import publish
from .single_type import Growth, SingleTypeKVCacheManager


class Share(NamedTuple):
    """What one group takes part with."""

    kept: Tensor
    """The blocks of the hit that the row begins with, null where no step reads them, int64 [n]."""
    loaded: int
    """Blocks for what others have computed."""
    growth: Growth
    source: Tensor
    """The block whose partial entry moves away, int64 [0 or 1]."""
    private: int
    """Blocks that a copy fills."""
    whole: int
    """Blocks that the whole sequence takes, with those loaded, as far as they are held at a time."""

    @property
    def taken(self) -> int:
        """New blocks beside those loaded."""
        return int(self.growth.taken)


def allocate(coordinator: KVCacheCoordinator, asked: Asked) -> list[Tensor] | None:
    """Places for the tokens of a call, after its hit and what others have computed.

    Answers the new entries per group, or None if they do not fit, or the hit is still being filled.
    """
    pool, ledger, managers = coordinator.pool, coordinator.ledger, coordinator.single_type_managers
    row = ledger.rows.get(asked.request.request_id, NOBODY)
    shares = [_share(manager, row, asked, asked.hits[g]) for g, manager in enumerate(managers)]
    for g, manager in enumerate(managers):
        first_reads = manager.reads_before_forward(shares[g].kept, asked.hit)
        if len(first_reads) and bool(ledger.is_filled(g, first_reads).any()):
            return None
    kept = [share.kept for share in shares if len(share.kept)]
    num_queued = sum(int(((ids != 0) & (pool.ref_counts[ids] == 0)).sum()) for ids in kept)
    num_new = max(sum(share.loaded + share.taken for share in shares), sum(share.whole for share in shares))
    if num_new + sum(share.private for share in shares) + num_queued > pool.queue.free - asked.spare:
        return None

    if row == NOBODY:
        row = ledger.open(asked.request.request_id)
        for manager, share in zip(managers, shares, strict=True):
            pool.hold(share.kept)
            manager.start(row, share.kept, asked.hit)
    # All that is loaded comes before all that is new.
    parts = [share.loaded for share in shares] + [n for s in shares for n in (s.private, s.taken)]
    blocks = pool.take(sum(parts)).split(parts)
    calls = calls_of([asked.request], [row], [asked.local], [asked.end], pool.device)
    answered = []
    for g, (manager, share) in enumerate(zip(managers, shares, strict=True)):
        loaded, (own, new) = blocks[g], blocks[len(shares) + 2 * g :][:2]
        if share.loaded:
            manager.append(calls.rows, Growth.of_blocks(share.loaded, calls.rows), loaded)
            manager.list_new(loaded[: share.loaded * asked.lists_loaded])
        if len(share.source):
            move_own_entry(manager, row, share.source, own)
        elif share.private:
            private_copy(manager, row, own)
        if not manager.keeps_keys:
            # Whatever it was, the next allocation has come: the state goes on.
            manager.tables.named_partial[row] = 0
        entries, _ = manager.append(calls.rows, share.growth, new)
        mine = own[: share.private * (asked.hit > 0)]
        manager.list_new(torch.cat([mine, new]))
        answered.append(torch.cat([mine, entries]))
        ledger.fill(g, *manager.written(calls.rows, calls.starts, calls.ends))
    if asked.publishes:
        publish(coordinator, [asked.request], calls)
    return answered


def _share(manager: SingleTypeKVCacheManager, row: int, asked: Asked, hit: Tensor) -> Share:
    """What the group takes part with. Changes nothing."""
    size, is_first, kept = manager.block_size, row == NOBODY, hit
    if is_first:
        skipped = manager.get_num_skipped_tokens(asked.start) // size
        kept = torch.cat([hit.new_zeros(skipped), hit[skipped:]])
    length = len(kept) if is_first else int(manager.tables.length[row])
    loaded = max(0, asked.start + size - 1 - length * size) // size * (is_first and manager.takes_hits)
    lengths = hit.new_tensor([length + loaded])
    slots = hit.new_tensor([manager.slots(asked)])
    growth = manager.growth(lengths, hit.new_tensor([asked.end]), slots, is_first)
    source = hit[:0] if is_first else own_entry(manager, row)
    whole = 0
    if asked.whole:
        end = hit.new_tensor([asked.whole])
        slots = hit.new_tensor([manager.slots(asked._replace(slots=asked.whole))])
        whole = loaded + int(manager.growth(lengths, end, slots, is_first).taken)
        if manager.admission_cap is not None:
            held = kept if is_first else manager.row(row)
            whole = min(whole, max(0, manager.admission_cap - int((held != 0).sum())))
    return Share(kept, loaded, growth, source, len(source) + (asked.hit % size > 0), whole)


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


def is_taken_by_others(manager: SingleTypeKVCacheManager, row: int) -> bool:
    """Whether another request holds a block that this pass publishes and fills for the request in ``row``."""
    ledger, group = manager.ledger, manager.kv_cache_group_id
    published = ledger.published_for(row)
    blocks = published[published[:, 0] == group, 2].unique()
    blocks = blocks[ledger.filled_by(group, blocks, row)]
    # Most are held by nobody else: only for the others all tables have to be looked through.
    is_held = row in ledger.rows.values()
    blocks = blocks[manager.block_pool.ref_counts[blocks] > int(is_held)]
    if not len(blocks):
        return False
    others = [other for other in ledger.rows.values() if other != row]
    tables = manager.tables.blocks[torch.tensor(others, dtype=torch.int64, device=blocks.device)]
    return bool(torch.isin(tables, blocks.to(torch.int32)).any())
