"""How long a prefix is cached, and which keys name its blocks."""

from collections.abc import Sequence
from typing import NamedTuple

from .reach import Reads, skipped_entries
from .sizes import blocks_for, floor_to


class Kind(NamedTuple):
    """The groups of one spec, as a lookup sees them."""

    reads: Reads
    reach: int
    """Tokens of windows and chunks."""
    block_size: int
    drops_for_eagle: bool
    """Whether a draft model reads it; of states that means nothing."""
    cached: tuple[bool, ...]
    """``cached[i]``: whether the prefix of ``(i + 1) * unit`` tokens is a key in every group of this kind."""


class Hit(NamedTuple):
    """What a lookup finds."""

    length: int
    """The prefix that every kind can answer, in tokens."""
    junction: int
    """The longest prefix that the first kind had and the common hit lost; 0 where it lost none."""
    named_by: tuple[tuple[int, ...], ...]
    """Per kind the blocks that will be read, each by the length of the prefix whose key finds it."""


def names_of_hit(
    kind: Kind, length: int, max_length: int, unit: int, alignment: int
) -> tuple[int, ...] | None:
    """Which keys name the blocks that are read after a hit of ``length`` tokens; None if one is missing.

    What attention holds of a block is all that a longer key there says; a state is that of its own key. With
    EAGLE as much more must be there as a hit can be longer inside a block, or one block: it is given up.
    Keys of more than ``max_length`` tokens are not looked for.
    """
    size, is_state = kind.block_size, kind.reads == "state"
    needed = length + (min(alignment, size) if kind.drops_for_eagle and not is_state else 0)
    first = skipped_entries(kind.reads, length, kind.reach, size)
    names: list[int] = []
    for i in range(blocks_for(needed, size) - 1, first - 1, -1):
        least = min(needed, (i + 1) * size)
        most = least if is_state else min(max_length, (i + 1) * size)
        held = [n for n in range(least, most + 1, unit) if any(kind.cached[n // unit - 1 : n // unit])]
        if not held:
            return None
        names.insert(0, held[-1])
    return tuple(names[: blocks_for(length, size) - first])


def longest_hit(kinds: Sequence[Kind], max_length: int, unit: int, alignment: int) -> Hit:
    """The longest prefix that every kind can answer, at most ``max_length`` tokens (clauses Hit/...)."""
    for length in range(floor_to(max_length, alignment), 0, -alignment):
        found = [names_of_hit(kind, length, max_length, unit, alignment) for kind in kinds]
        named_by = tuple(names for names in found if names is not None)
        if len(named_by) == len(kinds):
            break
    else:
        length, named_by = 0, ((),) * len(kinds)
    first = length if len(kinds) == 1 else longest_hit(kinds[:1], max_length, unit, alignment).length
    return Hit(length, first if first > length else 0, named_by)
