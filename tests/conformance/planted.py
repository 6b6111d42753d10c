"""Subjects with one fault each, and a short story that shows it."""

from collections.abc import Iterable

from pagedkv.conformance.standard import StandardInstance
from pagedkv.conformance.subjects import OwnRequests, Strictness, Subject, standard_arguments
from pagedkv.reference import KVCacheBlocks, KVCacheManager
from pagedkv.spec import Request, World, init_none_hash, sha256
from pagedkv.spec.moves import Admit, BeginPass, EndPass, Evict, Finish, Move, Reset, Submit
from pagedkv.spec.world import Group, Prompt

WORLD = World((Group("full", 2),), 6, 2, (Prompt((7, 8, 9, 7, 8), 4), Prompt((7, 8, 9), 3)), 2, 4)

STORY: tuple[Move, ...] = (
    Submit("r0", 0),
    BeginPass(),
    Admit("r0", 4),
    EndPass(),
    Finish("r0"),
    Evict((1,)),
    Reset(),
    Submit("r1", 0),
    BeginPass(),
    Admit("r1", 4),
    EndPass(),
    Finish("r1"),
)
"""Blocks 1 and 2 get keys, 1 loses its key, the cache is reset, and r1 does it all again."""

HIT_STORY: tuple[Move, ...] = (*STORY[:5], Submit("r1", 1), BeginPass(), Admit("r1", 2), EndPass())
"""r1 finds the first block of r0."""


class KeepsKeys(KVCacheManager):
    """Evicts nothing."""

    def evict_blocks(self, block_ids: Iterable[int]) -> None:
        """Do nothing."""


class Blind(KVCacheManager):
    """Finds nothing."""

    def get_computed_blocks(self, request: Request) -> tuple[KVCacheBlocks, int, int]:
        """Answer that nothing is cached."""
        return self.create_kv_cache_blocks(((),)), 0, 0


class Fails(KVCacheManager):
    """Cannot be reset, and says so with the control characters of a terminal."""

    def reset_prefix_cache(self) -> bool:
        """Raise."""
        raise OSError("\x1b[2Jno such\ndevice")


def planted(
    manager: type[KVCacheManager], strictness: Strictness = "exact", *, tells_state: bool = True
) -> Subject:
    """The subject of a manager."""

    def make(world: World) -> StandardInstance:
        init_none_hash(sha256, seed="planted")
        made = manager(world.kv_cache_config(), **standard_arguments(world))
        return StandardInstance(world, made, OwnRequests(world), manager.snapshot if tells_state else None)

    return Subject("planted", "0.9", strictness, make)
