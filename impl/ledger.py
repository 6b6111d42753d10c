"""What a manager keeps beside pool and tables: row numbers, copies, hand-offs, pins, marks of the pass."""

import torch
from torch import Tensor

from .keys import KeyStore
from .layout import DIGEST_WORDS, NOBODY
from .ops.fixed import Names, put
from .records import Records

COPY = -1
"""Who fills a block that a copy fills."""
WITHDRAWN = -2
"""Who fills a block that nobody fills any more."""


class Ledger:
    """The lists that all groups of a manager share.

    A request has one row number in all groups. A request that is gone keeps its number until the pass ends
    whose marks may name it.
    """

    def __init__(self, num_blocks: int, device: torch.device) -> None:
        self.device = device
        self.rows: dict[str, int] = {}
        self.gone: dict[str, int] = {}
        self.num_rows = 0
        self.spare_rows: list[int] = []
        self.copies = Records(3, device)
        """Group, source, destination."""
        self.hand_offs = Records(4, device)
        """Row, group, block, tokens."""
        self.new = Records(2, device)
        """Group, block: what the worker zeroes before the step."""
        self.pins = Records(2, device)
        """Row, block."""
        self.filled = Records(3, device)
        """Group, block, and the row whose forward fills it in this pass, ``COPY`` or ``WITHDRAWN``."""
        self.published = Records(5 + DIGEST_WORDS, device)
        """Group, row, block, tokens, bytes and words of the digest, of keys first registered in this pass."""
        # By block, where ``filled`` has it, if the row there says so: nothing to clear when a pass begins.
        self._filled_at = torch.zeros(num_blocks, dtype=torch.int32, device=device)

    def copy(self) -> "Ledger":
        """An independent ledger in the same state."""
        twin = Ledger.__new__(Ledger)
        twin.__dict__.update({n: v.copy() if isinstance(v, _OWNED) else v for n, v in vars(self).items()})
        twin._filled_at = self._filled_at.clone()
        return twin

    # Requests

    def open(self, request_id: str) -> int:
        """A row number for a request that has none."""
        if request_id in self.gone:
            row = self.gone.pop(request_id)
        elif self.spare_rows:
            row = self.spare_rows.pop()
        else:
            row, self.num_rows = self.num_rows, self.num_rows + 1
        self.rows[request_id] = row
        return row

    def close(self, request_id: str) -> Tensor:
        """Forget a request; answers its pins, int64 [n], still held.

        Its number is free at once, or when the pass ends whose marks may name it.
        """
        row = self.rows.pop(request_id)
        if self.hand_offs.count:
            self.hand_offs.keep(self.hand_offs.rows[:, 0] != row)
        is_its = self.pins.rows[:, 0] == row
        pinned = self.pins.rows[is_its, 1]
        if len(pinned):
            self.pins.keep(~is_its)
        # To look whether one names it would take as long as there are marks, for each request that goes.
        if self.filled.count or self.published.count:
            self.gone[request_id] = row
        else:
            self.spare_rows.append(row)
        return pinned

    # What is queued

    def take_copies(self) -> Tensor:
        """Drain the copies: sources and destinations, int64 [n, 2], group by group."""
        queued = self.copies.rows
        self.copies.clear()
        return queued[queued[:, 0].argsort(stable=True), 1:]

    def take_hand_offs(self) -> Tensor:
        """Drain the hand-offs, group by group; each block is noted as pinned."""
        queued = self.hand_offs.rows
        entries = queued[queued[:, 1].argsort(stable=True)]
        self.pins.append(entries[:, 0], entries[:, 2])
        self.hand_offs.clear()
        return entries

    def take_new(self, group: int) -> Tensor:
        """Drain the blocks of a group that are to be zeroed, int64 [n]."""
        is_its = self.new.rows[:, 0] == group
        blocks = self.new.rows[is_its, 1]
        self.new.keep(~is_its)
        return blocks

    # The pass

    def new_step_starts(self) -> None:
        """Forget what the last pass published and filled."""
        self.filled.clear()
        self.published.clear()
        self.spare_rows += self.gone.values()
        self.gone.clear()

    def fill(self, group: int, blocks: Tensor, fillers: Tensor | int) -> None:
        """Mark ``blocks`` [n], all different, as filled in this pass by these rows."""
        at = self._mark_of(group, blocks)
        if isinstance(fillers, int):
            fillers = torch.full_like(blocks, fillers)
        self.filled.rows[at[at >= 0], 2] = fillers[at >= 0]
        new = blocks[at < 0]
        put(self._filled_at, new, self.filled.append(torch.full_like(new, group), new, fillers[at < 0]))

    def is_filled(self, group: int, blocks: Tensor) -> Tensor:
        """Whether this pass still fills each of ``blocks`` [n]."""
        at = self._mark_of(group, blocks)
        return (at >= 0) & (self._filler(at) != WITHDRAWN)

    def filled_by(self, group: int, blocks: Tensor, row: int) -> Tensor:
        """Whether each of ``blocks`` [n] is filled in this pass by the request in ``row``."""
        at = self._mark_of(group, blocks)
        return (at >= 0) & (self._filler(at) == row)

    def publish(self, row: Tensor, blocks: Tensor, names: Names, num_tokens: Tensor) -> None:
        """Note keys that were first registered in this pass, for the requests in ``row`` [n]."""
        self.published.append(
            names.group, row, blocks, num_tokens, names.length.long(), *names.digest.unbind(1)
        )

    def published_for(self, row: int) -> Tensor:
        """Those of the request in ``row``, as ``published`` has them."""
        rows = self.published.rows
        return rows[rows[:, 1] == row]

    def withdraw(self, row: int, keys: KeyStore) -> None:
        """Take back the keys published for the request in this pass: its forward will fill nothing."""
        its = self.published_for(row)
        keys.withdraw(its[:, 2], names_of_published(its), its[:, 3])
        self.published.keep(self.published.rows[:, 1] != row)
        marks = self.filled.rows
        marks[marks[:, 2] == row, 2] = WITHDRAWN

    def _mark_of(self, group: int, blocks: Tensor) -> Tensor:
        """Where ``filled`` has each block of the group, or ``NOBODY``."""
        at = self._filled_at[blocks].long()
        if not self.filled.count:
            return torch.full_like(blocks, NOBODY)
        marks = self.filled.rows[at.clamp(max=self.filled.count - 1)]
        says_so = (at < self.filled.count) & (marks[:, 0] == group) & (marks[:, 1] == blocks)
        return torch.where(says_so, at, NOBODY)

    def _filler(self, at: Tensor) -> Tensor:
        return self.filled.rows[at, 2] if self.filled.count else at


def names_of_published(entries: Tensor) -> Names:
    """The keys in rows of ``Ledger.published``."""
    return Names(entries[:, 5:], entries[:, 4].to(torch.uint8), entries[:, 0])


_OWNED = (dict, list, Records)
