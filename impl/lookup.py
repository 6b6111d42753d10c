"""How long a prefix is cached: searches over a request's hashes."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from pagedkv.spec import BlockHash

from .keys import names_of_hashes
from .ops.fixed import leading_run
from .pool import BlockPool

_FIRST_PIECE = 16
"""Keys that a search asks for at first. Each piece after it is larger, so that a miss costs little."""


class Found(NamedTuple):
    """A cached prefix."""

    length: int
    """In tokens."""
    blocks: Tensor
    """int64 [groups, n]: the blocks of its end."""
    is_whole: bool
    """Whether these are all blocks from the start on, of which a shorter prefix takes the first."""

    def rows(self, length: int, block_size: int) -> Tensor:
        """The blocks of the first ``length`` tokens, int64 [groups, blocks], null where none is needed."""
        width = -(-length // block_size)
        if self.is_whole:
            return self.blocks[:, :width]
        return torch.nn.functional.pad(self.blocks, (width - self.blocks.shape[1], 0))


class Prefix:
    """The hashes of a request, as a search asks for them."""

    def __init__(self, pool: BlockPool, hashes: Sequence[BlockHash]) -> None:
        self.pool = pool
        self.unit = pool.hash_block_size
        self.hashed = len(hashes) * self.unit
        """Tokens that have a hash."""
        self._hashes = hashes

    def holders(self, groups: Sequence[int], boundaries: range) -> Tensor:
        """The longest holder of each prefix in each group, int64 [groups, boundaries], and -1 for none.

        ``boundaries`` are lengths in tokens, all hashed.
        """
        hashes = [self._hashes[length // self.unit - 1] for length in boundaries]
        of_group = torch.tensor(list(groups), dtype=torch.int64, device=self.pool.device)
        names = names_of_hashes(hashes * len(groups), of_group.repeat_interleave(len(hashes)))
        return self.pool.keys.find(names).view(len(groups), len(hashes))

    def run(self, groups: Sequence[int], block_size: int, max_length: int) -> Tensor:
        """The blocks from the start on that all groups hold, int64 [groups, n]."""
        boundaries = range(block_size, min(max_length, self.hashed) + 1, block_size)
        found = [torch.zeros((len(groups), 0), dtype=torch.int64, device=self.pool.device)]
        piece = _FIRST_PIECE
        while boundaries:
            blocks = self.holders(groups, boundaries[:piece])
            length = int(leading_run((blocks >= 0).all(0)))
            found.append(blocks[:, :length])
            boundaries = boundaries[piece:] if length == blocks.shape[1] else range(0)
            piece *= 4
        return torch.cat(found, 1)

    def last(self, groups: Sequence[int], grain: int, above: int, max_length: int) -> tuple[int, Tensor]:
        """The longest prefix that all groups hold, a multiple of ``grain`` and longer than ``above``.

        Answers its length, or 0, and its block in each group, int64 [groups, 1], or [groups, 0].
        """
        longest = min(max_length, self.hashed) // grain * grain
        boundaries = range(longest, above, -grain)
        piece = _FIRST_PIECE
        while boundaries:
            blocks = self.holders(groups, boundaries[:piece])
            where = (blocks >= 0).all(0).nonzero().view(-1)[:1]
            if len(where):
                return boundaries[int(where)], blocks[:, where]
            boundaries = boundaries[piece:]
            piece *= 4
        return 0, torch.zeros((len(groups), 0), dtype=torch.int64, device=self.pool.device)


def attention_hit(
    prefix: Prefix, groups: Sequence[int], max_length: int, block_size: int, alignment: int, drop_eagle: bool
) -> Found:
    """The longest hit of full attention (clauses Hit/...): a run of blocks, and perhaps part of one."""
    blocks = prefix.run(groups, block_size, max_length)
    longest = blocks.shape[1] * block_size
    if alignment < block_size:
        inside_below = min(max_length, longest + block_size - 1)
        length, last = prefix.last(groups, prefix.unit, longest, inside_below)
        longest, blocks = max(longest, length), torch.cat([blocks, last], 1)
    # EAGLE gives up the last grain of what there is, or the last block.
    kept = max(0, longest - min(alignment, block_size)) if drop_eagle else longest
    return Found(kept - kept % alignment, blocks, True)


def state_hit(prefix: Prefix, groups: Sequence[int], max_length: int, alignment: int) -> Found:
    """The longest hit of a group of states: one state stands for its prefix. EAGLE has no states to drop."""
    length, blocks = prefix.last(groups, alignment, 0, max_length)
    return Found(length, blocks, False)
