"""Which prefixes the groups of one kind can answer, as statements about keys.

``cached[i]`` says whether the prefix of ``(i + 1) * unit`` tokens is a key. Lengths are in tokens.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple


class Grid(NamedTuple):
    """The sizes of one kind, in tokens: ``unit`` divides the others.

    The alignment is a multiple of the block size, or the unit: then blocks are also found by keys
    inside them.
    """

    block_size: int
    unit: int
    alignment: int

    @property
    def step(self) -> int:
        """What lies between two lengths at which attention looks for keys."""
        return min(self.block_size, self.alignment)


def is_key(cached: Sequence[bool], length: int, unit: int) -> bool:
    """Whether the prefix of ``length`` tokens is a key."""
    return any((i + 1) * unit == length and known for i, known in enumerate(cached))


def nameable(cached: Sequence[bool], unit: int, step: int) -> range:
    """The multiples of ``step``, from one on, that ``cached`` tells about."""
    return range(step, len(cached) * unit + 1, step)


def attention_names(cached: Sequence[bool], max_length: int, grid: Grid) -> list[int]:
    """The lengths up to ``max_length`` that have their own key and one at every block boundary before."""
    return [
        length
        for length in nameable(cached, grid.unit, grid.step)
        if length <= max_length
        and is_key(cached, length, grid.unit)
        and all(is_key(cached, end, grid.unit) for end in range(grid.block_size, length, grid.block_size))
    ]


def attention_answers(
    cached: Sequence[bool], max_length: int, grid: Grid, drop_eagle: bool = False
) -> list[int]:
    """The aligned lengths that attention can answer: what it can name, and every shorter prefix of that.

    For EAGLE the prefix that is named has to be one step longer. Nothing is always an answer.
    """
    spare = grid.step if drop_eagle else 0
    names = attention_names(cached, max_length, grid)
    aligned = nameable(cached, grid.unit, grid.alignment)
    return [0, *(length for length in aligned if any(length + spare <= name for name in names))]


def state_answers(cached: Sequence[bool], max_length: int, unit: int, alignment: int) -> list[int]:
    """The aligned lengths up to ``max_length`` after which there is a state, and nothing."""
    aligned = nameable(cached, unit, alignment)
    return [0, *(length for length in aligned if length <= max_length and is_key(cached, length, unit))]


def keys_in_block(cached: Sequence[bool], block: int, max_length: int, grid: Grid) -> list[int]:
    """The keys of at most ``max_length`` tokens that end inside block ``block`` or with it, ascending."""
    start = block * grid.block_size
    ends = range(start + grid.unit, start + grid.block_size + 1, grid.unit)
    return [length for length in ends if length <= max_length and is_key(cached, length, grid.unit)]


def is_fewest_blocks(width: int, length: int, block_size: int) -> bool:
    """Whether ``width`` blocks cover ``length`` tokens and one less does not."""
    return (width - 1) * block_size < length <= width * block_size


def all_cached(longest: int) -> Iterator[tuple[bool, ...]]:
    """Everything that can be cached of up to ``longest`` units."""
    for width in range(longest + 1):
        yield from product((False, True), repeat=width)
