"""Blocks as callers see them: live views, made when they are looked at."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, overload

from .hashing import BlockHashWithGroupId


class Key(NamedTuple):
    """A prefix that a block answers for."""

    name: BlockHashWithGroupId
    num_tokens: int


class Pool(Protocol):
    """What a view needs to know of the pool that it looks into."""

    def ref_count(self, block_id: int) -> int:
        """How many hold the block."""
        ...

    def primary_key(self, block_id: int) -> Key | None:
        """The longest prefix that the block answers for."""
        ...


class KVCacheBlock:
    """One block of a pool. Two looks at one block are equal and show its present state."""

    __slots__ = ("_pool", "block_id")

    def __init__(self, pool: Pool, block_id: int) -> None:
        self._pool = pool
        self.block_id = block_id

    @property
    def ref_cnt(self) -> int:
        """How many hold the block; 0 and without meaning for the null block."""
        return self._pool.ref_count(self.block_id)

    @property
    def block_hash(self) -> BlockHashWithGroupId | None:
        """The primary key."""
        primary = self._pool.primary_key(self.block_id)
        return primary.name if primary else None

    @property
    def block_hash_num_tokens(self) -> int | None:
        """How many tokens the primary key's prefix has."""
        primary = self._pool.primary_key(self.block_id)
        return primary.num_tokens if primary else None

    @property
    def is_null(self) -> bool:
        """Whether this is the placeholder for positions without storage."""
        return self.block_id == 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KVCacheBlock) and (self._pool, self.block_id) == (
            other._pool,
            other.block_id,
        )

    def __hash__(self) -> int:
        return hash((id(self._pool), self.block_id))

    def __repr__(self) -> str:
        return f"KVCacheBlock({self.block_id}, ref_cnt={self.ref_cnt})"


class BlockList(Sequence[KVCacheBlock]):
    """A sequence of blocks that holds their ``ids`` and makes each view when it is asked for."""

    __slots__ = ("_pool", "ids")

    def __init__(self, pool: Pool, ids: Sequence[int]) -> None:
        self._pool = pool
        self.ids = ids

    @overload
    def __getitem__(self, index: int) -> KVCacheBlock: ...
    @overload
    def __getitem__(self, index: slice) -> "BlockList": ...
    def __getitem__(self, index: int | slice) -> "KVCacheBlock | BlockList":
        if isinstance(index, slice):
            return BlockList(self._pool, self.ids[index])
        return KVCacheBlock(self._pool, self.ids[index])

    def __len__(self) -> int:
        return len(self.ids)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __repr__(self) -> str:
        return f"BlockList({list(self.ids)})"


def ids_of(blocks: Iterable[KVCacheBlock]) -> list[int]:
    """The ids of ``blocks``, in order."""
    if isinstance(blocks, BlockList):
        return list(blocks.ids)
    return [block.block_id for block in blocks]


@dataclass(frozen=True)
class KVCacheBlocks:
    """Blocks per group: a hit, an allocation or a table."""

    blocks: tuple[Sequence[KVCacheBlock], ...]
    """``blocks[g][i]`` is the i-th block of group g."""

    def get_block_ids(self) -> tuple[list[int], ...]:
        """The block ids per group."""
        return tuple(ids_of(group) for group in self.blocks)
