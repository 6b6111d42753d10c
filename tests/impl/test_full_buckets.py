"""Keys that share bucket and tag, and more of them than a bucket has cells."""

import pytest
import torch

from pagedkv.impl.events import EventLog
from pagedkv.impl.keys import KeyStore
from pagedkv.impl.layout import BUCKET, NOBODY
from pagedkv.impl.pool import BlockPool
from pagedkv.spec import BlockHash, UnsupportedError

from .crowds import crowded, groups_in_one_place, homes_and_tags, is_clean, names

COUNT = 5 * BUCKET + 3


@pytest.fixture
def crowd(device: torch.device) -> KeyStore:
    """``COUNT`` keys of one bucket and one tag, each on the block of its number plus one."""
    store = KeyStore(COUNT + 1, device, EventLog(False))
    blocks = torch.arange(1, COUNT + 1, device=device)
    own = names([crowded(n) for n in range(COUNT)], [0] * COUNT, store)
    is_new, _ = store.add(blocks, own, blocks, keep_keys=True)
    assert is_new.all()
    return store


def name_of(store: KeyStore, block: int) -> bytes:
    """The name of a block's primary key."""
    key = store.primary_of(block)
    assert key is not None
    return key.name


def found(store: KeyStore, *numbers: int) -> list[int]:
    """The blocks that have held these keys longest."""
    return store.find(names([crowded(n) for n in numbers], [0] * len(numbers), store)).tolist()


def test_they_do_collide(crowd: KeyStore) -> None:
    last = crowd.buckets.num_buckets - 1
    homes, tags = homes_and_tags(names([crowded(n) for n in range(COUNT)], [0] * COUNT, crowd), crowd)
    assert (homes, len(tags)) == ({last}, 1)
    # From the last bucket on they go to the first: five are full, and every one was passed by the rest.
    in_use = (crowd.buckets.rows >= 0).sum(1).tolist()
    assert [in_use[(last + i) % (last + 1)] for i in range(7)] == [BUCKET] * 5 + [3, 0]
    passed = [int(crowd.buckets.passed[(last + i) % (last + 1)]) for i in range(7)]
    assert passed == [COUNT - BUCKET * (i + 1) for i in range(5)] + [0, 0]


def test_each_finds_its_own_block_and_a_stranger_none(crowd: KeyStore) -> None:
    assert found(crowd, *range(COUNT)) == list(range(1, COUNT + 1))
    assert found(crowd, COUNT, 5, COUNT + 300) == [NOBODY, 6, NOBODY]


@pytest.mark.parametrize("leaving", [range(BUCKET), range(0, COUNT, 2), range(COUNT - 1, 3, -1)])
def test_the_rest_are_found_when_some_leave(crowd: KeyStore, leaving: range) -> None:
    crowd.drop(torch.tensor(leaving, device=crowd.keys.first.device) + 1)
    assert found(crowd, *range(COUNT)) == [NOBODY if n in leaving else n + 1 for n in range(COUNT)]
    # Who comes next takes a cell near home, where a bucket was left.
    again = torch.tensor([leaving[0] + 1], device=crowd.keys.first.device)
    crowd.add(again, names([crowded(leaving[0])], [0], crowd), again, keep_keys=True)
    assert found(crowd, leaving[0]) == [leaving[0] + 1]
    crowd.drop(torch.arange(1, COUNT + 1, device=again.device))
    assert is_clean(crowd)


def test_nothing_is_left_behind(crowd: KeyStore) -> None:
    assert not is_clean(crowd)
    crowd.drop(torch.arange(1, COUNT + 1, device=crowd.keys.first.device))
    assert is_clean(crowd)


def test_a_key_is_its_whole_digest_its_length_and_its_group(device: torch.device) -> None:
    store = KeyStore(8, device, EventLog(False))
    keys = [(crowded(1), 0), (crowded(1, zeros=1), 0), (crowded(1), 1), (crowded(1, zeros=22), 1)]
    blocks = torch.arange(1, 5, device=device)
    asked = names([digest for digest, _ in keys], [group for _, group in keys], store)
    store.add(blocks, asked, torch.full_like(blocks, 4), keep_keys=True)
    assert store.find(asked).tolist() == [1, 2, 3, 4]
    assert [name_of(store, block) for block in (1, 2)] == [
        crowded(1) + bytes(4),
        crowded(1) + bytes(5),
    ]
    store.drop(blocks[:2])
    assert store.find(asked).tolist() == [NOBODY, NOBODY, 3, 4]


@pytest.mark.parametrize("differs_at", range(2, 32))
def test_every_byte_of_a_digest_counts(differs_at: int, device: torch.device) -> None:
    store = KeyStore(4, device, EventLog(False))
    digest = bytearray(crowded(0, zeros=22))
    digest[differs_at] ^= 1 << (differs_at % 8)
    both = names([crowded(0, zeros=22), BlockHash(bytes(digest))], [0, 0], store)
    blocks = torch.tensor([1, 2], device=device)
    store.add(blocks[:1], both.at(blocks[:1] - 1), blocks[:1], keep_keys=True)
    assert store.find(both).tolist() == [1, NOBODY]
    is_new, _ = store.add(blocks[1:], both.at(blocks[1:] - 1), blocks[1:], keep_keys=True)
    assert is_new.tolist() == [True]
    assert store.find(both).tolist() == [1, 2]
    assert len(store.all_keys()[1]) == 2


def test_groups_in_one_place_are_told_apart(device: torch.device) -> None:
    store = KeyStore(4, device, EventLog(False))
    digest, blocks = crowded(0), torch.tensor([1, 2], device=device)
    both = names([digest] * 2, list(groups_in_one_place(digest, store)), store)
    homes, tags = homes_and_tags(both, store)
    assert (len(homes), len(tags)) == (1, 1)
    store.add(blocks, both, blocks, keep_keys=True)
    assert store.find(both).tolist() == [1, 2]
    store.drop(blocks[:1])
    assert store.find(both).tolist() == [NOBODY, 2]


def test_a_digest_that_is_too_long_is_refused(device: torch.device) -> None:
    store = KeyStore(4, device, EventLog(False))
    assert len(crowded(0, zeros=22)) == 32
    with pytest.raises(UnsupportedError, match="33 bytes"):
        names([crowded(0), BlockHash(bytes(33))], [0, 0], store)
    pool = BlockPool(4, True, 1, device=device)
    with pytest.raises(UnsupportedError, match="33 bytes"):
        pool.get_cached_block(BlockHash(bytes(33)), [0])
