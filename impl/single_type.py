"""One group: its tables, and what every kind does with them, for one request or many at once."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple, Self

import torch
from torch import Tensor

from pagedkv.spec import BlockHash, KVCacheSpec, require
from pagedkv.spec.blocks import BlockList, KVCacheBlock
from pagedkv.spec.clauses import config
from pagedkv.spec.deployment import refuse_uncovered

from .layout import Tables, cloned, grown
from .ledger import Ledger
from .lookup import Kind, Prefix, kind_hit
from .ops.fixed import put, ragged
from .pool import BlockPool

_FIRST_ROWS = 4
_FIRST_ENTRIES = 8


class Growth(NamedTuple):
    """What rows append, each int64 [n], in this order."""

    padding: Tensor
    """Null entries."""
    moved: Tensor
    """Entries that move to the row's new end, from ``moved_from`` on."""
    taken: Tensor
    """Blocks from the pool."""
    moved_from: Tensor

    @property
    def entries(self) -> Tensor:
        """All of them."""
        return self.padding + self.moved + self.taken


class Skip(NamedTuple):
    """Entries that fall out of use, each int64 [n]."""

    owner: Tensor
    """Which of the rows asked for."""
    entry: Tensor
    block: Tensor


class SingleTypeKVCacheManager(ABC):
    """The state of one group. Its subclasses say what differs by kind."""

    keeps_keys: ClassVar[bool]
    """Whether blocks only grow, so that keys stay true while they are written on."""
    lets_go: ClassVar[bool]
    """Whether entries fall out of use while the request runs."""
    supports_fine_grained_hash_lookup: ClassVar[bool] = True

    def __init__(
        self,
        kv_cache_spec: KVCacheSpec,
        block_pool: BlockPool,
        enable_caching: bool,
        kv_cache_group_id: int,
        scheduler_block_size: int,
        dcp_world_size: int = 1,
        pcp_world_size: int = 1,
        needs_kv_cache_zeroing: bool = False,
        max_admission_blocks_per_request: int | None = None,
        ledger: Ledger | None = None,
    ) -> None:
        refuse_uncovered(
            dcp_world_size=(dcp_world_size, 1),
            pcp_world_size=(pcp_world_size, 1),
            needs_kv_cache_zeroing=(needs_kv_cache_zeroing, False),
            max_admission_blocks_per_request=(max_admission_blocks_per_request, None),
        )
        self.kv_cache_spec = kv_cache_spec
        self.block_pool = block_pool
        self.enable_caching = enable_caching
        self.kv_cache_group_id = kv_cache_group_id
        self.alignment_tokens = scheduler_block_size
        self.use_eagle = False
        self.ledger = ledger or Ledger(block_pool.num_gpu_blocks, block_pool.device)
        self.tables = Tables.empty(_FIRST_ROWS, _FIRST_ENTRIES, block_pool.device)

    def copy(self, pool: BlockPool, ledger: Ledger) -> Self:
        """An independent manager in the same state over copies of its pool and ledger."""
        twin = type(self).__new__(type(self))
        vars(twin).update(vars(self))
        twin.block_pool, twin.ledger, twin.tables = pool, ledger, cloned(self.tables)
        return twin

    # What differs by kind

    @classmethod
    def reach(cls, kv_cache_spec: KVCacheSpec) -> int:
        """The length of the spec's windows or chunks, 0 where it has none."""
        return 0

    @classmethod
    @abstractmethod
    def first_read(cls, num_processed: Tensor, reach: int) -> Tensor:
        """The first position that a step after ``num_processed`` [n] tokens reads, int64 [n]."""

    def growth(self, lengths: Tensor, ends: Tensor, is_first: bool) -> Growth:
        """What rows of ``lengths`` [n] entries append for ``ends`` [n] tokens: one per started block."""
        nothing = torch.zeros_like(lengths)
        missing = (ends - lengths * self.block_size).clamp(min=0)
        return Growth(nothing, nothing, (missing + self.block_size - 1) // self.block_size, nothing)

    def is_kept(self, blocks: Tensor) -> Tensor:
        """Which of the blocks at these places of a row [n] become keys."""
        return torch.ones_like(blocks, dtype=torch.bool)

    @abstractmethod
    def reads_before_forward(self, row: Tensor, hit: int) -> Tensor:
        """Blocks of a hit whose content must be there before the step writes anything."""

    @abstractmethod
    def names_partial(self, named: Tensor, boundaries: Tensor, ends: Tensor, lengths: Tensor) -> Tensor:
        """Whether calls that compute up to ``ends`` and cache up to ``lengths`` name ``boundaries``.

        All are [n]; ``named`` is what was named before, 0 for nothing.
        """

    @classmethod
    def kind(cls, kv_cache_spec: KVCacheSpec, groups: Sequence[int], drops_for_eagle: bool) -> Kind:
        """Groups of this spec, as a lookup asks them."""
        reach = cls.reach(kv_cache_spec)
        return Kind(
            tuple(groups),
            kv_cache_spec.block_size,
            lambda num_processed: cls.first_read(num_processed, reach),
            cls.lets_go,
            cls.keeps_keys,
            drops_for_eagle and cls.keeps_keys,
        )

    # Standard names

    @property
    def block_size(self) -> int:
        """Tokens per block."""
        return self.kv_cache_spec.block_size

    @property
    def req_to_blocks(self) -> Mapping[str, BlockList]:
        """The rows of all requests, as blocks."""
        return {r: BlockList(self.block_pool, self.row(row).tolist()) for r, row in self.ledger.rows.items()}

    @property
    def num_cached_block(self) -> Mapping[str, int]:
        """By request, up to which block keys were made."""
        return {r: int(self.tables.num_cached[row]) for r, row in self.ledger.rows.items()}

    @classmethod
    def find_longest_cache_hit(
        cls,
        block_hashes: Sequence[BlockHash],
        max_length: int,
        kv_cache_group_ids: Sequence[int],
        block_pool: BlockPool,
        kv_cache_spec: KVCacheSpec,
        drop_eagle_block: bool,
        alignment_tokens: int,
        dcp_world_size: int = 1,
        pcp_world_size: int = 1,
    ) -> tuple[tuple[Sequence[KVCacheBlock], ...], int]:
        """The hit of these groups, asked alone: blocks per group and length in tokens. Changes nothing."""
        refuse_uncovered(dcp_world_size=(dcp_world_size, 1), pcp_world_size=(pcp_world_size, 1))
        unit, size = block_pool.hash_block_size, kv_cache_spec.block_size
        require(
            alignment_tokens % size == 0 or alignment_tokens == unit,
            config.SIZES_DIVIDE,
            f"alignment_tokens is {alignment_tokens}, the unit {unit}, the block size {size}",
        )
        prefix = Prefix(block_pool, block_hashes, max_length)
        found = kind_hit(
            prefix, cls.kind(kv_cache_spec, kv_cache_group_ids, drop_eagle_block), alignment_tokens
        )
        rows = found.rows(found.length, size)
        return tuple(BlockList(block_pool, row.tolist()) for row in rows), found.length

    def get_num_skipped_tokens(self, num_computed_tokens: int) -> int:
        """Leading tokens that no step after ``num_computed_tokens`` tokens reads."""
        processed = torch.tensor([num_computed_tokens])
        return int(self.first_read(processed, self.reach(self.kv_cache_spec)))

    # Rows

    def row(self, row: int) -> Tensor:
        """The entries of one row, int64: a copy."""
        return self.tables.blocks[row, : int(self.tables.length[row])].long()

    def start(self, row: int, blocks: Tensor, hit: int) -> None:
        """Begin a row with the blocks of a hit."""
        self._make_room(row + 1, len(blocks))
        tables = self.tables
        put(tables.blocks, (row, slice(len(blocks))), blocks)
        tables.length[row] = len(blocks)
        tables.num_cached[row] = hit // self.block_size
        tables.num_skipped[row] = 0
        tables.named_partial[row] = 0

    def append(self, rows: Tensor, growth: Growth, taken: Tensor) -> tuple[Tensor, Tensor]:
        """Let ``rows`` [n] grow, with ``taken`` blocks for all of them in order.

        Answers what they have appended, int64, and for how many entries each.
        """
        counts, lengths = growth.entries, self.tables.length[rows].long()
        total, ends = int(counts.sum()), lengths + counts
        if not total:
            return counts[:0], counts
        self._make_room(0, int(ends.max()))
        owner, k = ragged(counts, total)
        row, beyond_padding = rows[owner], k - growth.padding[owner]
        number = beyond_padding - growth.moved[owner]
        is_moved, is_taken = (beyond_padding >= 0) & (number < 0), number >= 0
        source = (growth.moved_from[owner] + beyond_padding)[is_moved]
        values = torch.zeros_like(k)
        values[is_moved] = self.tables.blocks[row[is_moved], source].long()
        values[is_taken] = taken
        put(self.tables.blocks, (row[is_moved], source), 0)
        put(self.tables.blocks, (row, lengths[owner] + k), values)
        put(self.tables.length, rows, ends)
        return values, counts

    def written(self, rows: Tensor, starts: Tensor, ends: Tensor) -> tuple[Tensor, Tensor]:
        """The blocks that hold tokens ``starts`` to ``ends`` of these rows [n], and whose they are."""
        first, last = starts // self.block_size, -(-ends // self.block_size)
        owner, k = ragged(last - first, int((last - first).sum()))
        blocks = self.tables.blocks[rows[owner], first[owner] + k].long()
        return blocks[blocks != 0], rows[owner][blocks != 0]

    def skippable(self, rows: Tensor, num_processed: Tensor) -> Skip:
        """What no later step of ``rows`` [n] reads, in each row the last entry first. Changes nothing."""
        done = self.tables.num_skipped[rows].long()
        dead = self._dead(rows, num_processed)
        owner, k = ragged(dead - done, int((dead - done).sum()))
        entry = dead[owner] - 1 - k
        blocks = self.tables.blocks[rows[owner], entry].long()
        return Skip(owner[blocks != 0], entry[blocks != 0], blocks[blocks != 0])

    def let_go(self, rows: Tensor, num_processed: Tensor, skip: Skip) -> None:
        """Null what is skippable in these rows; the blocks are still held."""
        put(self.tables.blocks, (rows[skip.owner], skip.entry), 0)
        put(self.tables.num_skipped, rows, self._dead(rows, num_processed))

    def _dead(self, rows: Tensor, num_processed: Tensor) -> Tensor:
        """How many leading entries are of no use, with those that were let go before."""
        tables = self.tables
        done = tables.num_skipped[rows].long()
        if not self.lets_go:
            return done
        passed = self.first_read(num_processed, self.reach(self.kv_cache_spec)) // self.block_size
        return torch.maximum(done, torch.minimum(passed, tables.length[rows].long()))

    def end(self, row: int) -> Tensor:
        """Forget a row; answers its entries, whose blocks stay held."""
        blocks = self.row(row)
        self.tables.blocks[row, : len(blocks)] = 0
        self.tables.length[row] = 0
        return blocks

    def common_prefix(self, row: int) -> int:
        """Leading blocks that every row in use has (clause Cache/common_prefix)."""
        return 0

    def _make_room(self, rows: int, entries: int) -> None:
        tables = self.tables
        if entries > tables.blocks.shape[1]:
            tables.blocks = grown(tables.blocks, 0, 0, 2 * entries)
        if rows > len(tables.length):
            tables.blocks = grown(tables.blocks, 2 * rows, 0)
            for name in ("length", "num_cached", "num_skipped", "named_partial"):
                setattr(tables, name, grown(getattr(tables, name), 2 * rows, 0))
