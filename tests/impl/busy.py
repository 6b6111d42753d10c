"""A history after which a manager holds something of every sort."""

from collections import Counter
from typing import Any

from pagedkv.impl import KVCacheManager
from pagedkv.spec import BlockHashWithGroupId, Request, Snapshot, make_block_hash_with_group_id
from tests.scenarios.build import BLOCK, STATE, admit, decode, hybrid, publish, request, words
from tests.scenarios.sides import load

SHORT, LONG = BLOCK + 8, 50 * BLOCK + 8
"""Tokens of a prompt whose last unit boundary is inside a block."""


def busy(num_tokens: int, **options: Any) -> tuple[KVCacheManager, list[Request]]:
    """A manager and its requests: two that run, one that is done, and one whose work was withdrawn."""
    num_blocks = 30 + 3 * num_tokens // BLOCK
    manager: KVCacheManager = hybrid(
        load("impl"), BLOCK, num_blocks=num_blocks, speculative=1, zeroes=True, **options
    )
    done = publish(manager, "done", words(num_tokens, first=5000))
    older = publish(manager, "older", words(num_tokens))
    younger = publish(manager, "younger", words(num_tokens))
    manager.free(done)
    manager.new_step_starts()
    decode(manager, older, *words(4, first=7))
    manager.take_kv_cache_block_copies()
    manager.take_partial_tail_offloads()
    decode(manager, younger, 7)
    withdrawn = request("withdrawn", words(num_tokens, first=9000))
    assert admit(manager, withdrawn) is not None
    manager.free(withdrawn, withdraw=True)
    assert admit(manager, request("too long", words(4000, first=20000))) is None
    return manager, [older, younger, done, withdrawn]


def sorts_held(state: Snapshot[BlockHashWithGroupId], withdrawn: Request) -> dict[str, bool]:
    """By sort, whether there is something of it in the state."""
    marks = state.marks
    assert marks is not None
    entries = Counter(block for table in state.tables.values() for row in table for block in row)
    pinned = Counter(block for blocks in state.pins.values() for block in blocks)
    of_copies = Counter(block for copy in state.copies for block in (copy.src, copy.dst))
    # What is held by neither table nor pin nor queued copy is kept for a copy that was drained.
    retained = [
        count - entries[block] - pinned[block] - of_copies[block]
        for block, count in enumerate(state.ref_counts)
        if block
    ]
    gone = {make_block_hash_with_group_id(digest, STATE) for digest in withdrawn.block_hashes}
    return {
        "duplicates of one key": any(len(holders) > 1 for holders in state.index.values()),
        "null blocks": entries[0] > 0,
        "secondary keys": any(len(keys) > 1 for keys in state.keys),
        "moved entries": bool(state.copies and state.hand_offs),
        "pins": bool(pinned),
        "blocks to zero": any(state.to_zero),
        "retentions": sum(retained) > 0 and min(retained) == 0,
        "withdrawn work": not gone & state.index.keys() and withdrawn.request_id not in state.tables,
        "keys of this pass": any(marks.published),
        "partial entries": any(marks.named_partial),
        "blocks of this pass": any(marks.filled),
    }
