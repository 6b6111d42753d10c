"""The engine loop: what a move does.

The loop is the scheduler and the model runner around a manager. Random driver, state machine,
exhaustive search and replay only choose moves, among those that ``enabled`` lists.
"""

from collections.abc import Callable, Iterator
from typing import TypeVar

from pagedkv.invariants.breach import Breach
from pagedkv.invariants.worker import Work, Worker
from pagedkv.spec import PreconditionError
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
from pagedkv.spec.snapshot import Rows

from .enabled import DISTURBANCES, enabled_moves, is_enabled
from .loop_state import LoopState, chunk_of

__all__ = ["LoopState", "apply_move", "enabled_moves", "is_enabled"]

T = TypeVar("T")


def apply_move(state: LoopState, move: Move) -> tuple[Outcome, list[Breach]]:
    """Do the move on the state; answers what the manager answered and what the worker found wrong.

    Whatever the manager raises comes through, but a truncation's refusal, which is an answer.
    """
    state.disturbances += isinstance(move, DISTURBANCES)
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
            return _allocate(state, life, chunk_of(state, life, life.computed, limit), None), []
        case Preempt(request, withdraw, pop):
            work = state.work.get(request)
            _let_go(state, request, withdraw, pop)
            life = state.lives[request]
            state.lives[request] = life._replace(computed=0, is_running=False)
            state.tokens_left += work.end - work.start if work else 0
            # Who runs and got none may ask again: there is more room now.
            state.attempted = frozenset(r for r in state.attempted if not state.lives[r].is_running) | {
                request
            }
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
    num_new = chunk_of(state, life, hit, move.limit)
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
    if state.worker:
        state.worker.drop(request)


def _end_pass(state: LoopState, release_first: bool) -> tuple[Outcome, list[Breach]]:
    copies = _count(state, state.instance.take_copies)
    if release_first and copies:
        _count(state, state.instance.release)
    hand_offs = _count(state, state.instance.take_hand_offs)
    for entry in hand_offs:
        state.handed_over.setdefault(entry.request, []).append(entry)
    breaches = list(state.worker.step(copies, list(state.work.values()))) if state.worker else []
    if not release_first and copies:
        _count(state, state.instance.release)
    for work in state.work.values():
        life = state.lives[work.request]._replace(computed=work.end)
        if work.end == life.num_tokens < len(state.world.prompts[life.prompt].tokens):
            life = life._replace(num_tokens=life.num_tokens + 1)
        state.lives[work.request] = life
    state.in_pass, state.work = False, {}
    if state.worker:
        breaches += _claims_broken(state, state.worker)
    return Stepped(tuple(copies), tuple(hand_offs)), breaches


def _claims_broken(state: LoopState, worker: Worker) -> Iterator[Breach]:
    """What tables, keys and hand-offs claim after a step, and the worker's memory does not have."""
    snapshot = state.instance.snapshot() if state.checks_claims else None
    if snapshot is not None:
        yield from worker.check_tables(snapshot)
        yield from worker.check_keys(snapshot)
    still_read = [entry for entries in state.handed_over.values() for entry in entries]
    prompts = {life.request: life.prompt for life in state.lives.values()}
    yield from worker.check_hand_offs(still_read, prompts)


def _truncate(state: LoopState, life: Life, num_tokens: int) -> Outcome:
    found = _count(state, lambda: state.instance.lookup(life, False))
    rows: Rows | None
    try:
        rows = _count(state, lambda: state.instance.truncate(life, num_tokens))
    except (PreconditionError, AssertionError):
        rows = None
    return Viewed(found, rows)
