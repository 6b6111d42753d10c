"""Which moves a state of the engine loop allows."""

from collections.abc import Sequence

from pagedkv.spec import World
from pagedkv.spec.life import Life
from pagedkv.spec.moves import (
    Admit,
    BeginPass,
    CommonPrefix,
    Continue,
    EndPass,
    Evict,
    Finish,
    Loaded,
    Move,
    Preempt,
    Reset,
    Schedule,
    Settle,
    Submit,
    Truncate,
)
from pagedkv.spec.world import STATES, WHOLE

from .loop_state import LoopState, chunk_of

DISTURBANCES = (Preempt, Evict, Reset)
"""Moves that ``World.max_disturbances`` counts."""


def is_enabled(state: LoopState, move: Move) -> bool:
    """Whether the state allows the move."""
    lives = state.lives
    if state.to_evict or state.misled:
        return _takes_back(state, move)
    if isinstance(move, DISTURBANCES) and state.disturbances == state.world.max_disturbances:
        return False
    match move:
        case Submit(request, prompt):
            world = state.world
            has_room = len(lives) < world.max_requests and state.submitted != world.max_submits
            return request not in lives and has_room and prompt < len(world.prompts)
        case Continue(request, prompt):
            return not state.in_pass and request in lives and _goes_on(state.world, lives[request], prompt)
        case Admit(request, limit):
            may_ask = _may_ask(state, request, limit) and not lives[request].is_running
            return may_ask and _may_load(state, lives[request], move)
        case Schedule(request, limit, drafts, accepted):
            if not _may_ask(state, request, limit) or not lives[request].is_running:
                return False
            life = lives[request]
            return (
                life.loading_from is None
                and 0 <= accepted <= drafts
                and (not drafts or _may_guess(state, life, drafts))
                and not any(w.drafts for step in state.flight for w in step.works if w.request == request)
                and chunk_of(state, life, life.computed, limit - drafts) > 0
            )
        case Preempt(request, withdraw):
            is_running = request in lives and lives[request].is_running and not _loads(state, request)
            scheduled = request in state.work
            return (
                state.in_pass and is_running and withdraw == scheduled and _may_preempt(state, lives[request])
            )
        case Finish(request):
            return not state.in_pass and request in lives and not _loads(state, request)
        case BeginPass():
            return not state.in_pass and len(state.flight) <= state.world.options.max_in_flight
        case Reset():
            return not state.in_pass
        case EndPass(release_first):
            return state.in_pass and not (release_first and state.world.options.max_in_flight)
        case Settle():
            return not state.in_pass and bool(state.flight)
        case Loaded(request, valid):
            return not state.in_pass and _loads(state, request) and valid in _endings(state, lives[request])
        case Evict(blocks):
            return (
                bool(blocks)
                and not state.in_pass
                and all(0 < block < state.world.num_blocks for block in blocks)
            )
        case Truncate(request):
            return request in lives and not lives[request].is_running
        case CommonPrefix(request):
            return state.world.enable_caching and request in lives and lives[request].is_running


