"""The state of the tensors in neutral form."""

from pagedkv.spec import BlockHashWithGroupId, Snapshot, make_block_hash_with_group_id
from pagedkv.spec.snapshot import CopyName, HandOffName, Marks

from .coordinator import KVCacheCoordinator
from .digests import digests_of
from .layout import DIGEST_WORDS, Tables
from .ledger import WITHDRAWN, Ledger


def snapshot_of(coordinator: KVCacheCoordinator) -> Snapshot[BlockHashWithGroupId]:
    """Everything that the clauses name as state. Changes nothing."""
    pool, ledger, managers = coordinator.pool, coordinator.ledger, coordinator.single_type_managers
    names = {row: request_id for request_id, row in (ledger.gone | ledger.rows).items()}
    by_block, index = pool.keys.all_keys()
    rows = [_rows_of(m.tables) for m in managers]
    num_cached = [m.tables.num_cached.tolist() for m in managers]
    by_group = sorted(ledger.copies.rows.tolist(), key=lambda entry: entry[0])
    pins: dict[str, tuple[int, ...]] = {}
    for row, block in ledger.pins.rows.tolist():
        pins[names[row]] = (*pins.get(names[row], ()), block)
    return Snapshot(
        ref_counts=tuple(pool.ref_counts.tolist()),
        keys=tuple(tuple(key.name for key in keys) for keys in by_block),
        queue=tuple(pool.queued().tolist()),
        index=index,
        tables={r: tuple(of_group[row] for of_group in rows) for r, row in ledger.rows.items()},
        num_cached={r: tuple(of_group[row] for of_group in num_cached) for r, row in ledger.rows.items()},
        copies=tuple(CopyName(*entry) for entry in by_group),
        hand_offs=tuple(
            HandOffName(names[row], group, block, num_tokens)
            for row, group, block, num_tokens in sorted(
                ledger.hand_offs.rows.tolist(), key=lambda entry: entry[1]
            )
        ),
        pins=pins,
        marks=_marks(coordinator, ledger, names),
        to_zero=tuple(
            tuple(ledger.new.rows[ledger.new.rows[:, 0] == m.kv_cache_group_id, 1].tolist()) for m in managers
        ),
    )


def _rows_of(tables: Tables) -> list[tuple[int, ...]]:
    """The entries of each row."""
    lengths = tables.length.tolist()
    return [tuple(row[:length]) for row, length in zip(tables.blocks.tolist(), lengths, strict=True)]


def _marks(
    coordinator: KVCacheCoordinator, ledger: Ledger, names: dict[int, str]
) -> Marks[BlockHashWithGroupId]:
    managers = coordinator.single_type_managers
    # A block that several groups had in one pass may be marked again: the last mark of each counts.
    fillers = {(group, block): filler for group, block, filler in ledger.filled.rows.tolist()}
    filled: list[set[int]] = [set() for _ in managers]
    for (group, block), filler in fillers.items():
        if filler != WITHDRAWN:
            filled[group].add(block)
    published: list[set[tuple[str, int, BlockHashWithGroupId]]] = [set() for _ in managers]
    entries = ledger.published.rows
    digests = digests_of(entries[:, -DIGEST_WORDS:], entries[:, 4])
    for (group, row, block, *_), digest in zip(entries.tolist(), digests, strict=True):
        key = make_block_hash_with_group_id(digest, group)
        published[group].add((names[row], block, key))
    boundaries = [m.tables.named_partial.tolist() for m in managers]
    named = tuple(
        {r: of_group[row] for r, row in ledger.rows.items() if of_group[row]} for of_group in boundaries
    )
    return Marks(tuple(map(frozenset, filled)), tuple(map(frozenset, published)), named)
