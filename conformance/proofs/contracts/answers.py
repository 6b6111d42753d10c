"""Which lengths a kind of groups can answer, as statements about positions and keys.

``cached[i]`` says whether the prefix of ``(i + 1) * unit`` tokens is a key. Lengths and positions are in
tokens.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

from pagedkv.spec.rules.hits import Kind
from pagedkv.spec.rules.reach import Reads


class Asked(NamedTuple):
    """What a lookup asks of every kind alike.

    The alignment is a multiple of every block size, or the unit: then hits may end inside blocks.
    """

    max_length: int
    unit: int
    alignment: int

    @property
    def lengths(self) -> range:
        """Those that a hit may have, but 0."""
        return range(self.alignment, self.max_length + 1, self.alignment)


def is_read(reads: Reads, position: int, num_processed: int, reach: int) -> bool:
    """Whether the step after ``num_processed`` tokens reads ``position``, which is one of them."""
    match reads:
        case "window":
            return num_processed - position < reach
        case "chunk":
            return position // reach == num_processed // reach
        case "state":
            return position == num_processed - 1
    return True


def read_positions(kind: Kind, length: int) -> list[int]:
    """What the step after a hit of ``length`` tokens reads of it."""
    return [p for p in range(length) if is_read(kind.reads, p, length, kind.reach)]


def is_used(i: int, length: int, reach: int, is_eagle: bool, block_size: int) -> bool:
    """Whether the step after a hit of ``length`` tokens in windows reads block ``i``, or EAGLE gave it up."""
    positions = [i * block_size + j for j in range(block_size)]
    is_given_up = is_eagle and positions[0] == length
    return length > 0 and (
        is_given_up or any(p < length and is_read("window", p, length, reach) for p in positions)
    )


def holder(kind: Kind, position: int, asked: Asked) -> int:
    """The longest key that is looked for and shows that ``position`` is held; 0 if there is none.

    A key is that of the block in which it ends, and all of the block that lies before its end is held. A
    state is held by the key of its own length alone.
    """
    block_end = position - position % kind.block_size + kind.block_size
    longest = position + 1 if kind.reads == "state" else min(block_end, asked.max_length)
    ends = range(longest, position, -1)
    return next((end for end in ends if _is_key(kind, end, asked.unit)), 0)


def _is_key(kind: Kind, length: int, unit: int) -> bool:
    return length % unit == 0 and length <= len(kind.cached) * unit and kind.cached[length // unit - 1]


def is_answered(kind: Kind, length: int, asked: Asked) -> bool:
    """Whether all is held that the step after a hit of ``length`` tokens reads.

    Attention that a draft model reads also has to hold what comes next: one unit where hits may end inside
    blocks, else one block.
    """
    positions = read_positions(kind, length)
    if kind.drops_for_eagle and kind.reads != "state":
        positions += range(length, length + min(kind.block_size, asked.alignment))
    return all(holder(kind, position, asked) for position in reversed(positions))


def names(kind: Kind, length: int, asked: Asked) -> tuple[int, ...]:
    """The longest key of each block that is read after an answer of ``length`` tokens."""
    return tuple(sorted({holder(kind, position, asked) for position in read_positions(kind, length)}))


def longest_answer(kinds: Sequence[Kind], asked: Asked) -> int:
    """The longest length that each of the kinds can answer. Nothing is always an answer."""
    lengths = reversed(asked.lengths)
    return next((n for n in lengths if all(is_answered(kind, n, asked) for kind in kinds)), 0)


def lookups(kinds: Sequence[Kind], unit: int, alignment: int) -> list[Asked]:
    """Lookups up to every length that the caches tell about, and up to one alignment more."""
    longest = unit * max(len(kind.cached) for kind in kinds)
    return [Asked(max_length, unit, alignment) for max_length in range(longest + alignment + 1)]


def all_cached(longest: int) -> Iterator[tuple[bool, ...]]:
    """Everything that can be cached of up to ``longest`` units."""
    for width in range(longest + 1):
        yield from product((False, True), repeat=width)
