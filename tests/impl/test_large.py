"""A million blocks, and a prefix of more than a million tokens."""

import hashlib
from itertools import islice

import pytest
import torch

from pagedkv.impl import KVCacheManager
from pagedkv.impl.events import EventLog
from pagedkv.impl.keys import KeyStore
from pagedkv.impl.layout import DIGEST_WORDS, NOBODY
from pagedkv.impl.ops.fixed import Names
from pagedkv.impl.pool import BlockPool
from pagedkv.spec import KVCacheConfig, KVCacheGroupSpec, Request, get_request_block_hasher, init_none_hash
from pagedkv.spec.hashing import HashTriple
from tests.scenarios.build import attention

from .crowds import is_clean
from .inventory import inventory_of

MILLION = 1_000_000
BLOCK = 64
TOKENS = 2**20 + 5 * BLOCK + 7
"""More than a million, in 16390 blocks, the last of them not full."""


def quick_hash(triple: HashTriple) -> bytes:
    """A digest by the parent and the first token, which is enough where prefixes differ there."""
    first = b"".join(token.to_bytes(4, "little") for token in islice(triple.token_ids, 1))
    return hashlib.blake2b(triple.parent + first, digest_size=32).digest()


@pytest.fixture
def manager(device: torch.device) -> KVCacheManager:
    """One group of attention over a million blocks."""
    init_none_hash(quick_hash, seed="tests")
    config = KVCacheConfig(MILLION, [], [KVCacheGroupSpec(["layer"], attention(BLOCK))])
    return KVCacheManager(config, MILLION * BLOCK, BLOCK, BLOCK, device=device)


def long_request(name: str, length: int) -> Request:
    """A request of the one long text."""
    return Request(name, list(range(length)), block_hasher=get_request_block_hasher(BLOCK, quick_hash))


def test_a_million_tokens_are_cached_found_evicted_by_use_and_reset(manager: KVCacheManager) -> None:
    pool, width = manager.block_pool, -(-TOKENS // BLOCK)
    # So that the prefix gets the last ids, whoever comes first holds all others.
    first = Request("first", [0])
    assert manager.allocate_slots(first, (MILLION - 1 - width) * BLOCK, delay_cache_blocks=True) is not None
    owner = long_request("owner", TOKENS)
    assert manager.allocate_slots(owner, TOKENS) is not None
    (table,) = manager.get_block_ids("owner")
    assert table == list(range(MILLION - width, MILLION))
    assert manager.usage == 1.0
    manager.free(owner)
    manager.new_step_starts()

    newcomer = long_request("newcomer", TOKENS + 1)
    blocks, hit, _ = manager.get_computed_blocks(newcomer)
    assert hit == TOKENS // BLOCK * BLOCK > MILLION
    assert list(blocks.get_block_ids()[0]) == table[:-1]
    assert pool.blocks[table[-2]].block_hash_num_tokens == hit
    shorter = long_request("shorter", BLOCK * 9000)
    blocks, hit, _ = manager.get_computed_blocks(shorter)
    assert (hit, list(blocks.get_block_ids()[0])) == (BLOCK * 8999, table[:8999])

    # The last block had no key and goes first; after it, from its end, goes the prefix.
    other = Request("other", [0])
    assert manager.allocate_slots(other, BLOCK * 391, delay_cache_blocks=True) is not None
    assert manager.get_block_ids("other") == (table[:-392:-1],)
    blocks, hit, _ = manager.get_computed_blocks(newcomer)
    assert (hit, list(blocks.get_block_ids()[0])) == (BLOCK * (width - 391), table[: width - 391])
    assert manager.allocate_slots(newcomer, TOKENS + 1 - hit, hit, blocks) is None
    assert not manager.reset_prefix_cache()
    manager.free(first)
    manager.free(other)
    assert manager.allocate_slots(newcomer, TOKENS + 1 - hit, hit, blocks) is not None
    assert manager.get_block_ids("newcomer")[0][: width - 391] == table[: width - 391]
    assert (
        pool.queued().sort().values.tolist() == (pool.ref_counts[1:] == 0).nonzero().view(-1).add(1).tolist()
    )
    manager.free(newcomer)
    assert manager.reset_prefix_cache()
    assert manager.get_computed_blocks(shorter)[1] == 0
    assert pool.get_num_free_blocks() == MILLION - 1
    assert not bool(pool.ref_counts.any())


def test_every_one_of_a_million_blocks_is_taken_once(device: torch.device) -> None:
    pool = BlockPool(MILLION, True, 1, device=device)
    ids = pool.take(MILLION - 1)
    assert torch.equal(ids.cpu(), torch.arange(1, MILLION))
    pool.release(ids.flip(0))
    assert torch.equal(pool.queued(), ids.flip(0))
    assert torch.equal(pool.take(MILLION - 1), ids.flip(0))


def test_a_hundred_thousand_keys_are_found(device: torch.device) -> None:
    store = KeyStore(MILLION, device, EventLog(False))
    blocks = torch.arange(7, MILLION, 10, device=device)
    random = torch.Generator().manual_seed(0)
    digest = torch.randint(2**62, (len(blocks), DIGEST_WORDS), generator=random).to(device)
    names = Names(digest, torch.full_like(blocks, 32, dtype=torch.uint8), blocks // 10 % 2)
    is_new, entered = store.add(blocks, names, blocks + 1, keep_keys=False)
    assert bool(is_new.all())
    assert len(entered) == len(blocks)
    assert torch.equal(store.find(names), blocks)
    assert bool((store.find(names._replace(group=1 - names.group)) == NOBODY).all())
    store.drop(blocks[::2])
    assert bool((store.find(names)[::2] == NOBODY).all())
    assert torch.equal(store.find(names)[1::2], blocks[1::2])
    store.drop(blocks[1::2])
    assert is_clean(store)


def test_a_new_manager_takes_few_bytes_per_block(manager: KVCacheManager) -> None:
    assert sum(tensor.nbytes for tensor in inventory_of(manager).tensors.values()) < 25 * MILLION
