"""Groups as they are written on a command line."""

import re
from collections.abc import Iterator

from pagedkv.spec.world import KINDS, REACHING, Group

from .worlds import UNCACHED

LENGTHS_IN_WORDS = f"a length too for {', '.join(REACHING)}"
"""What else a group is written with, for the help of commands."""
MOST_GROUPS = 4
"""Groups of one mix."""
MIX_IN_WORDS = f"one to {MOST_GROUPS} of {', '.join(KINDS)} with + between them, such as full+mamba"
"""What a mix of groups is."""


class BadDeployment(Exception):
    """A deployment that cannot be; the message says what is wrong with which value."""


def fault_in_mix(mix: str) -> str:
    """Why a text is no mix of groups; empty for one."""
    kinds = mix.split("+")
    for kind in kinds:
        if kind not in KINDS:
            return f"there is no kind of group {kind!r}"
    return "" if len(kinds) <= MOST_GROUPS else f"{len(kinds)} groups are too many"


def groups_of(text: str, separator: str, most_groups: int, largest: int) -> tuple[Group, ...]:
    """The groups that a text such as ``full:256,window:16:128`` names. Raises ``BadDeployment``.

    Each is a kind and a block size in tokens, and a length in tokens for the kinds that reach so far. Kinds
    beside which caching is off are refused. Groups with the same text have the same spec.
    """
    parts = text.split(separator)
    if len(parts) > most_groups:
        raise BadDeployment(f"--groups {text}: {len(parts)} groups, and there can be {most_groups}")
    example = separator.join(("full:2", "window:2:3"))
    plain = [kind for kind in KINDS if kind not in (*REACHING, *UNCACHED)]
    form = (
        f"name each as KIND:TOKENS with one of {', '.join(plain)} and a block size, or as "
        f"KIND:TOKENS:LENGTH with one of {', '.join(REACHING)}, all from 1 to {largest}, such as {example}"
    )
    for part in parts:
        kind, *numbers = part.split(":")
        if kind in UNCACHED:
            raise BadDeployment(f"--groups {text}: {kind} needs caching to be off, and here it is on: {form}")
        known = kind in KINDS and len(numbers) == 1 + (kind in REACHING)
        if not known or not all(_is_count(number, largest) for number in numbers):
            raise BadDeployment(f"--groups {text}: {part!r} is no group: {form}")
    return tuple(_groups(parts))


def group_in_words(group: Group) -> str:
    """The group as it is written."""
    return ":".join(map(str, (group.kind, group.block_size, *([group.reach] if group.reach else ()))))


def _is_count(text: str, largest: int) -> bool:
    return bool(re.fullmatch("[1-9][0-9]{0,6}", text, re.ASCII)) and int(text) <= largest


def _groups(parts: list[str]) -> Iterator[Group]:
    for part in parts:
        kind, size, *reach = part.split(":")
        yield Group(KINDS[kind], int(size), reach=int(reach[0]) if reach else 0)
