"""The engine loop: which moves a state allows, and what a move does.

The loop is the scheduler and the model runner around a manager. Random driver, state machine,
exhaustive search, replay and workload only choose moves.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from pagedkv.invariants.breach import Breach
from pagedkv.invariants.worker import Work, Worker
from pagedkv.spec import PreconditionError, World
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
from pagedkv.spec.outcomes import Allocated, Answered, Found, Nothing, Outcome, Stepped, Viewed, Waits
from pagedkv.spec.rules.chunks import chunk_tokens
from pagedkv.spec.rules.sizes import floor_to
from pagedkv.spec.snapshot import HandOffName, Rows

from .instance import Instance

T = TypeVar("T")

_DISTURBANCES = (Preempt, Evict, Reset)


@dataclass
class LoopState:
    """A manager in its world, with the scheduler's and the worker's bookkeeping."""

    world: World
    instance: Instance
    worker: Worker
    lives: dict[str, Life] = field(default_factory=dict)
    in_pass: bool = False
    tokens_left: int = 0
    """Of the open pass."""
    work: dict[str, Work] = field(default_factory=dict)
    """What the open pass has scheduled, by request."""
    attempted: frozenset[str] = frozenset()
    """Requests that the open pass asked slots for and that got none."""
    handed_over: dict[str, list[HandOffName]] = field(default_factory=dict)
    """Hand-offs that a connector still reads, by request."""
    submitted: int = 0
    """Requests that have arrived so far."""
    disturbances: int = 0
    """Preemptions, evictions and resets so far."""
    operations: int = 0
    """Calls on the manager so far."""

    @classmethod
    def start(cls, world: World, instance: Instance) -> "LoopState":
        """A loop around a new manager."""
        return cls(world, instance, Worker(world))

    def copy(self) -> "LoopState":
        """An independent loop in the same state."""
        return replace(
            self,
            instance=self.instance.copy(),
            worker=self.worker.copy(),
            lives=self.lives.copy(),
            work=self.work.copy(),
            handed_over={request: entries.copy() for request, entries in self.handed_over.items()},
        )


def is_enabled(state: LoopState, move: Move) -> bool:
    """Whether the state allows the move."""
    lives = state.lives
    if isinstance(move, _DISTURBANCES) and state.disturbances == state.world.max_disturbances:
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
            return _chunk(state, lives[request], lives[request].computed, limit) > 0
        case Preempt(request, withdraw):
            is_running = request in lives and lives[request].is_running
            scheduled = request in state.work
            return state.in_pass and is_running and withdraw == scheduled and _may_preempt(state, lives[request])
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


def enabled_moves(state: LoopState, keyed_blocks: Callable[[], list[int]], probes: bool = True) -> list[Move]:
    """The moves to choose from: all that the state allows, with a few limits and lengths.

    ``keyed_blocks`` gives the blocks with keys, for eviction. ``probes``: also moves that change nothing,
    and other ways to the same end: shorter hits, lookups for a connector, pops, releases before hand-offs.
    """
    world = state.world
    limits = sorted({min(limit, state.tokens_left) for limit in (*world.chunk_limits, state.tokens_left)})
    free_slots = (f"r{slot}" for slot in range(world.max_requests) if f"r{slot}" not in state.lives)
    candidates: list[Move] = [Submit(slot, p) for slot in [*free_slots][:1] for p in range(len(world.prompts))]
    for request in state.lives:
        candidates += [Admit(request, limit) for limit in limits]
        candidates += [Schedule(request, limit) for limit in limits]
        candidates += [Preempt(request, withdraw=request in state.work), Finish(request)]
    candidates += [BeginPass(), EndPass(), Reset()]
    if not state.in_pass:
        candidates += [Evict((block,)) for block in keyed_blocks()]
    if probes:
        grain = world.scheduler_block_size
        for request, life in state.lives.items():
            candidates += [Admit(request, limits[-1], "none"), CommonPrefix(request)]
            candidates += [Preempt(request, request in state.work, pop=True), Finish(request, pop=True)]
            candidates += [Truncate(request, n) for n in range(0, life.num_tokens + grain, grain)]
            if world.state_block_size and len(world.groups) > 1:
                candidates.append(Admit(request, limits[-1], "divergent"))
        candidates.append(EndPass(release_first=True))
    return [move for move in candidates if is_enabled(state, move)]


def apply_move(state: LoopState, move: Move) -> tuple[Outcome, list[Breach]]:
    """Do the move on the state; answers what the manager answered and what the worker found wrong.

    Whatever the manager raises comes through, but a truncation's refusal, which is an answer.
    """
    state.disturbances += isinstance(move, _DISTURBANCES)
    match move:
        case Submit(request, prompt):
            state.lives[request] = Life(request, prompt, state.world.prompts[prompt].length, 0)
            state.submitted += 1
        case BeginPass():
            state.in_pass, state.tokens_left = True, state.world.max_step_tokens
            state.attempted = frozenset()
            _count(state, state.instance.begin_pass)
        case Admit():
            return _admit(state, move), []
        case Schedule(request, limit):
            life = state.lives[request]
            return _allocate(state, life, _chunk(state, life, life.computed, limit), None), []
        case Preempt(request, withdraw, pop):
            _let_go(state, request, withdraw, pop)
            life = state.lives[request]
            state.lives[request] = life._replace(computed=0, is_running=False)
            state.attempted |= {request}
        case Finish(request, pop):
            _let_go(state, request, False, pop)
            state.instance.forget(state.lives.pop(request))
        case EndPass(release_first):
            return _end_pass(state, release_first)
        case Evict(blocks):
            _count(state, lambda: state.instance.evict(blocks))
        case Reset():
            return Answered(_count(state, state.instance.reset)), []
        case CommonPrefix(request):
            life = state.lives[request]
            return Answered(tuple(_count(state, lambda: state.instance.common_prefix(life)))), []
        case Truncate(request, num_tokens):
            return _truncate(state, state.lives[request], num_tokens), []
    return Nothing(), []


def _count(state: LoopState, call: Callable[[], T]) -> T:
    state.operations += 1
    return call()


def _may_ask(state: LoopState, request: str, limit: int) -> bool:
    """Whether the open pass may still ask slots for the request."""
    if not state.in_pass or request not in state.lives or not 0 < limit <= state.tokens_left:
        return False
    return request not in state.work and request not in state.attempted


def _chunk(state: LoopState, life: Life, start: int, limit: int) -> int:
    """How many tokens from ``start`` on the request gets of ``limit``; not positive: it waits."""
    world = state.world
    num_new = min(limit, life.num_tokens - start)
    if not world.state_block_size:
        return num_new
    boundary = floor_to(world.prompts[life.prompt].length, world.unit)
    return chunk_tokens(
        start,
        num_new,
        world.prompts[life.prompt].length,
        life.num_tokens,
        world.state_block_size,
        world.max_step_tokens,
        bool(world.eagle_groups),
        life.junction,
        boundary if world.is_fine_grained else 0,
    )


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
            if other.request != life.request and not fresh.isdisjoint(state.instance.table(state.lives[other.request])[g]):
                return False
    return True


def _admit(state: LoopState, move: Admit) -> Outcome:
    life = state.lives[move.request]
    found = None
    if move.lookup != "none":
        found = _count(state, lambda: state.instance.lookup(life, move.lookup == "divergent"))
        life = state.lives[life.request] = life._replace(junction=found.junction)
        if found.diverged:
            # Nobody supplies what the lagging group lacks: the common hit is for another attempt.
            return Waits(found)
    hit = found.hit if found else 0
    num_new = _chunk(state, life, hit, move.limit)
    if num_new <= 0:
        state.attempted |= {life.request}
        return Waits(found)
    return _allocate(state, life, num_new, found)


def _allocate(state: LoopState, life: Life, num_new: int, found: Found | None) -> Outcome:
    hit = found.hit if found else 0
    rows = _count(state, lambda: state.instance.allocate(life, num_new, hit))
    if rows is None:
        state.attempted |= {life.request}
    else:
        start = life.computed + hit
        sent = rows if life.is_running else state.instance.table(life)
        state.work[life.request] = Work(
            life.request, life.prompt, start, start + num_new, sent, not life.is_running
        )
        state.lives[life.request] = life._replace(computed=start, is_running=True)
        state.tokens_left -= num_new
    return Allocated(num_new, rows, found)


def _let_go(state: LoopState, request: str, withdraw: bool, pop: bool) -> None:
    life = state.lives[request]
    _count(state, lambda: state.instance.free(life, withdraw, pop))
    state.work.pop(request, None)
    state.handed_over.pop(request, None)
    state.worker.drop(request)


def _end_pass(state: LoopState, release_first: bool) -> tuple[Outcome, list[Breach]]:
    copies = _count(state, state.instance.take_copies)
    if release_first and copies:
        _count(state, state.instance.release)
    hand_offs = _count(state, state.instance.take_hand_offs)
    for entry in hand_offs:
        state.handed_over.setdefault(entry.request, []).append(entry)
    breaches = list(state.worker.step(copies, list(state.work.values())))
    if not release_first and copies:
        _count(state, state.instance.release)
    for work in state.work.values():
        life = state.lives[work.request]._replace(computed=work.end)
        if work.end == life.num_tokens < len(state.world.prompts[life.prompt].tokens):
            life = life._replace(num_tokens=life.num_tokens + 1)
        state.lives[work.request] = life
    state.in_pass, state.work = False, {}
    snapshot = state.instance.snapshot()
    if snapshot is not None:
        breaches += state.worker.check_tables(snapshot)
        breaches += state.worker.check_keys(snapshot)
    still_read = [entry for entries in state.handed_over.values() for entry in entries]
    prompts = {life.request: life.prompt for life in state.lives.values()}
    breaches += state.worker.check_hand_offs(still_read, prompts)
    return Stepped(tuple(copies), tuple(hand_offs)), breaches


def _truncate(state: LoopState, life: Life, num_tokens: int) -> Outcome:
    found = _count(state, lambda: state.instance.lookup(life, False))
    rows: Rows | None
    try:
        rows = _count(state, lambda: state.instance.truncate(life, num_tokens))
    except (PreconditionError, AssertionError):
        rows = None
    return Viewed(found, rows)
