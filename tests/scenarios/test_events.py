"""What consumers are told of the index, and that it is enough to have the index themselves."""

from collections.abc import Iterable
from types import ModuleType
from typing import Any

import pytest

from pagedkv.spec import (
    AllBlocksCleared,
    BlockRemoved,
    BlockStored,
    MultiModalFeature,
    Request,
    get_request_block_hasher,
    sha256,
)
from pagedkv.spec.hashing import CacheSalt, LoraName, MultiModalKey

from .build import (
    ATTENTION,
    BLOCK,
    STATE,
    UNIT,
    admit,
    attention,
    decode,
    deployment,
    hybrid,
    publish,
    request,
    table,
    window,
    words,
)
from .consumer import replayed


def told(events: Iterable[Any]) -> list[tuple[str, int, int]]:
    """Events as what happened, in which group, and how many tokens' end or, of removals, how many keys."""
    said = []
    for event in events:
        match event:
            case BlockStored():
                said.append(("stored", event.group_idx, event.start + len(event.token_ids)))
            case BlockRemoved():
                said.append(("removed", event.group_idx, len(event.block_hashes)))
            case AllBlocksCleared():
                said.append(("cleared", 0, 0))
    return said


def test_without_the_option_nothing_is_told(side: ModuleType) -> None:
    manager = hybrid(side)
    publish(manager, "owner", words(20))
    manager.reset_prefix_cache()
    assert manager.take_events() == []
    assert manager.block_pool.take_events() == []


def test_a_prompt_is_stored_group_by_group(side: ModuleType) -> None:
    manager = hybrid(side, BLOCK, enable_kv_cache_events=True)
    owner = publish(manager, "owner", words(20))
    first, partial, state = manager.take_events()
    assert told([first, partial, state]) == [
        ("stored", ATTENTION, 12),
        ("stored", ATTENTION, 20),
        ("stored", STATE, 20),
    ]
    assert first == BlockStored(
        (owner.block_hashes[2],), None, 0, tuple(words(12)), BLOCK, ATTENTION, None, (None,) * 3
    )
    # A partial entry has the tokens from its block's start.
    assert partial == BlockStored(
        (owner.block_hashes[4],),
        owner.block_hashes[2],
        12,
        tuple(words(8, first=112)),
        BLOCK,
        ATTENTION,
        None,
        (None,) * 2,
    )
    # The state of the block before was never kept: the consumer knows no such parent.
    assert (state.parent_block_hash, state.start) == (None, 12)
    assert manager.take_events() == []


def test_a_promotion_in_attention_tells_the_new_key_alone(side: ModuleType) -> None:
    manager = hybrid(side, BLOCK, enable_kv_cache_events=True)
    owner = publish(manager, "owner", words(20))
    known = replayed(manager.take_events())
    decode(manager, owner, *words(4, first=120))
    events = manager.take_events()
    # The state's entry of 20 tokens moves away, and stays.
    assert told(events) == [("stored", ATTENTION, 24), ("stored", STATE, 24)]
    assert events[0].parent_block_hash == owner.block_hashes[2]
    assert replayed(events, known) == manager.snapshot().index.keys()


@pytest.mark.parametrize("keep", [True, False], ids=["attention", "states"])
def test_a_superseded_key_is_removed_before_the_new_one_is_stored(side: ModuleType, keep: bool) -> None:
    pool = side.BlockPool(8, True, UNIT, enable_kv_cache_events=True)
    asker = request("asker", words(BLOCK))
    (block,) = pool.get_new_blocks(1)
    pool.cache_partial_block(asker, block, 8, 0, BLOCK, keep_keys=keep)
    pool.cache_full_blocks(asker, [block], 0, 1, BLOCK, 0, keep_keys=keep)
    removed = [] if keep else [("removed", 0, 1)]
    assert told(pool.take_events()) == [("stored", 0, 8), *removed, ("stored", 0, 12)]


def test_a_key_goes_with_its_last_holder(side: ModuleType) -> None:
    manager = deployment(side, attention(UNIT), enable_kv_cache_events=True)
    older = publish(manager, "older", words(8))
    manager.take_events()
    younger = request("younger", words(8))
    assert manager.allocate_slots(younger, 8) is not None
    assert manager.take_events() == []
    manager.evict_blocks({table(manager, "older", 0)[1]})
    assert manager.take_events() == []
    manager.evict_blocks({table(manager, "younger", 0)[1]})
    assert manager.take_events() == [BlockRemoved((older.block_hashes[1],), 0)]


