"""Which moves a state of the engine loop allows."""

from collections.abc import Sequence

from pagedkv.spec.life import Life
from pagedkv.spec.moves import (
    Admit,
    BeginPass,
    CommonPrefix,
    EndPass,
    Evict,
    Finish,
    Move,
    Preempt,
    Reset,
    Schedule,
    Submit,
    Truncate,
)
from pagedkv.spec.world import STATES

from .loop_state import LoopState, chunk_of

DISTURBANCES = (Preempt, Evict, Reset)
"""Moves that ``World.max_disturbances`` counts."""


def is_enabled(state: LoopState, move: Move) -> bool:
    """Whether the state allows the move."""
    lives = state.lives
    if isinstance(move, DISTURBANCES) and state.disturbances == state.world.max_disturbances:
        return False
    match move:
        case Submit(request, prompt):
            world = state.world
            has_room = len(lives) < world.max_requests and state.submitted != world.max_submits
            return request not in lives and has_room and prompt < len(world.prompts)
        case Admit(request, limit):
            return _may_ask(state, request, limit) and not lives[request].is_running
        case Schedule(request, limit):
            if not _may_ask(state, request, limit) or not lives[request].is_running:
                return False
            return chunk_of(state, lives[request], lives[request].computed, limit) > 0
        case Preempt(request, withdraw):
            is_running = request in lives and lives[request].is_running
            scheduled = request in state.work
            return (
                state.in_pass and is_running and withdraw == scheduled and _may_preempt(state, lives[request])
            )
        case Finish(request):
            return not state.in_pass and request in lives
        case BeginPass() | Reset():
            return not state.in_pass
        case EndPass():
            return state.in_pass
        case Evict(blocks):
            return not state.in_pass and all(0 < block < state.world.num_blocks for block in blocks)
        case Truncate(request):
            return request in lives and not lives[request].is_running
        case CommonPrefix(request):
            return state.world.enable_caching and request in lives and lives[request].is_running


def enabled_moves(state: LoopState, keyed_blocks: Sequence[int], probes: bool = True) -> list[Move]:
    """The moves to choose from: all that the state allows, with a few limits and lengths.

    ``keyed_blocks`` are the blocks with keys, for eviction. ``probes``: also moves that change nothing,
    and other ways to the same end: shorter hits, lookups for a connector, pops, releases before hand-offs.
    """
    world = state.world
    limits = sorted({min(limit, state.tokens_left) for limit in (*world.chunk_limits, state.tokens_left)})
    free_slots = (f"r{slot}" for slot in range(world.max_requests) if f"r{slot}" not in state.lives)
    candidates: list[Move] = [
        Submit(slot, p) for slot in [*free_slots][:1] for p in range(len(world.prompts))
    ]
    for request in state.lives:
        candidates += [Admit(request, limit) for limit in limits]
        candidates += [Schedule(request, limit) for limit in limits]
        candidates += [Preempt(request, withdraw=request in state.work), Finish(request)]
    candidates += [BeginPass(), EndPass(), Reset()]
    if not state.in_pass:
        candidates += [Evict((block,)) for block in keyed_blocks]
    if probes:
        grain = world.scheduler_block_size
        for request, life in state.lives.items():
            candidates += [Admit(request, limits[-1], "none"), CommonPrefix(request)]
            candidates += [Preempt(request, request in state.work, pop=True), Finish(request, pop=True)]
            candidates += [Truncate(request, n) for n in range(0, life.num_tokens + grain, grain)]
            if len(world.groups) > 1 and any(group.kind in STATES for group in world.groups):
                candidates.append(Admit(request, limits[-1], "divergent"))
        candidates.append(EndPass(release_first=True))
    return [move for move in candidates if is_enabled(state, move)]


def _may_ask(state: LoopState, request: str, limit: int) -> bool:
    """Whether the open pass may still ask slots for the request."""
    if not state.in_pass or request not in state.lives or not 0 < limit <= state.tokens_left:
        return False
    return request not in state.work and request not in state.attempted


def _may_preempt(state: LoopState, life: Life) -> bool:
    """Whether nobody else holds a block that this pass made a key of for this request.

    Such a request keeps running: what the other reads would never be written.
    """
    work = state.work.get(life.request)
    if work is None:
        return True
    mine = state.instance.table(life)
    for g, group in enumerate(state.world.groups):
        fresh = {block for block in mine[g][work.start // group.block_size :] if block}
        for other in state.work.values():
            if other.request != life.request and not fresh.isdisjoint(
                state.instance.table(state.lives[other.request])[g]
            ):
                return False
    return True
