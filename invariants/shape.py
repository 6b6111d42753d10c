"""What the laws need to know of a deployment, worked out once."""

from functools import lru_cache
from typing import NamedTuple

from pagedkv.spec import World
from pagedkv.spec.world import Group


class Shape(NamedTuple):
    """Sizes in tokens by group, and how groups are looked up."""

    sizes: tuple[int, ...]
    is_state: tuple[bool, ...]
    num_speculative: tuple[int, ...]
    kinds: tuple[tuple[int, ...], ...]
    """Groups with one spec, attention first."""
    eagle: frozenset[int]
    """Groups that a draft model reads."""
    alignment: int
    """What every hit is a multiple of."""
    is_fine: bool
    """Whether hits may end inside blocks."""
    is_hybrid: bool
    """Whether there are several kinds."""


def shape_of(world: World) -> Shape:
    """The shape of a world's deployment."""
    return _shape(world.groups, world.unit, world.use_eagle)


def covering(num_tokens: int, size: int) -> int:
    """How many blocks of ``size`` tokens have one of the first ``num_tokens`` positions."""
    return (num_tokens + size - 1) // size


@lru_cache(maxsize=256)
def _shape(groups: tuple[Group, ...], unit: int, use_eagle: bool) -> Shape:
    world = World(groups, 1, unit, (), 0, 0, use_eagle)
    by_spec: dict[object, list[int]] = {}
    for g in sorted(range(len(groups)), key=lambda g: groups[g].kind == "mamba"):
        by_spec.setdefault(groups[g].spec(), []).append(g)
    is_hybrid = len(by_spec) > 1
    coarse = world.scheduler_block_size if is_hybrid else groups[0].block_size
    return Shape(
        sizes=tuple(group.block_size for group in groups),
        is_state=tuple(group.kind == "mamba" for group in groups),
        num_speculative=tuple(group.speculative for group in groups),
        kinds=tuple(tuple(kind) for kind in by_spec.values()),
        eagle=world.eagle_groups,
        alignment=unit if world.is_fine_grained else coarse,
        is_fine=world.is_fine_grained,
        is_hybrid=is_hybrid,
    )
