"""The pool of physical blocks."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from pagedkv.spec import (
    AllBlocksCleared,
    BlockHash,
    BlockHashWithGroupId,
    KVCacheEvent,
    Request,
    ValuePreconditionError,
    make_block_hash_with_group_id,
    require,
)
from pagedkv.spec.blocks import BlockList, Key, KVCacheBlock, ids_of
from pagedkv.spec.clauses import config, index, pool
from pagedkv.spec.deployment import check_block_ids, check_group_ids, check_naming, check_pool, check_whole

from .digests import names_of_hashes
from .events import EventLog
from .keys import KeyStore
from .layout import MOST_BLOCKS, Ring, cloned
from .ops.fixed import Names, rank_among_equals
from .ops.ring import leave, put_back, put_front, queued, take


class BlockPool:
    """``num_gpu_blocks`` blocks, shared by all groups; block 0 is the null block. Its state is tensors.

    Methods with the standard names take and answer views of blocks; the others are the same for ids.
    """

    def __init__(
        self,
        num_gpu_blocks: int,
        enable_caching: bool,
        hash_block_size: int,
        enable_kv_cache_events: bool = False,
        device: torch.device | str = "cpu",
    ) -> None:
        check_pool(num_gpu_blocks, hash_block_size)
        check_whole(config.SIZES_ARE_POSITIVE, 1, MOST_BLOCKS, num_gpu_blocks=num_gpu_blocks)
        self.num_gpu_blocks = num_gpu_blocks
        self.enable_caching = enable_caching
        self.hash_block_size = hash_block_size
        self.device = torch.device(device)
        self.ref_counts = torch.zeros(num_gpu_blocks, dtype=torch.int32, device=self.device)
        self.queue = Ring.of_blocks(num_gpu_blocks, self.device)
        self.events, self.num_sinks = EventLog(enable_kv_cache_events), 0
        self.keys = KeyStore(num_gpu_blocks, self.device, self.events)

    def copy(self) -> "BlockPool":
        """An independent pool in the same state."""
        twin = BlockPool.__new__(BlockPool)
        vars(twin).update(vars(self))
        twin.ref_counts = self.ref_counts.clone()
        twin.queue, twin.events = cloned(self.queue), self.events.copy()
        twin.keys = self.keys.copy(twin.events)
        return twin

    # Looking

    @property
    def blocks(self) -> BlockList:
        """All blocks by id."""
        return BlockList(self, range(self.num_gpu_blocks))

    @property
    def null_block(self) -> KVCacheBlock:
        """The placeholder for positions without storage."""
        return KVCacheBlock(self, 0)

    def ref_count(self, block_id: int) -> int:
        """How many hold the block."""
        return int(self.ref_counts[block_id])

    def primary_key(self, block_id: int) -> Key | None:
        """The longest prefix that the block answers for."""
        return self.keys.primary_of(block_id)

    def get_num_free_blocks(self) -> int:
        """How many blocks can be taken."""
        return self.queue.free

    def get_usage(self) -> float:
        """The held share of all blocks but null (clause Pool/usage)."""
        held = self.num_gpu_blocks - 1 - self.queue.free
        return held / max(1, self.num_gpu_blocks - 1)

    def get_cached_block(
        self, block_hash: BlockHash, kv_cache_group_ids: Sequence[int]
    ) -> list[KVCacheBlock] | None:
        """Per group the longest holder of the prefix, or None if a group has none. Changes nothing."""
        check_group_ids(kv_cache_group_ids)
        groups = self.tensor(list(kv_cache_group_ids))
        ids = self.keys.find(names_of_hashes([block_hash] * len(groups), groups)).tolist()
        return None if min(ids, default=0) < 0 else [KVCacheBlock(self, block_id) for block_id in ids]

    def queued(self) -> Tensor:
        """The ids of the free queue from its front, int64 [free]."""
        return queued(self.queue)

    # Holding

    def get_new_blocks(self, num_blocks: int) -> list[KVCacheBlock]:
        """Take the first ``num_blocks`` of the free queue; each has one holder and no key then.

        Raises ``ValuePreconditionError`` when that is negative or more than are free.
        """
        return [KVCacheBlock(self, block_id) for block_id in self.take(num_blocks).tolist()]

    def touch(self, blocks: Iterable[KVCacheBlock]) -> None:
        """Add a holder to each block but null; one that had none leaves the free queue."""
        self.hold(self.tensor(ids_of(blocks)))

    def free_blocks(self, ordered_blocks: Iterable[KVCacheBlock]) -> None:
        """Remove one holder from each block but null, in order (clause Pool/freed_tails_first).

        Raises ``PreconditionError`` when a block is named more often than it has holders.
        """
        ids = self.tensor(ids_of(ordered_blocks))
        ids = ids[ids != 0]
        named, times = ids.unique(return_counts=True)
        wrong = (times > self.ref_counts[named]).nonzero().view(-1)[:1].tolist()
        require(
            not wrong,
            pool.FREED_ONCE_PER_HOLDER,
            lambda: (
                f"block {int(named[wrong])} is freed {int(times[wrong])} times and has "
                f"{int(self.ref_counts[named[wrong]])} holders"
            ),
        )
        self.release(ids)

    def take(self, num_blocks: int) -> Tensor:
        """The ids of the first ``num_blocks`` of the free queue, int64; raises as ``get_new_blocks`` does."""
        require(
            0 <= num_blocks <= self.queue.free,
            pool.NEVER_MORE_THAN_FREE,
            lambda: f"num_blocks is {num_blocks}, {self.queue.free} blocks are free",
            ValuePreconditionError,
        )
        if not num_blocks:
            return self.tensor([])
        ids = take(self.queue, num_blocks)
        self.keys.drop(ids)
        self.ref_counts[ids] = 1
        return ids

    def hold(self, ids: Tensor) -> None:
        """Add a holder to each of ``ids`` [n] but null."""
        if not len(ids):
            return
        ids = ids[ids != 0]
        leave(self.queue, ids[self.ref_counts[ids] == 0].unique())
        self.ref_counts.index_add_(0, ids, torch.ones_like(ids, dtype=torch.int32))

    def release(self, ids: Tensor) -> None:
        """Remove one holder from each of ``ids`` [n] but null, in order; they must have as many."""
        if not len(ids):
            return
        ids = ids[ids != 0]
        self.ref_counts.index_add_(0, ids, torch.full_like(ids, -1, dtype=torch.int32))
        # A block that is named several times is freed when it is named last.
        lasts = ids[rank_among_equals(ids.flip(0)).flip(0) == 0]
        freed = lasts[self.ref_counts[lasts] == 0]
        is_reusable = self.keys.has_keys(freed) & self.enable_caching
        put_front(self.queue, freed[~is_reusable])
        put_back(self.queue, freed[is_reusable])

    # Naming

    def cache_full_blocks(
        self,
        request: Request,
        blocks: Sequence[KVCacheBlock],
        num_cached_blocks: int,
        num_full_blocks: int,
        block_size: int,
        kv_cache_group_id: int,
        block_mask: Sequence[bool] | None = None,
        keep_keys: bool = False,
    ) -> None:
        """Name blocks ``num_cached_blocks`` up to ``num_full_blocks`` by the prefixes they complete.

        Null and masked blocks are left out. ``keep_keys`` says that the blocks only grow, so that
        the keys they have stay true.
        """
        named, num_new = blocks[num_cached_blocks:num_full_blocks], num_full_blocks - num_cached_blocks
        ids = self.tensor(check_naming(named, num_new, block_size, kv_cache_group_id, block_mask))
        is_named = ids != 0
        if block_mask is not None:
            is_named &= torch.tensor(list(block_mask), dtype=torch.bool, device=self.device)
        ids = ids[is_named]
        num_tokens = (num_cached_blocks + 1 + is_named.nonzero().view(-1)) * block_size
        wrong = (self.keys.primary_tokens(ids) >= num_tokens).nonzero().view(-1)[:1].tolist()
        require(
            not wrong,
            index.PROMOTION,
            lambda: (
                f"block {int(ids[wrong])} has a primary key already and is to get one of "
                f"{int(num_tokens[wrong])} tokens"
            ),
        )
        self.name([request] * len(ids), ids, num_tokens, kv_cache_group_id, block_size, keep_keys)

    def cache_partial_block(
        self,
        request: Request,
        block: KVCacheBlock,
        num_tokens: int,
        kv_cache_group_id: int,
        block_size: int,
        keep_keys: bool = False,
    ) -> BlockHashWithGroupId | None:
        """Name ``block`` by the prefix of ``num_tokens`` tokens, which ends inside it.

        Answers the key, or None for the null block. Raises ``PreconditionError`` when the length is
        not a hashed unit boundary inside a block.
        """
        if block.is_null:
            return None
        check_naming([block], 1, block_size, kv_cache_group_id)
        units, beyond_unit = divmod(num_tokens, self.hash_block_size)
        require(
            not beyond_unit and 1 <= units <= len(request.block_hashes) and num_tokens % block_size > 0,
            index.PARTIAL_ENTRY,
            f"num_tokens is {num_tokens}, with block size {block_size} and "
            f"{len(request.block_hashes) * self.hash_block_size} tokens hashed",
        )
        ids, lengths = self.tensor([block.block_id]), self.tensor([num_tokens])
        self.name([request], ids, lengths, kv_cache_group_id, block_size, keep_keys)
        return make_block_hash_with_group_id(request.block_hashes[units - 1], kv_cache_group_id)

    def name(
        self,
        requests: Sequence[Request],
        blocks: Tensor,
        num_tokens: Tensor,
        group: int,
        block_size: int,
        keep_keys: bool,
    ) -> tuple[Names, Tensor]:
        """Name each of ``blocks`` [n], all different, by the first ``num_tokens`` [n] tokens of its request.

        Answers the names, and which blocks had them not before, bool [n].
        """
        unit, lengths = self.hash_block_size, num_tokens.tolist()
        hashes = [r.block_hashes[length // unit - 1] for r, length in zip(requests, lengths, strict=True)]
        names = names_of_hashes(hashes, torch.full_like(blocks, group))
        is_new, entered = self.keys.add(blocks, names, num_tokens, keep_keys)
        if self.events.is_on:
            entries = [(requests[i], lengths[i]) for i in entered.tolist()]
            self.events.stored(entries, unit, block_size, group, lambda parents: self._has(parents, group))
        return names, is_new

    def _has(self, hashes: list[BlockHash], group: int) -> list[bool]:
        found = self.keys.find(names_of_hashes(hashes, self.tensor([group] * len(hashes))))
        return [block >= 0 for block in found.tolist()]

    def move_block_hashes(self, src_block: KVCacheBlock, dst_block: KVCacheBlock) -> None:
        """Give every key of ``src_block`` to ``dst_block``, which has none (clause Index/move_takes_all)."""
        dst = dst_block.block_id
        require(self.primary_key(dst) is None, index.MOVE_TAKES_ALL, f"block {dst} has keys already")
        self.keys.move(src_block.block_id, dst)

    def evict_blocks(self, block_ids: Iterable[int]) -> None:
        """Take every key off these blocks; frees nothing."""
        ids = list(block_ids)
        check_block_ids(ids, self.num_gpu_blocks)
        self.keys.drop(self.tensor(sorted(set(ids))))

    def reset_prefix_cache(self) -> bool:
        """Take every key off every block, if only null and sinks are held. Answers whether it did."""
        if self.queue.free + self.num_sinks < self.num_gpu_blocks - 1:
            return False
        self.keys = KeyStore(self.num_gpu_blocks, self.device, self.events)
        if self.events.is_on:
            self.events.waiting.append(AllBlocksCleared())
        return True

    def take_sinks(self, num_blocks: int) -> Tensor:
        """Take blocks that are held for ever, before any other (clause Pool/sinks_stay)."""
        self.num_sinks += num_blocks
        return self.take(num_blocks)

    # Telling

    def take_events(self) -> list[KVCacheEvent]:
        """Drain what was announced since the last call (clauses Events/...); a batch is told by groups."""
        return self.events.take()

    def tensor(self, numbers: Sequence[int]) -> Tensor:
        """These numbers on the device, int64."""
        return torch.tensor(numbers, dtype=torch.int64, device=self.device)
