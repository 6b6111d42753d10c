"""One hit for all kinds of groups."""

from collections.abc import Sequence
from typing import NamedTuple

from .hits import Hit, full_attention_hit, mamba_hit
from .sizes import blocks_for


class Kind(NamedTuple):
    """The groups of one spec, as a lookup sees them."""

    is_mamba: bool
    block_size: int
    drops_for_eagle: bool
    cached: tuple[bool, ...]
    """As in ``hits``: by unit boundary, whether every group of this kind holds the key."""


class CommonHit(NamedTuple):
    """What a lookup over several kinds finds."""

    length: int
    """The common hit in tokens."""
    junction: int
    """The longest prefix that some kind had and the common hit lost; 0 where none did."""
    named_by: tuple[tuple[int, ...], ...]
    """Per kind, as in ``Hit``, cut to the common hit."""


def kind_hit(kind: Kind, max_length: int, unit: int, alignment: int) -> Hit:
    """The hit of one kind asked alone."""
    if kind.is_mamba:
        return mamba_hit(kind.cached, max_length, unit, alignment)
    return full_attention_hit(kind.cached, max_length, kind.block_size, unit, alignment, kind.drops_for_eagle)


def common_hit(kinds: Sequence[Kind], max_length: int, unit: int, alignment: int) -> CommonHit:
    """The longest prefix that every kind can answer (clauses Hit/...).

    ``kinds`` has full attention first. Full attention that holds a prefix holds every shorter one, so it is
    asked once, up to ``max_length``, and cut; states are asked again whenever the candidate shrinks.
    """
    found: dict[int, Hit] = {}
    candidate, junction = max_length, 0
    while True:
        length = candidate
        for i, kind in enumerate(kinds):
            if kind.is_mamba or i not in found:
                found[i] = kind_hit(kind, length if kind.is_mamba else max_length, unit, alignment)
            length = min(length, found[i].length)
            junction = max(junction, length)
        if length == candidate:
            break
        candidate = length
    named_by = tuple(found[i].named_by[: blocks_for(length, k.block_size)] for i, k in enumerate(kinds))
    return CommonHit(length, junction if junction > length else 0, named_by)