def _takes_back(state: LoopState, move: Move) -> bool:
    """Whether the move takes back what followed from a failed load (clause Worker/invalid_loads)."""
    if state.to_evict:
        return move == Evict(state.to_evict)
    match move:
        case Preempt(request, False) | Finish(request):
            return request in state.misled and not _loads(state, request)
        case Loaded(request, 0):
            # A load behind the steps has to end before its blocks can go.
            return request in state.misled and _loads(state, request)
    return False


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
    for request, life in state.lives.items():
        # What clearly cannot be is not even made: a life asks before every move.
        asks = _may_ask(state, request, 1)
        if asks and not life.is_running:
            candidates += [Admit(request, limit) for limit in limits]
        if asks and life.is_running:
            candidates += [Schedule(request, limit) for limit in limits]
        if state.in_pass or state.misled:
            candidates.append(Preempt(request, request in state.work))
        if not state.in_pass:
            candidates.append(Finish(request))
        if asks and world.options.has_connector:
            lengths = sorted({n for n in (1, life.num_tokens // 2, life.num_tokens - 1) if n})
            candidates += [Admit(request, limits[-1], "common", n) for n in lengths]
            fails = _parts(world, lengths[-1]) if lengths else []
            candidates += [Admit(request, limits[-1], "common", lengths[-1], valid=valid) for valid in fails]
            candidates += [Admit(request, limits[-1], "common", n, asynchronous=True) for n in lengths]
        if _loads(state, request):
            candidates += [Loaded(request, valid) for valid in _endings(state, life)]
        if asks and life.is_running:
            candidates += [
                Schedule(request, limits[-1], drafts, accepted)
                for drafts in range(1, world.options.max_drafts + 1)
                for accepted in sorted({0, drafts // 2, drafts})
            ]
        if not state.in_pass:
            candidates += [Continue(request, p) for p in range(len(world.prompts))]
    candidates += [BeginPass(), EndPass(), Settle(), Reset(), Evict(state.to_evict)]
    if not state.in_pass:
        candidates += [Evict((block,)) for block in keyed_blocks]
    if probes:
        grain = world.scheduler_block_size
        for request, life in state.lives.items():
            asks = _may_ask(state, request, 1) and not life.is_running
            if asks:
                candidates += [Admit(request, limits[-1], lookup) for lookup in ("none", "skip")]
                candidates += [Admit(request, limits[-1], reserved=n) for n in (1, world.num_blocks // 3)]
            candidates.append(CommonPrefix(request))
            if state.in_pass or state.misled:
                candidates.append(Preempt(request, request in state.work, pop=True))
            if not state.in_pass:
                candidates.append(Finish(request, pop=True))
            if not life.is_running:
                candidates += [Truncate(request, n) for n in range(0, life.num_tokens + grain, grain)]
            if asks and len(world.groups) > 1 and any(group.kind in STATES for group in world.groups):
                candidates.append(Admit(request, limits[-1], "divergent"))
                if world.options.has_connector:
                    candidates.append(Admit(request, limits[-1], "divergent", life.num_tokens - 1))
        candidates.append(EndPass(release_first=True))
    return [move for move in candidates if is_enabled(state, move)]


def _may_load(state: LoopState, life: Life, move: Admit) -> bool:
    """Whether a connector can have what the move says."""
    if not move.available:
        return not move.asynchronous and move.valid is None
    if move.valid is not None:
        is_part = move.valid < move.available and _may_be_valid(state, move.valid)
        if move.asynchronous or not is_part:
            return False
    return state.world.options.has_connector and move.available < life.num_tokens and move.lookup != "skip"


def _loads(state: LoopState, request: str) -> bool:
    return request in state.lives and state.lives[request].loading_from is not None


def _endings(state: LoopState, life: Life) -> list[int]:
    """How many tokens can be valid after a load of the request: none, some whole blocks, or all.

    Where a group does not read everything, the window or state of a shorter prefix was not asked for.
    """
    if life.loading_from is None:
        return []
    grain = state.world.scheduler_block_size
    inside = range(max(grain, life.loading_from), life.computed, grain)
    return [0, *(valid for valid in inside if _may_be_valid(state, valid)), life.computed]


def _parts(world: World, num_tokens: int) -> list[int]:
    """Up to where a load of so many tokens may be right when it fails: nothing, or about half."""
    half = num_tokens // 2
    return sorted({0, half - half % world.scheduler_block_size})


def _may_be_valid(state: LoopState, valid: int) -> bool:
    """Whether of a failed load the part before so many tokens can be right, if it is a part of it."""
    reads_all = all(group.kind in WHOLE for group in state.world.groups)
    return valid == 0 or (reads_all and valid > 0 and valid % state.world.scheduler_block_size == 0)


def _may_guess(state: LoopState, life: Life, drafts: int) -> bool:
    """Whether the next step can verify so many drafts: each has a place, in mamba groups for its state."""
    return (
        drafts <= most_drafts(state.world)
        and not life.in_flight
        and life.num_tokens - life.computed == 1
        and life.num_tokens + drafts <= len(state.world.prompts[life.prompt].tokens)
    )


def most_drafts(world: World) -> int:
    """The most drafts that a step verifies for a request."""
    places = [group.speculative for group in world.groups if group.kind in STATES]
    return min([world.options.max_drafts, *places])


def _goes_on(world: World, life: Life, prompt: int) -> bool:
    """Whether the request waits for its next token, and the prompt begins with all that is computed.

    Over reference windows nothing goes on: output would become a part of the prompt of which some was let go
    already. Nor does it beside cross attention: the encoder has had one input.
    """
    waits = life.is_running and life.computed == life.num_tokens - 1 >= world.prompts[life.prompt].length
    waits = waits and not life.in_flight and life.loading_from is None
    return (
        waits
        and prompt < len(world.prompts)
        and life.computed < world.prompts[prompt].length
        and not any(group.kind in ("reference", "cross") for group in world.groups)
        and world.name(prompt, life.computed) == world.name(life.prompt, life.computed)
    )


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
        fresh = {block for block in mine[g][work.loaded_from // group.block_size :] if block}
        for other in state.lives.values():
            is_other = other.is_running and other.request != life.request
            if is_other and not fresh.isdisjoint(state.instance.table(other)[g]):
                return False
    return True
