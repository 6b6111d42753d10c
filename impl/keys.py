"""The keys of all blocks, and the index that finds them."""

from dataclasses import fields

import torch
from torch import Tensor

from pagedkv.spec import (
    BlockHashWithGroupId,
    UnsupportedError,
    make_block_hash_with_group_id,
    require,
)
from pagedkv.spec.blocks import Key
from pagedkv.spec.clauses import config

from .digests import digests_of
from .events import EventLog
from .layout import BUCKET, NOBODY, Buckets, Keys, cloned
from .ops.fixed import Names, join_holders, leave_holders, names_of, put, same_name
from .ops.index import find, insert, remove

_FIRST_ROWS = 8
_MAX_ROWS = 2**29
"""So that cells have int32 numbers."""


def _buckets_for(num_rows: int) -> int:
    """A power of two as ``num_rows`` is, by which the index is at most half full."""
    return 2 * num_rows // BUCKET


class KeyStore:
    """Which keys each block has, and which blocks each key has.

    It announces in ``events`` the keys that leave the index; who adds keys announces them.
    """

    def __init__(self, num_blocks: int, device: torch.device, events: EventLog) -> None:
        self.events = events
        self.keys = Keys.empty(num_blocks, _FIRST_ROWS, device)
        self.buckets = Buckets.empty(_buckets_for(_FIRST_ROWS), device)

    def copy(self, events: EventLog) -> "KeyStore":
        """An independent store in the same state, which announces in ``events``."""
        twin = KeyStore.__new__(KeyStore)
        twin.events = events
        twin.keys, twin.buckets = cloned(self.keys), cloned(self.buckets)
        return twin

    # Looking

    def find(self, names: Names) -> Tensor:
        """The block that has held each key longest, int64 [n]; ``NOBODY`` where there is none."""
        rows = find(self.keys, self.buckets, names)
        return torch.where(rows >= 0, self.keys.block[rows].long(), NOBODY)

    def has_keys(self, blocks: Tensor) -> Tensor:
        """Whether each of these blocks has a key, bool [n]."""
        return self.keys.first[blocks] >= 0

    def primary_tokens(self, blocks: Tensor) -> Tensor:
        """The tokens of each block's primary key, int64 [n]; 0 without one."""
        rows = self.keys.first[blocks].long()
        return torch.where(rows >= 0, self.keys.num_tokens[rows].long(), 0)

    def primary_of(self, block: int) -> Key | None:
        """The primary key of one block."""
        row = self.keys.first[block : block + 1].long()
        return None if int(row) < 0 else self._written(row)[0]

    def all_keys(self) -> tuple[list[tuple[Key, ...]], dict[BlockHashWithGroupId, tuple[int, ...]]]:
        """The keys of each block, the blocks of each key, the longest holder first. Ends on broken links."""
        keys = self.keys
        rows = (keys.block >= 0).nonzero().view(-1)
        written = dict(zip(rows.tolist(), self._written(rows), strict=True))
        first, after, newer = keys.first.tolist(), keys.after.tolist(), keys.newer.tolist()
        block, cell = keys.block.tolist(), keys.cell.tolist()
        by_block = []
        for row in first:
            held: list[Key] = []
            while row != NOBODY and len(held) < len(written):
                held.append(written[row])
                row = after[row]
            by_block.append(tuple(held))
        index = {}
        for head in written:
            if cell[head] != NOBODY:
                holders, row = [block[head]], newer[head]
                while row != head and len(holders) < len(written):
                    holders.append(block[row])
                    row = newer[row]
                index[written[head].name] = tuple(holders)
        return by_block, index

    # Changing

    def add(self, blocks: Tensor, names: Names, num_tokens: Tensor, keep_keys: bool) -> tuple[Tensor, Tensor]:
        """Name each of ``blocks`` [n], all different, by a prefix.

        Answers which had not the key before, bool [n], and which of all brought it into the index, int64.
        A longer prefix becomes the primary key, after which a block that is written on (not ``keep_keys``)
        has no other; a shorter one joins the others (clauses Index/promotion, Index/partial_entry).
        """
        found, last = self._searched(blocks, names, num_tokens)
        is_new = found < 0
        blocks, last, names, num_tokens = blocks[is_new], last[is_new], names.at(is_new), num_tokens[is_new]
        is_longer = self.primary_tokens(blocks) < num_tokens
        if not keep_keys:
            self.drop(blocks[is_longer])
        rows = self._new_rows(len(blocks))
        keys = self.keys
        put(keys.digest, rows, names.digest)
        put(keys.length, rows, names.length)
        put(keys.group, rows, names.group)
        put(keys.num_tokens, rows, num_tokens)
        put(keys.block, rows, blocks)
        put(keys.after, rows, torch.where(is_longer, keys.first[blocks].long(), NOBODY))
        put(keys.after, last[~is_longer], rows[~is_longer])
        put(keys.first, blocks[is_longer], rows[is_longer])
        entered = torch.isin(rows, self._join(rows)).nonzero().view(-1)
        return is_new, is_new.nonzero().view(-1)[entered]

    def drop(self, blocks: Tensor) -> None:
        """Take every key off these blocks [n], all different."""
        rows = self._rows_of(blocks)
        self._announce_removed(self._leave(rows))
        put(self.keys.first, blocks, NOBODY)
        self._retire(rows)

    def withdraw(self, blocks: Tensor, names: Names, num_tokens: Tensor) -> None:
        """Take each of these keys off its block, where it is there; a block may lose several."""
        keys = self.keys
        found, _ = self._searched(blocks, names, num_tokens)
        gone, held = found[found >= 0].unique(), blocks.unique()
        self._announce_removed(self._leave(gone))
        rows = self._left(keys.first[held].long())
        put(keys.first, held, rows)
        while len(rows := rows[rows >= 0]):
            after = self._left(keys.after[rows].long())
            put(keys.after, rows, after)
            rows = after
        self._retire(gone)

    def move(self, src: int, dst: int) -> None:
        """Give every key of one block to another one, as its newest holder (clause Index/move_takes_all)."""
        keys = self.keys
        rows = self._rows_of(torch.tensor([src], device=keys.first.device))
        self._leave(rows)
        put(keys.block, rows, dst)
        keys.first[dst] = keys.first[src]
        keys.first[src] = NOBODY
        self._join(rows)

    # The rows

    def _join(self, rows: Tensor) -> Tensor:
        """Make rows the newest holders of their keys, in order; rows of one key may be among them.

        Answers those whose keys were not in the index.
        """
        names = names_of(self.keys, rows)
        order, continues = _equals_together(names)
        rows = rows[order]
        begins = join_holders(self.keys, rows, find(self.keys, self.buckets, names.at(order)), continues)
        insert(self.keys, self.buckets, rows[begins])
        return rows[begins]

    def _leave(self, rows: Tensor) -> Tensor:
        """Take rows out of the rings of holders, and their keys out of the index where none is left.

        Answers a row of each key that went.
        """
        keys = self.keys
        heads = keys.cell[rows] >= 0
        put(keys.block, rows, NOBODY)
        heirs = leave_holders(keys, rows)
        inherits = heads & (heirs >= 0)
        cells = keys.cell[rows[inherits]].long()
        put(self.buckets.rows.view(-1), cells, heirs[inherits])
        put(keys.cell, heirs[inherits], cells)
        put(keys.cell, rows[inherits], NOBODY)
        gone = rows[heads & (heirs < 0)]
        remove(self.keys, self.buckets, gone)
        return gone

    def _announce_removed(self, rows: Tensor) -> None:
        if self.events.is_on:
            self.events.removed(self._written(rows))

    def _rows_of(self, blocks: Tensor) -> Tensor:
        """The rows of all keys of these blocks; of a single one, in order."""
        found, rows = [], self.keys.first[blocks].long()
        while len(rows := rows[rows >= 0]):
            found.append(rows)
            rows = self.keys.after[rows].long()
        return torch.cat(found) if found else rows

    def _searched(self, blocks: Tensor, names: Names, num_tokens: Tensor) -> tuple[Tensor, Tensor]:
        """The row in which each block has the key already, and that of its last key; else ``NOBODY``."""
        keys = self.keys
        rows = last = keys.first[blocks].long()
        found = torch.full_like(rows, NOBODY)
        while bool((rows >= 0).any()):
            is_it = same_name(keys, rows, names) & (keys.num_tokens[rows] == num_tokens)
            found, last = torch.where(is_it, rows, found), torch.where(rows >= 0, rows, last)
            rows = torch.where(rows >= 0, keys.after[rows].long(), NOBODY)
        return found, last

    def _left(self, rows: Tensor) -> Tensor:
        """From each of these rows on in its list, the first whose key has not left; else ``NOBODY``."""
        while bool((is_gone := (rows >= 0) & (self.keys.block[rows] < 0)).any()):
            rows = torch.where(is_gone, self.keys.after[rows].long(), rows)
        return rows

    def _new_rows(self, count: int) -> Tensor:
        keys = self.keys
        if keys.num_unused < count:
            self._grow(len(keys.block) + count)
        keys = self.keys
        rows = keys.unused[keys.num_unused - count : keys.num_unused].long().flip(0)
        keys.num_unused -= count
        return rows

    def _retire(self, rows: Tensor) -> None:
        """Give rows back that are in no list any more."""
        keys = self.keys
        keys.unused[keys.num_unused : keys.num_unused + len(rows)] = rows.to(keys.unused.dtype)
        keys.num_unused += len(rows)

    def _grow(self, at_least: int) -> None:
        """Make room for more keys; the index stays at most half full."""
        old = self.keys
        num_old = num_rows = len(old.block)
        while num_rows < at_least:
            num_rows *= 2
        require(
            num_rows <= _MAX_ROWS,
            config.COVERED,
            f"there would be {at_least} keys at once, not up to {_MAX_ROWS}",
            UnsupportedError,
        )
        self.keys = new = Keys.empty(0, num_rows - num_old, old.first.device)
        new.first = old.first
        for column in fields(Keys):
            if column.name == "first":
                continue
            mine, more = getattr(old, column.name), getattr(new, column.name)
            if column.name == "unused":
                # What was not in use before is on top of the stack, and taken first.
                mine, more = more + num_old, mine
            setattr(new, column.name, torch.cat([mine, more]) if isinstance(mine, Tensor) else mine + more)
        self.buckets = Buckets.empty(_buckets_for(num_rows), old.first.device)
        insert(self.keys, self.buckets, (new.cell >= 0).nonzero().view(-1))

    def _written(self, rows: Tensor) -> tuple[Key, ...]:
        """The keys of these rows as bytes."""
        keys = self.keys
        digests = digests_of(keys.digest[rows], keys.length[rows])
        return tuple(
            Key(make_block_hash_with_group_id(digest, group), num_tokens)
            for digest, group, num_tokens in zip(
                digests, keys.group[rows].tolist(), keys.num_tokens[rows].tolist(), strict=True
            )
        )


def _equals_together(names: Names) -> tuple[Tensor, Tensor]:
    """An order in which equal keys stand together as they came, and which of it has the key before it."""
    order = torch.arange(len(names.group), device=names.group.device)
    for column in (names.length, names.group, *names.digest.unbind(1)):
        order = order[torch.argsort(column[order], stable=True)]
    ordered = names.at(order)
    continues = torch.zeros(len(order), dtype=torch.bool, device=order.device)
    continues[1:] = (
        (ordered.digest[1:] == ordered.digest[:-1]).all(1)
        & (ordered.length[1:] == ordered.length[:-1])
        & (ordered.group[1:] == ordered.group[:-1])
    )
    return order, continues
