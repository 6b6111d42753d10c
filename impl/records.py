"""Rows of numbers that come and go: what is queued, pinned or marked."""

import torch
from torch import Tensor

from .layout import grown


class Records:
    """A growing table of int64, kept in the order in which its rows came."""

    def __init__(self, columns: int, device: torch.device) -> None:
        self._store = torch.zeros((8, columns), dtype=torch.int64, device=device)
        self.count = 0

    def copy(self) -> "Records":
        """An independent table with the same rows."""
        twin = Records.__new__(Records)
        twin._store, twin.count = self._store.clone(), self.count
        return twin

    @property
    def rows(self) -> Tensor:
        """The rows, int64 [count, columns]: a view, which can be written to."""
        return self._store[: self.count]

    def append(self, *columns: Tensor | int) -> Tensor:
        """Add rows, given by columns; answers their numbers, int64 [n]."""
        device = self._store.device
        parts = [c if isinstance(c, Tensor) else torch.tensor([c], device=device) for c in columns]
        new = torch.stack(torch.broadcast_tensors(*parts), 1)
        if self.count + len(new) > len(self._store):
            self._store = grown(self._store, 2 * (self.count + len(new)), 0)
        self._store[self.count : self.count + len(new)] = new
        self.count += len(new)
        return torch.arange(self.count - len(new), self.count, device=device)

    def keep(self, chosen: Tensor) -> None:
        """Keep the rows that ``chosen`` [count] says."""
        kept = self.rows[chosen]
        self._store[: len(kept)] = kept
        self.count = len(kept)

    def clear(self) -> None:
        """Have no rows."""
        self.count = 0
