"""One group: its tables, and what every kind does with them, for one request or many at once."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import NamedTuple, Self

import torch
from torch import Tensor

from pagedkv.spec import KVCacheSpec
from pagedkv.spec.blocks import BlockList
from pagedkv.spec.deployment import check_ranks

from .calls import Asked, Calls
from .facts import Facts
from .layout import Tables, cloned, grown
from .ledger import Ledger
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

    @classmethod
    def of_blocks(cls, num_blocks: int, rows: Tensor) -> "Growth":
        """So many blocks from the pool for each of ``rows`` [n]."""
        nothing = torch.zeros_like(rows)
        return cls(nothing, nothing, nothing + num_blocks, nothing)

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


class SingleTypeKVCacheManager(Facts):
    """The state of one group. Its subclasses say what differs by kind."""

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
        check_ranks([kv_cache_spec], dcp_world_size, pcp_world_size)
        self.block_size = kv_cache_spec.tokens_per_block(dcp_world_size * pcp_world_size)
        self.kv_cache_spec = kv_cache_spec
        self.block_pool = block_pool
        self.enable_caching = enable_caching
        self.kv_cache_group_id = kv_cache_group_id
        self.alignment_tokens = scheduler_block_size
        self.use_eagle = False
        self.retention_interval: int | None = None
        self.resend_margin: int | None = None
        self.admission_cap = max_admission_blocks_per_request
        self.lists_new_blocks = needs_kv_cache_zeroing and self.keeps_keys
        self.ledger = ledger or Ledger(block_pool.num_gpu_blocks, block_pool.device)
        self.tables = Tables.empty(_FIRST_ROWS, _FIRST_ENTRIES, block_pool.device)

    def copy(self, pool: BlockPool, ledger: Ledger) -> Self:
        """An independent manager in the same state over copies of its pool and ledger."""
        twin = type(self).__new__(type(self))
        vars(twin).update(vars(self))
        twin.block_pool, twin.ledger, twin.tables = pool, ledger, cloned(self.tables)
        return twin

    # What differs by kind

    @property
    def is_aligned(self) -> bool:
        """Whether rows hold states of which hits may end inside blocks."""
        return False

    def slots(self, asked: Asked) -> int:
        """Up to where the call needs places, in tokens."""
        return asked.slots

    def growth(self, lengths: Tensor, ends: Tensor, slots: Tensor, is_first: bool) -> Growth:
        """What rows of ``lengths`` [n] entries append for ``ends`` [n] tokens: one per started block.

        Draft models need places up to ``slots`` [n].
        """
        nothing = torch.zeros_like(lengths)
        missing = (slots - lengths * self.block_size).clamp(min=0)
        return Growth(nothing, nothing, (missing + self.block_size - 1) // self.block_size, nothing)

    @abstractmethod
    def reads_before_forward(self, row: Tensor, hit: int) -> Tensor:
        """Blocks of a hit whose content must be there before the step writes anything."""

    @abstractmethod
    def names_partial(self, named: Tensor, boundaries: Tensor, ends: Tensor, lengths: Tensor) -> Tensor:
        """Whether calls that compute up to ``ends`` and cache up to ``lengths`` name ``boundaries``.

        All are [n]; ``named`` is what was named before, 0 for nothing.
        """

    # Standard names

    @property
    def req_to_blocks(self) -> Mapping[str, BlockList]:
        """The rows of all requests, as blocks."""
        return {r: BlockList(self.block_pool, self.row(row).tolist()) for r, row in self.ledger.rows.items()}

    @property
    def num_cached_block(self) -> Mapping[str, int]:
        """By request, up to which block keys were made."""
        return {r: int(self.tables.num_cached[row]) for r, row in self.ledger.rows.items()}

    def get_num_skipped_tokens(self, num_computed_tokens: int) -> int:
        """Leading tokens that no step after ``num_computed_tokens`` tokens reads."""
        processed = torch.tensor([num_computed_tokens])
        return int(self.first_read(processed, self.reach(self.kv_cache_spec)))

    def take_new_block_ids(self) -> list[int]:
        """Drain the blocks to zero before the step."""
        return self.ledger.take_new(self.kv_cache_group_id).tolist()

    # Keys

    def is_kept(self, blocks: Tensor, boundaries: Tensor) -> Tensor:
        """Which of the blocks at these places of rows [n] become keys; hits end at ``boundaries`` [n, m]."""
        alignment, spec, retention = self.alignment_tokens, self.kv_cache_spec, self.retention_interval
        is_kept = self.kept(blocks, alignment, spec, self.use_eagle, retention, boundaries)
        return torch.ones_like(blocks, dtype=torch.bool) if is_kept is None else is_kept

    def boundaries(self, calls: Calls) -> Tensor:
        """Lengths that are known to be asked for, int64 [n, m], before they are rounded to where hits end."""
        last = calls.num_prompt_tokens - 1
        resent = [] if self.resend_margin is None else [last - self.resend_margin]
        return torch.stack([last, calls.junctions, *resent], 1)

    def inner_boundaries(self, num_prompt_tokens: Tensor) -> list[Tensor]:
        """Lengths, each [n], which become keys where they lie inside blocks: those of a request ascend."""
        unit, alignment = self.block_pool.hash_block_size, self.alignment_tokens
        if alignment >= self.block_size:
            return []
        ends = [num_prompt_tokens // unit * unit]
        if self.resend_margin is not None:
            ends.insert(0, (num_prompt_tokens - self.resend_margin - 1).clamp(min=0) // alignment * alignment)
        return ends

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

    def list_new(self, blocks: Tensor) -> None:
        """Note ``blocks`` [n] for zeroing, if the worker zeroes those of the group."""
        if self.lists_new_blocks and len(blocks):
            self.ledger.new.append(self.kv_cache_group_id, blocks)

    def written(self, rows: Tensor, starts: Tensor, ends: Tensor) -> tuple[Tensor, Tensor]:
        """The blocks that hold tokens ``starts`` to ``ends`` of these rows [n], and whose they are."""
        first, last = starts // self.block_size, -(-ends // self.block_size)
        owner, k = ragged(last - first, int((last - first).sum()))
        blocks = self.tables.blocks[rows[owner], first[owner] + k].long()
        return blocks[blocks != 0], rows[owner][blocks != 0]

    def skippable(self, rows: Tensor, num_processed: Tensor, num_prompt_tokens: Tensor) -> Skip:
        """What no later step of ``rows`` [n] reads, in each row the last entry first. Changes nothing."""
        done = self._done(rows, num_prompt_tokens)
        dead = self._dead(rows, num_processed, num_prompt_tokens)
        owner, k = ragged(dead - done, int((dead - done).sum()))
        entry = dead[owner] - 1 - k
        blocks = self.tables.blocks[rows[owner], entry].long()
        return Skip(owner[blocks != 0], entry[blocks != 0], blocks[blocks != 0])

    def let_go(self, rows: Tensor, num_processed: Tensor, num_prompt_tokens: Tensor, skip: Skip) -> None:
        """Null what is skippable in these rows; the blocks are still held."""
        put(self.tables.blocks, (rows[skip.owner], skip.entry), 0)
        put(self.tables.num_skipped, rows, self._dead(rows, num_processed, num_prompt_tokens))

    def first_dead(self, num_prompt_tokens: Tensor) -> Tensor:
        """The first entry that can fall out of use, int64 [n]."""
        return torch.zeros_like(num_prompt_tokens)

    def end_of_dead(self, num_processed: Tensor, num_prompt_tokens: Tensor) -> Tensor:
        """The first position behind those that fall out of use, int64 [n]."""
        return self.first_read(num_processed, self.reach(self.kv_cache_spec))

    def _done(self, rows: Tensor, num_prompt_tokens: Tensor) -> Tensor:
        """Up to which entry everything that can be let go has been."""
        return torch.maximum(self.tables.num_skipped[rows].long(), self.first_dead(num_prompt_tokens))

    def _dead(self, rows: Tensor, num_processed: Tensor, num_prompt_tokens: Tensor) -> Tensor:
        """Up to which entry it is to be let go now."""
        done = self._done(rows, num_prompt_tokens)
        if not self.lets_go:
            return done
        passed = self.end_of_dead(num_processed, num_prompt_tokens) // self.block_size
        return torch.maximum(done, torch.minimum(passed, self.tables.length[rows].long()))

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
