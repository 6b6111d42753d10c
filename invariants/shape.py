"""What the laws need to know of a deployment, worked out once."""

from functools import lru_cache
from typing import NamedTuple

from pagedkv.spec import World
from pagedkv.spec.snapshot import Rows
from pagedkv.spec.world import STATES, WHOLE, Group

from .work import Work


class Shape(NamedTuple):
    """Sizes in tokens by group, and how groups are looked up."""

    sizes: tuple[int, ...]
    is_state: tuple[bool, ...]
    is_aligned: tuple[bool, ...]
    """States of which a row keeps the running one and the one before."""
    reads: tuple[str, ...]
    """What kind of group each is, as worlds name it."""
    reach: tuple[int, ...]
    """Tokens of windows and chunks."""
    num_speculative: tuple[int, ...]
    kinds: tuple[tuple[int, ...], ...]
    """Groups with one spec, full attention first."""
    eagle: frozenset[int]
    """Groups that a draft model reads."""
    alignment: int
    """What every hit is a multiple of."""
    is_fine: bool
    """Whether hits may end inside blocks."""
    is_hybrid: bool
    """Whether there are several kinds."""

    def is_encoder(self, g: int) -> bool:
        """Whether rows of the group hold what an encoder made, and no part of the prefix."""
        return self.reads[g] == "cross"

    def is_read(self, g: int, position: int, computed: int, prompt: int | None = None) -> bool:
        """Whether the step after ``computed`` tokens reads the KV at ``position``, which is computed.

        Reference windows read all of the ``prompt`` tokens, if it is told how many there are, else all.
        """
        if self.is_state[g]:
            return position == computed - 1
        match self.reads[g]:
            case "window":
                return computed - position < self.reach[g]
            case "chunk":
                return position // self.reach[g] == computed // self.reach[g]
            case "reference" if prompt is not None:
                return position < prompt or computed - position <= self.reach[g]
        return True

    def alike(self, num_tokens: int, prompt: int) -> int:
        """How many of the first tokens have the same KV whatever the length of the ``prompt``.

        The step that computes one of them reads all before it in every group of reference windows. Layers
        feed each other: where one reads less, the KV of all is another.
        """
        windows = [g for g, reads in enumerate(self.reads) if reads == "reference"]
        # Whoever reads the first position behind the prompt reads all.
        while any(not self.is_read(g, prompt, num_tokens - 1, prompt) for g in windows):
            num_tokens -= 1
        return num_tokens

    def read_entries(self, g: int, computed: int, prompt: int | None = None) -> list[int]:
        """The entries of a row of which the step after ``computed`` tokens reads a position."""
        # Whoever reads a position reads all later ones, or it is one of the prompt and all earlier ones
        # are read: so the first or the last one of an entry says it.
        size = self.sizes[g]
        return [
            i
            for i in range(covering(computed, size))
            if self.is_read(g, min((i + 1) * size, computed) - 1, computed, prompt)
            or self.is_read(g, i * size, computed, prompt)
        ]


def shape_of(world: World) -> Shape:
    """The shape of a world's deployment."""
    return _shape(world.groups, world.unit, world.use_eagle, world.num_ranks)


def used_blocks(world: World, work: Work, table: Rows) -> frozenset[int]:
    """The blocks that a request's step reads and writes."""
    shape = shape_of(world)
    used: set[int] = set()
    for g, (row, size) in enumerate(zip(table, shape.sizes, strict=True)):
        last = covering(work.end, size)
        if shape.is_encoder(g):
            used.update(row)
        elif shape.is_state[g]:
            # A state per block is written for all boundaries that the step passes.
            first = last - 1 if shape.is_aligned[g] else work.start // size
            entries = range(first, last + work.drafts)
            start = covering(work.start, size) - 1 if work.state_entry is None else work.state_entry
            used.update(row[i] for i in (*entries, *range(max(start, 0), start + 1)) if i < len(row))
        else:
            read = shape.read_entries(g, work.start, world.prompts[work.prompt].length)
            used.update(row[i] for i in {*read, *range(work.start // size, last)})
    return frozenset(used - {0})


def covering(num_tokens: int, size: int) -> int:
    """How many blocks of ``size`` tokens have one of the first ``num_tokens`` positions."""
    return (num_tokens + size - 1) // size


@lru_cache(maxsize=256)
def _shape(groups: tuple[Group, ...], unit: int, use_eagle: bool, num_ranks: int) -> Shape:
    world = World(groups, 1, unit, (), 0, 0, use_eagle, dcp=num_ranks)
    by_spec: dict[object, list[int]] = {}
    for g in sorted(range(len(groups)), key=lambda g: groups[g].kind not in WHOLE):
        by_spec.setdefault(groups[g].spec(), []).append(g)
    is_hybrid = len(by_spec) > 1
    coarse = world.scheduler_block_size if is_hybrid else groups[0].block_size
    return Shape(
        sizes=tuple(group.block_size for group in groups),
        is_state=tuple(group.kind in STATES for group in groups),
        is_aligned=tuple(group.kind == "mamba" for group in groups),
        reads=tuple(group.kind for group in groups),
        reach=tuple(group.reach for group in groups),
        num_speculative=tuple(group.speculative for group in groups),
        kinds=tuple(tuple(kind) for kind in by_spec.values()),
        eagle=world.eagle_groups,
        alignment=unit if world.is_fine_grained else coarse,
        is_fine=world.is_fine_grained,
        is_hybrid=is_hybrid,
    )