def test_a_move_of_keys_is_no_event(side: ModuleType) -> None:
    pool = side.BlockPool(8, True, UNIT, enable_kv_cache_events=True)
    asker = request("asker", words(BLOCK))
    source, target = pool.get_new_blocks(2)
    pool.cache_full_blocks(asker, [source], 0, 1, BLOCK, 0)
    pool.take_events()
    pool.move_block_hashes(source, target)
    assert pool.take_events() == []
    pool.evict_blocks({target.block_id})
    assert told(pool.take_events()) == [("removed", 0, 1)]


def test_reuse_tells_what_is_lost_before_what_is_stored(side: ModuleType) -> None:
    manager = deployment(side, attention(UNIT), num_blocks=4, enable_kv_cache_events=True)
    manager.free(publish(manager, "first", words(12)))
    known = replayed(manager.take_events())
    publish(manager, "second", words(8, first=500))
    events = manager.take_events()
    assert told(events) == [("removed", 0, 1), ("removed", 0, 1), ("stored", 0, 4), ("stored", 0, 8)]
    # Tails go first, so what is left still hangs together.
    assert replayed(events, known) == manager.snapshot().index.keys()
    assert len(manager.snapshot().index) == 3


def test_a_parent_that_was_evicted_is_not_named(side: ModuleType) -> None:
    manager = deployment(side, attention(UNIT), enable_kv_cache_events=True)
    owner = publish(manager, "owner", words(8))
    manager.evict_blocks({table(manager, "owner", 0)[1]})
    manager.take_events()
    decode(manager, owner, *words(8, first=108))
    third, fourth = manager.take_events()
    assert (third.start, third.parent_block_hash) == (8, None)
    assert (fourth.start, fourth.parent_block_hash) == (12, owner.block_hashes[2])


def test_blocks_that_no_hit_reads_are_not_announced(side: ModuleType) -> None:
    manager = deployment(side, attention(BLOCK), window(UNIT, 5), enable_kv_cache_events=True)
    publish(manager, "owner", words(24))
    events = manager.take_events()
    # Of the window each hit reads the last block before its end, of every twelve tokens.
    assert told(events) == [("stored", 0, 12), ("stored", 0, 24), ("stored", 1, 12), ("stored", 1, 24)]
    assert [event.parent_block_hash for event in events[2:]] == [None, None]
    assert replayed(events) == manager.snapshot().index.keys()


def test_withdrawn_keys_are_announced_removed(side: ModuleType) -> None:
    manager = hybrid(side, enable_kv_cache_events=True)
    asker = request("asker", words(20))
    assert admit(manager, asker) is not None
    stored = replayed(manager.take_events())
    manager.free(asker, withdraw=True)
    events = manager.take_events()
    assert {kind for kind, *_ in told(events)} == {"removed"}
    assert replayed(events, stored) == set()
    assert stored


def test_a_reset_is_told_as_one(side: ModuleType) -> None:
    manager = hybrid(side, enable_kv_cache_events=True)
    owner = publish(manager, "owner", words(20))
    manager.take_events()
    assert not manager.reset_prefix_cache()
    assert manager.take_events() == []
    manager.free(owner)
    assert manager.take_events() == []
    assert manager.reset_prefix_cache()
    assert manager.take_events() == [AllBlocksCleared()]


def test_extra_keys_are_told_per_unit(side: ModuleType) -> None:
    manager = deployment(side, attention(2 * UNIT), enable_kv_cache_events=True)
    asker = Request(
        "asker",
        words(2 * UNIT),
        block_hasher=get_request_block_hasher(UNIT, sha256),
        cache_salt="salt",
        lora_name="adapter",
        mm_features=[MultiModalFeature("cat", 3, 3)],
    )
    assert manager.allocate_slots(asker, 2 * UNIT) is not None
    (event,) = manager.take_events()
    assert event.lora_name == "adapter"
    assert event.extra_keys == (
        (LoraName("adapter"), CacheSalt("salt"), MultiModalKey("cat", 3)),
        (LoraName("adapter"), MultiModalKey("cat", -1)),
    )


def test_a_copy_tells_on_its_own(side: ModuleType) -> None:
    manager = hybrid(side, enable_kv_cache_events=True)
    owner = publish(manager, "owner", words(20))
    twin = manager.copy()
    events = manager.take_events()
    assert twin.take_events() == events != []
    manager.free(owner)
    assert manager.reset_prefix_cache()
    assert told(manager.take_events()) == [("cleared", 0, 0)]
    assert twin.take_events() == []
    twin.evict_blocks(range(1, 40))
    assert replayed(twin.take_events(), replayed(events)) == set()
