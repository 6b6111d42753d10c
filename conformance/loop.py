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


def enabled_moves(state: LoopState, held_keys: Callable[[], list[int]], probes: bool = True) -> list[Move]:
    """Every move that the state allows.

    ``held_keys`` gives the blocks with keys, for eviction. ``probes``: also moves that change nothing,
    and the other way to free.
    """
    world, lives = state.world, state.lives
    moves: list[Move] = []
    for slot in range(world.max_requests):
        if f"r{slot}" not in lives:
            moves += [Submit(f"r{slot}", p) for p in range(len(world.prompts))]
            break
    running = [life for life in lives.values() if life.is_running]
    waiting = [life for life in lives.values() if not life.is_running]
    if state.in_pass:
        limits = sorted({limit for limit in (*world.chunk_limits, state.tokens_left) if 0 < limit <= state.tokens_left})
        for life in lives.values():
            if life.request in state.work or life.request in state.attempted:
                continue
            for limit in limits:
                if not life.is_running:
                    moves.append(Admit(life.request, limit))
                elif life.computed < life.num_tokens and _chunk(state, life, life.computed, limit):
                    moves.append(Schedule(life.request, limit))
            if not life.is_running and limits:
                moves.append(Admit(life.request, limits[-1], "none"))
                if world.state_block_size and len(world.groups) > 1:
                    moves.append(Admit(life.request, limits[-1], "divergent"))
        moves += [Preempt(life.request, withdraw=life.request in state.work) for life in running if _may_preempt(state, life)]
        moves += [EndPass(), EndPass(release_first=True)]
    else:
        moves.append(BeginPass())
        moves += [Finish(life.request) for life in lives.values()]
        moves += [Evict((block,)) for block in held_keys()]
        moves.append(Reset())
    if probes:
        if world.enable_caching:
            moves += [CommonPrefix(life.request) for life in running]
        moves += [replace(move, pop=True) for move in moves if isinstance(move, (Preempt, Finish))]
        grain = world.scheduler_block_size
        moves += [
            Truncate(life.request, n) for life in waiting for n in range(0, life.num_tokens + grain, grain)
        ]
    return moves


def apply_move(state: LoopState, move: Move) -> tuple[Outcome, list[Breach]]:
    """Do the move on the state; answers what the manager answered and what the worker found wrong.

    Whatever the manager raises comes through, but a truncation's refusal, which is an answer.
    """
    match move:
        case Submit(request, prompt):
            state.lives[request] = Life(request, prompt, state.world.prompts[prompt].length, 0)
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


def _chunk(state: LoopState, life: Life, start: int, limit: int) -> int:
    """How many tokens from ``start`` on the request gets of ``limit``."""
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
    if release_first:
        _count(state, state.instance.release)
    hand_offs = _count(state, state.instance.take_hand_offs)
    for entry in hand_offs:
        state.handed_over.setdefault(entry.request, []).append(entry)
    breaches = list(state.worker.step(copies, list(state.work.values())))
    if not release_first:
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
