"""Whether a snapshot and an answer can be read at all. What cannot be read breaks a clause too."""

from collections.abc import Iterator, Sequence

from pagedkv.spec import World
from pagedkv.spec.clauses import allocation, copies, hit, index, pool, worker
from pagedkv.spec.life import Life
from pagedkv.spec.outcomes import Allocated, Outcome, Viewed, Waits
from pagedkv.spec.snapshot import KeyName, Rows, Snapshot

from .breach import Breach


def unreadable(world: World, snapshot: Snapshot[KeyName]) -> Iterator[Breach]:
    """Ids, groups and keys of the snapshot that do not exist, and parts that are missing."""
    size, num_groups = world.num_blocks, len(world.groups)
    if len(snapshot.ref_counts) != size:
        yield Breach(pool.COUNT_IS_HOLDERS, f"{len(snapshot.ref_counts)} counts for {size} blocks")
    if len(snapshot.keys) != size:
        yield Breach(index.BOTH_WAYS, f"keys of {len(snapshot.keys)} blocks, there are {size}")
    if _strays(snapshot.queue, size):
        yield Breach(pool.QUEUED_WHEN_UNHELD, f"the queue is {list(snapshot.queue)} of {size} blocks")
    for request, rows in snapshot.tables.items():
        if len(rows) != num_groups:
            yield Breach(allocation.COVERS_THE_TOKENS, f"request {request} has rows {rows}")
        for row in rows:
            if _strays(row, size):
                yield Breach(pool.COUNT_IS_HOLDERS, f"request {request} holds {list(row)} of {size} blocks")
    counted = snapshot.num_cached
    if counted.keys() != snapshot.tables.keys() or any(len(c) != num_groups for c in counted.values()):
        yield Breach(
            allocation.FULL_BLOCKS_BECOME_KEYS,
            f"blocks made keys are counted for {dict(counted)}, the tables are {dict(snapshot.tables)}",
        )
    for copy in snapshot.copies:
        if _strays(copy[1:], size) or not 0 <= copy.group < num_groups:
            yield Breach(pool.COUNT_IS_HOLDERS, f"{copy} is queued, of {size} blocks and {num_groups} groups")
    for entry in snapshot.hand_offs:
        if _strays((entry.block,), size) or not 0 <= entry.group < num_groups:
            yield Breach(copies.HAND_OFF, f"{entry} is listed, of {size} blocks and {num_groups} groups")
    for request, pinned in snapshot.pins.items():
        if _strays(pinned, size):
            yield Breach(pool.COUNT_IS_HOLDERS, f"request {request} pins {list(pinned)} of {size} blocks")
    for key, blocks in snapshot.index.items():
        if not blocks or _strays(blocks, size):
            yield Breach(index.BOTH_WAYS, f"the index lists {list(blocks)} of {size} blocks for {key}")
    for key in {*snapshot.index, *(key for keys in snapshot.keys for key in keys)}:
        if not (
            0 <= key.group < num_groups
            and 0 <= key.prompt < len(world.prompts)
            and 0 < key.num_tokens <= len(world.prompts[key.prompt].tokens)
        ):
            yield Breach(worker.KEYS_TELL_THE_TRUTH, f"{key} is a key and names nothing")


def unreadable_answer(world: World, life: Life | None, outcome: Outcome) -> Iterator[Breach]:
    """Rows of an answer that lack groups or name blocks that do not exist, and hits of impossible length."""
    if isinstance(outcome, (Allocated, Waits, Viewed)) and outcome.found:
        found = outcome.found
        if not _is_table(world, found.rows):
            yield Breach(hit.BLOCKS_COVER_IT, f"the rows of a hit are {found.rows}")
        if life and not 0 <= found.hit < life.num_tokens:
            yield Breach(hit.LEAVES_A_TOKEN, f"a hit of {found.hit} for {life}")
    if isinstance(outcome, Allocated) and outcome.rows is not None and not _is_table(world, outcome.rows):
        yield Breach(allocation.ANSWERS_NEW_ENTRIES, f"the answer is {outcome.rows}")


def _is_table(world: World, rows: Rows) -> bool:
    return len(rows) == len(world.groups) and not any(_strays(row, world.num_blocks) for row in rows)


def _strays(blocks: Sequence[int], size: int) -> bool:
    return bool(blocks) and (min(blocks) < 0 or max(blocks) >= size)
