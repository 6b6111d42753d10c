"""How long a prefix one kind of group can answer, and which keys name its blocks.

``cached[i]`` says whether the prefix of ``(i + 1) * unit`` tokens is a key in every group asked.
A hit is either *fine-grained* (``alignment == unit < block_size``) or ends on a multiple of
``alignment``, which is then a multiple of ``block_size``.
"""

from collections.abc import Sequence
from typing import NamedTuple

from .sizes import blocks_for, floor_to


class Hit(NamedTuple):
    """A prefix that is cached."""

    length: int
    """Its length in tokens."""
    named_by: tuple[int, ...]
    """The blocks that hold it, each by the length of the cached prefix whose key finds it."""


def _is_cached(cached: Sequence[bool], num_tokens: int, unit: int) -> bool:
    return num_tokens // unit <= len(cached) and cached[num_tokens // unit - 1]


def full_attention_hit(
    cached: Sequence[bool], max_length: int, block_size: int, unit: int, alignment: int, drop_eagle: bool
) -> Hit:
    """The longest hit of full attention, at most ``max_length`` tokens (clauses Hit/...).

    ``named_by[i]`` names the block of tokens ``[i * block_size, (i + 1) * block_size)``.
    """
    named_by: list[int] = []
    length = 0
    while length + block_size <= max_length and _is_cached(cached, length + block_size, unit):
        length += block_size
        named_by.append(length)
    if alignment < block_size:
        longest_inside = min(length + block_size - unit, floor_to(max_length, unit))
        for boundary in range(longest_inside, length, -unit):
            if _is_cached(cached, boundary, unit):
                length = boundary
                named_by.append(boundary)
                break
    if drop_eagle and length:
        length -= min(alignment, block_size)
    length = floor_to(length, alignment)
    return Hit(length, tuple(named_by[: blocks_for(length, block_size)]))


def mamba_hit(cached: Sequence[bool], max_length: int, unit: int, alignment: int) -> Hit:
    """The longest hit of a group of states, at most ``max_length`` tokens (clauses Hit/...).

    One state answers for its whole prefix, so ``named_by`` has the one length, or nothing.
    """
    for boundary in range(floor_to(max_length, alignment), 0, -alignment):
        if _is_cached(cached, boundary, unit):
            return Hit(boundary, (boundary,))
    return Hit(0, ())
