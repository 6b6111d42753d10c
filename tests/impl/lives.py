"""Random lives of a torch manager, as the engine loop drives it."""

from random import Random
from typing import Any

import torch

from pagedkv.conformance.driver import choose_move
from pagedkv.conformance.loop import LoopState, apply_move, enabled_moves
from pagedkv.conformance.subjects import OwnRequests
from pagedkv.conformance.torch_subject import torch_subject
from pagedkv.impl import KVCacheManager
from pagedkv.spec import Request, World


def life_in(world: World, device: torch.device) -> LoopState:
    """A new manager in its loop."""
    return LoopState.start(world, torch_subject(str(device)).make(world), has_worker=False)


def manager_of(state: LoopState) -> KVCacheManager:
    """The manager itself."""
    instance: Any = state.instance
    manager: KVCacheManager = instance.manager
    return manager


def requests_of(state: LoopState) -> list[Request]:
    """The requests of the loop as the manager sees them, brought up to date."""
    instance: Any = state.instance
    return [instance._requests.of(life) for life in state.lives.values()]


def wander(state: LoopState, rng: Random, num_moves: int) -> None:
    """Make so many random moves."""
    for _ in range(num_moves):
        pool = manager_of(state).block_pool
        keyed = pool.keys.has_keys(torch.arange(state.world.num_blocks, device=pool.device))
        moves = enabled_moves(state, keyed.nonzero().view(-1).tolist(), probes=False)
        apply_move(state, choose_move(rng, moves))


def twin_of(world: World, request: Request) -> Request:
    """An independent request in the same state."""
    twin: Request = OwnRequests(world).copy(request)
    return twin
