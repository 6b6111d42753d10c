"""How long a prefix is cached: searches over a request's hashes."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from pagedkv.spec import BlockHash

from .digests import names_of_hashes
from .ops.fixed import leading_run
from .pool import BlockPool

_FIRST_PIECE = 16
"""Keys that a search asks for at first."""


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


class Kind(NamedTuple):
    """Groups of one spec, which are looked up, and give up for EAGLE, together."""

    groups: tuple[int, ...]
    block_size: int
    first_read: Callable[[Tensor], Tensor]
    """The first position that a step after so many tokens reads."""
    reads_end: bool
    """Whether that can be another one than the start."""
    keeps_keys: bool
    """Whether a block holds all shorter prefixes, too."""
    drops: bool
    """Whether a hit gives up its last part."""


class Prefix:
    """The hashes of a request, as a search for at most ``max_length`` tokens asks for them."""

    def __init__(self, pool: BlockPool, hashes: Sequence[BlockHash], max_length: int) -> None:
        self.pool = pool
        self.unit = pool.hash_block_size
        self.max_length = max_length
        self.max_hashed = min(max_length, len(hashes) * self.unit)
        """Tokens that may be found by a hash."""
        self._hashes = hashes

    def holders(self, groups: Sequence[int], boundaries: range) -> Tensor:
        """The longest holder of each prefix in each group, int64 [groups, boundaries], and -1 for none.

        ``boundaries`` are lengths in tokens, all hashed.
        """
        hashes = [self._hashes[length // self.unit - 1] for length in boundaries]
        of_group = torch.tensor(list(groups), dtype=torch.int64, device=self.pool.device)
        names = names_of_hashes(hashes * len(groups), of_group.repeat_interleave(len(hashes)))
        return self.pool.keys.find(names).view(len(groups), len(hashes))

    def run(self, kind: Kind) -> Tensor:
        """The blocks from the start on that all groups hold, int64 [groups, n]."""
        boundaries = range(kind.block_size, self.max_hashed + 1, kind.block_size)
        found = [self.holders(kind.groups, range(0))]
        for piece in _pieces(boundaries):
            blocks = self.holders(kind.groups, piece)
            length = int(leading_run((blocks >= 0).all(0)))
            found.append(blocks[:, :length])
            if length < len(piece):
                break
        return torch.cat(found, 1)

    def inside(self, kind: Kind, above: int) -> tuple[int, Tensor]:
        """The longest prefix that all groups hold of less than a block more than ``above`` tokens.

        Answers its length, or 0, and its block in each group, int64 [groups, 0 or 1].
        """
        most = min(self.max_hashed, above + kind.block_size - self.unit)
        boundaries = range(most - most % self.unit, above, -self.unit)
        blocks = self.holders(kind.groups, boundaries)
        where = (blocks >= 0).all(0).nonzero().view(-1)[:1]
        return (boundaries[int(where)] if len(where) else 0), blocks[:, where]

    def ends(self, kind: Kind, length: int) -> Tensor:
        """The blocks of a hit of ``length`` tokens that its next step reads, int64 [groups, n]."""
        if not kind.keeps_keys:
            return self.holders(kind.groups, range(length, length + 1))
        first = int(kind.first_read(torch.tensor([length], device=self.pool.device))) // kind.block_size
        return self.holders(kind.groups, range((first + 1) * kind.block_size, length + 1, kind.block_size))

    def answers(self, kind: Kind, lengths: range) -> Tensor:
        """Whether a kind that reads the end of a prefix can answer ``lengths``, descending; bool [n]."""
        if not kind.keeps_keys:
            unknown = sum(length > self.max_hashed for length in lengths)
            there = (self.holders(kind.groups, lengths[unknown:]) >= 0).all(0)
            return torch.cat([there.new_zeros(unknown), there])
        size, n = kind.block_size, torch.tensor(lengths, device=self.pool.device)
        first, last = kind.first_read(n) // size, n // size + kind.drops
        begin, end = int(first.min()), int(last.max())
        known = range((begin + 1) * size, min(end * size, self.max_hashed) + 1, size)
        there = (self.holders(kind.groups, known) >= 0).all(0)
        lacking = torch.ones(end - begin + 1, dtype=torch.int64, device=n.device)
        lacking[0] = 0
        lacking[1 : 1 + len(there)] = ~there
        before = lacking.cumsum(0)
        return before[last - begin] == before[first - begin]


def _pieces(boundaries: range) -> Iterator[range]:
    """Parts of a search, each larger than the one before, so that a miss costs little."""
    size = _FIRST_PIECE
    while boundaries:
        yield boundaries[:size]
        boundaries, size = boundaries[size:], 4 * size


def longest_answer(prefix: Prefix, kinds: Sequence[Kind], grain: int, max_length: int) -> int:
    """The longest multiple of ``grain`` that kinds of which the end is read all answer, or 0."""
    for piece in _pieces(range(max_length - max_length % grain, 0, -grain)):
        can = torch.stack([prefix.answers(kind, piece) for kind in kinds]).all(0).nonzero().view(-1)[:1]
        if len(can):
            return piece[int(can)]
    return 0


def kind_hit(prefix: Prefix, kind: Kind, alignment: int) -> Found:
    """The longest hit of one kind alone (clauses Hit/...).

    Where all is read: a run of blocks and, with fine grain, a part of one more. EAGLE gives up the last
    grain of what there is, or the last block.
    """
    if kind.reads_end:
        return sparse_hit(prefix, kind, longest_answer(prefix, [kind], alignment, prefix.max_length))
    blocks = prefix.run(kind)
    longest = blocks.shape[1] * kind.block_size
    if alignment < kind.block_size:
        length, last = prefix.inside(kind, longest)
        longest, blocks = max(longest, length), torch.cat([blocks, last], 1)
    kept = max(0, longest - min(alignment, kind.block_size)) if kind.drops else longest
    return Found(kept - kept % alignment, blocks, True)


def sparse_hit(prefix: Prefix, kind: Kind, length: int) -> Found:
    """A hit of ``length`` tokens in a kind of which only its end is read."""
    return Found(
        length, prefix.ends(kind, length) if length else prefix.holders(kind.groups, range(0)), False
    )
