"""The pool of physical blocks, its free queue and its index of keys."""

from collections import Counter
from collections.abc import Iterable, Sequence

from pagedkv.spec import (
    AllBlocksCleared,
    BlockHash,
    BlockHashWithGroupId,
    BlockRemoved,
    KVCacheEvent,
    Request,
    ValuePreconditionError,
    get_block_hash,
    get_group_id,
    make_block_hash_with_group_id,
    require,
)
from pagedkv.spec.blocks import BlockList, Key, KVCacheBlock, ids_of
from pagedkv.spec.clauses import index, pool
from pagedkv.spec.deployment import check_block_ids, check_group_ids, check_naming, check_pool
from pagedkv.spec.events import stored_event


class BlockPool:
    """``num_gpu_blocks`` blocks, shared by all groups; block 0 is the null block.

    Four facts are its whole state: who counts as holder, which keys each block has (primary first),
    the free queue from its front, and per key the blocks that have it, the longest holder first. Beside
    it are the events that nobody has taken yet.
    """

    def __init__(
        self,
        num_gpu_blocks: int,
        enable_caching: bool,
        hash_block_size: int,
        enable_kv_cache_events: bool = False,
    ) -> None:
        check_pool(num_gpu_blocks, hash_block_size)
        self.num_gpu_blocks = num_gpu_blocks
        self.enable_caching = enable_caching
        self.hash_block_size = hash_block_size
        self.enable_kv_cache_events = enable_kv_cache_events
        self.ref_counts = [0] * num_gpu_blocks
        self.keys: list[tuple[Key, ...]] = [()] * num_gpu_blocks
        self.queue = list(range(1, num_gpu_blocks))
        self.index: dict[BlockHashWithGroupId, tuple[int, ...]] = {}
        self.num_sinks = 0
        self.events: list[KVCacheEvent] = []

    def copy(self) -> "BlockPool":
        """An independent pool in the same state."""
        twin = BlockPool.__new__(BlockPool)
        vars(twin).update(vars(self))
        twin.ref_counts = self.ref_counts.copy()
        twin.keys = self.keys.copy()
        twin.queue = self.queue.copy()
        twin.index = self.index.copy()
        twin.events = self.events.copy()
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
        return self.ref_counts[block_id]

    def primary_key(self, block_id: int) -> Key | None:
        """The longest prefix that the block answers for."""
        return next(iter(self.keys[block_id]), None)

    def get_num_free_blocks(self) -> int:
        """How many blocks can be taken."""
        return len(self.queue)

    def get_usage(self) -> float:
        """The held share of all blocks but null (clause Pool/usage)."""
        usable = self.num_gpu_blocks - 1
        return (usable - len(self.queue)) / usable if usable else 0.0

    def get_cached_block(
        self, block_hash: BlockHash, kv_cache_group_ids: Sequence[int]
    ) -> list[KVCacheBlock] | None:
        """Per group the longest holder of the prefix, or None if a group has none. Changes nothing."""
        check_group_ids(kv_cache_group_ids)
        holders = [self.index.get(make_block_hash_with_group_id(block_hash, g)) for g in kv_cache_group_ids]
        if not all(holders):
            return None
        return [KVCacheBlock(self, ids[0]) for ids in holders if ids]

    # Holding

    def get_new_blocks(self, num_blocks: int) -> list[KVCacheBlock]:
        """Take the first ``num_blocks`` of the free queue; each has one holder and no key then.

        Raises ``ValuePreconditionError`` when that is negative or more than are free.
        """
        require(
            0 <= num_blocks <= len(self.queue),
            pool.NEVER_MORE_THAN_FREE,
            lambda: f"num_blocks is {num_blocks}, {len(self.queue)} blocks are free",
            ValuePreconditionError,
        )
        taken, self.queue = self.queue[:num_blocks], self.queue[num_blocks:]
        for block_id in taken:
            self._drop_keys(block_id)
            self.ref_counts[block_id] = 1
        return [KVCacheBlock(self, block_id) for block_id in taken]

    def take_sinks(self, num_blocks: int) -> list[KVCacheBlock]:
        """Take blocks that are held for ever, before any other is taken (clause Pool/sinks_stay)."""
        self.num_sinks += num_blocks
        return self.get_new_blocks(num_blocks)

    def touch(self, blocks: Iterable[KVCacheBlock]) -> None:
        """Add a holder to each block but null; one that had none leaves the free queue."""
        for block_id in ids_of(blocks):
            if block_id:
                if self.ref_counts[block_id] == 0:
                    self.queue.remove(block_id)
                self.ref_counts[block_id] += 1

    def free_blocks(self, ordered_blocks: Iterable[KVCacheBlock]) -> None:
        """Remove one holder from each block but null, in order (clause Pool/freed_tails_first).

        Raises ``PreconditionError`` when a block is named more often than it has holders.
        """
        ids = [block_id for block_id in ids_of(ordered_blocks) if block_id]
        for block_id, times in Counter(ids).items():
            require(
                times <= self.ref_counts[block_id],
                pool.FREED_ONCE_PER_HOLDER,
                f"block {block_id} is freed {times} times and has {self.ref_counts[block_id]} holders",
            )
        front: list[int] = []
        for block_id in ids:
            self.ref_counts[block_id] -= 1
            if self.ref_counts[block_id] == 0:
                reusable = self.enable_caching and self.keys[block_id]
                (self.queue if reusable else front).append(block_id)
        self.queue = front + self.queue

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
        check_naming(named, num_new, block_size, kv_cache_group_id, block_mask)
        wanted = [
            (blocks[i].block_id, self._key(request, (i + 1) * block_size, kv_cache_group_id))
            for i in range(num_cached_blocks, num_full_blocks)
            if not blocks[i].is_null and (block_mask is None or block_mask[i - num_cached_blocks])
        ]
        for block_id, key in wanted:
            require(
                not self.keys[block_id] or self.keys[block_id][0].num_tokens < key.num_tokens,
                index.PROMOTION,
                f"block {block_id} has a primary key already and is to get one of {key.num_tokens} tokens",
            )
        for block_id, key in wanted:
            self._name(request, block_id, key, block_size, keep_keys)

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
        hashed = len(request.block_hashes) * self.hash_block_size
        require(
            0 < num_tokens <= hashed
            and num_tokens % self.hash_block_size == 0
            and num_tokens % block_size != 0,
            index.PARTIAL_ENTRY,
            f"num_tokens is {num_tokens}, with block size {block_size} and {hashed} tokens hashed",
        )
        key = self._key(request, num_tokens, kv_cache_group_id)
        self._name(request, block.block_id, key, block_size, keep_keys)
        return key.name

    def move_block_hashes(self, src_block: KVCacheBlock, dst_block: KVCacheBlock) -> None:
        """Give every key of ``src_block`` to ``dst_block``, which has none (clause Index/move_takes_all)."""
        src, dst = src_block.block_id, dst_block.block_id
        require(not self.keys[dst], index.MOVE_TAKES_ALL, f"block {dst} has keys already")
        self.keys[dst] = self.keys[src]
        for key in self.keys[dst]:
            self.index[key.name] += (dst,)
        # The keys never leave the index, so nothing is announced.
        self._drop_keys(src)

    def evict_blocks(self, block_ids: Iterable[int]) -> None:
        """Take every key off these blocks; frees nothing."""
        ids = list(block_ids)
        check_block_ids(ids, self.num_gpu_blocks)
        for block_id in ids:
            self._drop_keys(block_id)

    def reset_prefix_cache(self) -> bool:
        """Take every key off every block, if only null and sinks are held. Answers whether it did."""
        if len(self.queue) + self.num_sinks + 1 < self.num_gpu_blocks:
            return False
        self.keys = [()] * self.num_gpu_blocks
        self.index = {}
        self._announce(AllBlocksCleared())
        return True

    def withdraw_key(self, block_id: int, key: Key) -> None:
        """Take one key off one block, if it is there."""
        if key in self.keys[block_id]:
            self.keys[block_id] = tuple(k for k in self.keys[block_id] if k != key)
            self._unlist(block_id, key)

    # Telling

    def take_events(self) -> list[KVCacheEvent]:
        """Drain what was announced since the last call (clauses Events/...)."""
        taken, self.events = self.events, []
        return taken

    def _announce(self, event: KVCacheEvent) -> None:
        if self.enable_kv_cache_events:
            self.events.append(event)

    def _key(self, request: Request, num_tokens: int, group_id: int) -> Key:
        block_hash = request.block_hashes[num_tokens // self.hash_block_size - 1]
        return Key(make_block_hash_with_group_id(block_hash, group_id), num_tokens)

    def _name(self, request: Request, block_id: int, key: Key, block_size: int, keep_keys: bool) -> None:
        unit, group_id = self.hash_block_size, get_group_id(key.name)

        def is_known(parent: BlockHash) -> bool:
            return make_block_hash_with_group_id(parent, group_id) in self.index

        is_new = key.name not in self.index
        self._add_key(block_id, key, keep_keys)
        if is_new and self.enable_kv_cache_events:
            self.events.append(stored_event(request, key.num_tokens, unit, block_size, group_id, is_known))

    def _add_key(self, block_id: int, key: Key, keep_keys: bool) -> None:
        held = self.keys[block_id]
        if key in held:
            return
        if held and held[0].num_tokens < key.num_tokens and not keep_keys:
            self._drop_keys(block_id)
            held = ()
        longer = not held or held[0].num_tokens < key.num_tokens
        self.keys[block_id] = (key, *held) if longer else (*held, key)
        self.index[key.name] = (*self.index.get(key.name, ()), block_id)

    def _drop_keys(self, block_id: int) -> None:
        for key in self.keys[block_id]:
            self._unlist(block_id, key)
        self.keys[block_id] = ()

    def _unlist(self, block_id: int, key: Key) -> None:
        left = tuple(holder for holder in self.index[key.name] if holder != block_id)
        if left:
            self.index[key.name] = left
        else:
            del self.index[key.name]
            self._announce(BlockRemoved((get_block_hash(key.name),), get_group_id(key.name)))
