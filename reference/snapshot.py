"""The model's state in neutral form."""

from collections.abc import Mapping, Sequence

from pagedkv.spec import BlockHashWithGroupId, Snapshot
from pagedkv.spec.snapshot import CopyName, HandOffName, Marks

from .kinds import MambaManager
from .pool import BlockPool
from .single_type import SingleTypeKVCacheManager


def snapshot_of(
    pool: BlockPool, managers: Sequence[SingleTypeKVCacheManager], pins: Mapping[str, Sequence[int]]
) -> Snapshot[BlockHashWithGroupId]:
    """Everything that the clauses name as state. Changes nothing."""
    requests = managers[0].rows
    return Snapshot(
        ref_counts=tuple(pool.ref_counts),
        keys=tuple(tuple(key.name for key in keys) for keys in pool.keys),
        queue=tuple(pool.queue),
        index=dict(pool.index),
        tables={r: tuple(tuple(m.rows[r]) for m in managers) for r in requests},
        num_cached={r: tuple(m.num_cached_block[r] for m in managers) for r in requests},
        copies=tuple(CopyName(m.kv_cache_group_id, src, dst) for m in managers for src, dst in m.copies),
        hand_offs=tuple(
            HandOffName(entry.request_id, m.kv_cache_group_id, entry.block_id, entry.num_tokens)
            for m in managers
            if isinstance(m, MambaManager)
            for entry in m.hand_offs
        ),
        pins={request_id: tuple(ids) for request_id, ids in pins.items()},
        marks=Marks(
            tuple(frozenset(m.filled) for m in managers),
            tuple(frozenset((p.request_id, p.block_id, p.key.name) for p in m.published) for m in managers),
            tuple(dict(m.named_partial) for m in managers),
        ),
        to_zero=tuple(tuple(m.new_block_ids) for m in managers),
    )
