"""The store of keys, step by step with two dictionaries, on digests that all collide."""

from collections import Counter
from collections.abc import Iterable
from random import Random

import torch
from torch import Tensor

from pagedkv.impl.events import EventLog
from pagedkv.impl.keys import KeyStore
from pagedkv.impl.ops.fixed import Names
from pagedkv.spec import BlockHash, BlockRemoved, get_block_hash, get_group_id, make_block_hash_with_group_id
from pagedkv.spec.blocks import Key

from .crowds import crowded, is_clean, names
from .key_model import KeyModel, key_of

NUM_BLOCKS = 40
FEW = [key_of(crowded(n, zeros), group, 1 + n) for n in range(3) for zeros in (0, 1) for group in (0, 1)]
"""So few that most blocks share them; pairs differ in length only, or in the group."""
MANY = [key_of(crowded(n), 0, 1 + n % 5) for n in range(3, 40)]
"""So many that they fill one bucket after the other."""


class Pair:
    """A store and its model, to which the same is done."""

    def __init__(self, device: torch.device, rng: Random, seen: Counter[str]) -> None:
        self.store, self.model = KeyStore(NUM_BLOCKS, device, EventLog(True)), KeyModel()
        self.told: set[bytes] = set()
        self.device, self.rng, self.seen = device, rng, seen

    def step(self) -> None:
        """Do something, and compare."""
        ways = {
            self.add_some: 6,
            self.add_one_to_many: 3,
            self.add_many_to_one: 4,
            self.add_whole_crowd: 1,
            self.drop_some: 4,
            self.drop_all_holders: 2,
            self.withdraw: 5,
            self.move: 5,
        }
        (way,) = self.rng.choices([*ways], [*ways.values()])
        way()
        self.compare()

    def add_some(self) -> None:
        keep, blocks = self.rng.random() < 0.5, self._blocks(20)
        self._add([(block, self.rng.choice(self.rng.choice((FEW, MANY)))) for block in blocks], keep)

    def add_one_to_many(self) -> None:
        key = self.rng.choice(FEW)
        self._add([(block, key) for block in self._blocks(NUM_BLOCKS)], keep=True)

    def add_many_to_one(self) -> None:
        (block,), keep = self._blocks(1), self.rng.random() < 0.8
        for key in self.rng.sample(FEW, 4):
            self._add([(block, key)], keep)

    def add_whole_crowd(self) -> None:
        blocks = self.rng.sample(range(NUM_BLOCKS), len(MANY))
        self._add(list(zip(blocks, MANY, strict=True)), keep=True)

    def drop_some(self) -> None:
        self._drop(self._blocks(NUM_BLOCKS // 2))

    def drop_all_holders(self) -> None:
        self._drop(self.model.holders.get(self.rng.choice(FEW).name, []).copy())

    def withdraw(self) -> None:
        (block,) = self._blocks(1, chosen=self.model.by_block)
        has = self.model.by_block.get(block, [])
        key = self.rng.choice([*has, FEW[0]])
        self.seen["a key that is not the primary is withdrawn"] += key in has[1:]
        blocks, keys = [block], [key]
        for other, several in self.rng.sample(
            [*self.model.by_block.items()], min(3, len(self.model.by_block))
        ):
            keys += (some := self.rng.sample(several, self.rng.randint(0, len(several))))
            blocks += [other] * len(some)
        pairs = list(dict.fromkeys(zip(blocks, keys, strict=True)))
        self.seen["a block loses several keys at once"] += len({block for block, _ in pairs}) < len(pairs)
        tokens = self._tensor(key.num_tokens for _, key in pairs)
        own = self._names([key for _, key in pairs])
        self.store.withdraw(self._tensor(block for block, _ in pairs), own, tokens)
        for one, its in pairs:
            self.model.withdraw(one, its)

    def move(self) -> None:
        (src,) = self._blocks(1, chosen=self.model.by_block)
        (dst,) = self._blocks(1, chosen=set(range(NUM_BLOCKS)) - set(self.model.by_block))
        if dst != src and dst not in self.model.by_block:
            self.seen["a block with several keys moves"] += len(self.model.by_block.get(src, [])) > 1
            self.store.move(src, dst)
            self.model.move(src, dst)

    def compare(self) -> None:
        by_block, index = self.store.all_keys()
        self._hear()
        assert self.told == index.keys()
        assert by_block == [tuple(self.model.by_block.get(block, ())) for block in range(NUM_BLOCKS)]
        assert index == {name: tuple(blocks) for name, blocks in self.model.holders.items()}
        every = [*FEW, *MANY]
        assert self.store.find(self._names(every)).tolist() == [self.model.find(key) for key in every]
        buckets = self.store.buckets
        self.seen["a bucket is full"] += bool(buckets.passed.any())
        self.seen["keys go on from the last bucket to the first"] += bool((buckets.rows[0] >= 0).any())
        self.seen["a key has many holders"] += any(len(holders) > 8 for holders in index.values())
        self.seen["a block has several keys"] += any(len(keys) > 2 for keys in by_block)

    def end(self) -> None:
        """Take every key off."""
        self.seen["rows were added"] += len(self.store.keys.block) > 8
        self.store.drop(self._tensor(range(NUM_BLOCKS)))
        assert is_clean(self.store)

    def _add(self, named: list[tuple[int, Key]], keep: bool) -> None:
        blocks, keys = [block for block, _ in named], [key for _, key in named]
        tokens = self._tensor(key.num_tokens for key in keys)
        is_new, entered = (
            column.tolist()
            for column in self.store.add(self._tensor(blocks), self._names(keys), tokens, keep)
        )
        self._hear()
        new = {keys[i].name for i in entered}
        assert len(new) == len(entered)
        assert self.told.isdisjoint(new)
        self.told |= new
        assert is_new == [self.model.add(block, key, keep) for block, key in named]
        self.seen["a block has the key already"] += not all(is_new)

    def _hear(self) -> None:
        """Take in which keys were announced removed."""
        for event in self.store.events.take():
            assert isinstance(event, BlockRemoved)
            for digest in event.block_hashes:
                self.told.remove(make_block_hash_with_group_id(digest, event.group_idx))

    def _drop(self, blocks: list[int]) -> None:
        leaving = Counter(key.name for block in blocks for key in self.model.by_block.get(block, []))
        self.seen["several holders of one key leave at once"] += max(leaving.values(), default=0) > 1
        self.seen["some stay"] += any(0 < n < len(self.model.holders[name]) for name, n in leaving.items())
        self.store.drop(self._tensor(blocks))
        for block in blocks:
            self.model.drop(block)

    def _blocks(self, most: int, chosen: Iterable[int] = ()) -> list[int]:
        """Up to so many blocks, all different, of those ``chosen`` if there are any."""
        blocks = [*chosen] or [*range(NUM_BLOCKS)]
        return self.rng.sample(blocks, self.rng.randint(1, min(most, len(blocks))))

    def _names(self, keys: list[Key]) -> Names:
        digests = [BlockHash(get_block_hash(key.name)) for key in keys]
        return names(digests, [get_group_id(key.name) for key in keys], self.store)

    def _tensor(self, values: Iterable[int]) -> Tensor:
        return torch.tensor(list(values), dtype=torch.int64, device=self.device)


def test_it_equals_two_dictionaries(device: torch.device) -> None:
    seen: Counter[str] = Counter()
    for seed in range(16):
        pair = Pair(device, Random(seed), seen)
        for _ in range(25):
            pair.step()
        pair.end()
    assert len(seen) == 11
    assert all(times > 2 for times in seen.values()), seen
