"""The engine loop: what a move does.

The loop is the scheduler and the model runner around a manager. Random driver, state machine,
exhaustive search and replay only choose moves, among those that ``enabled`` lists.
"""

from pagedkv.invariants.breach import Breach
from pagedkv.invariants.stream import replayed
from pagedkv.spec import PreconditionError
from pagedkv.spec.life import Continued, Life
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
from pagedkv.spec.outcomes import Answered, Nothing, Outcome, Viewed
from pagedkv.spec.snapshot import Rows

from .asking import admit, count, schedule
from .enabled import DISTURBANCES, enabled_moves, is_enabled
from .loop_state import LoopState
from .stepping import end_pass, let_go, loaded, settle, take_back

__all__ = ["LoopState", "apply_move", "enabled_moves", "is_enabled"]


def apply_move(state: LoopState, move: Move) -> tuple[Outcome, list[Breach]]:
    """Do the move on the state; answers what the manager answered and what the worker found wrong.

    Whatever the manager raises comes through, but a truncation's refusal, which is an answer. Events are
    taken after every move, so that the move that caused them is known.
    """
    outcome, breaches = _apply(state, move)
    breaches = [*breaches, *take_back(state)]
    if state.world.events:
        state.events = state.instance.take_events()
        state.announced = replayed(state.announced, state.events or ())
    return outcome, breaches


def _apply(state: LoopState, move: Move) -> tuple[Outcome, list[Breach]]:
    takes_back = bool(state.to_evict or state.misled)
    state.disturbances += isinstance(move, DISTURBANCES) and not takes_back
    match move:
        case Submit(request, prompt):
            state.lives[request] = Life(request, prompt, state.world.prompts[prompt].length, 0)
            state.submitted += 1
        case Continue(request, prompt):
            life = state.lives[request]
            state.instance.go_on(life, prompt)
            state.lives[request] = life._replace(
                prompt=prompt,
                num_tokens=state.world.prompts[prompt].length,
                continued=Continued(life.prompt, life.computed),
                has_jumped=True,
            )
        case BeginPass():
            state.in_pass, state.tokens_left = True, state.world.max_step_tokens
            state.attempted = frozenset()
            count(state, state.instance.begin_pass)
        case Admit():
            return admit(state, move), []
        case Schedule():
            return schedule(state, move), []
        case Preempt(request, withdraw, pop):
            work = state.work.get(request)
            let_go(state, request, withdraw, pop)
            state.lives[request] = state.lives[request].waiting()
            state.tokens_left += work.end - work.start if work else 0
            # Who runs and got none may ask again: there is more room now.
            waiting = {r for r in state.attempted if r in state.lives and not state.lives[r].is_running}
            state.attempted = frozenset({*waiting, request})
        case Finish(request, pop):
            let_go(state, request, False, pop)
            state.instance.forget(state.lives.pop(request))
        case EndPass(release_first):
            return end_pass(state, release_first)
        case Settle():
            settle(state)
        case Loaded(request, valid):
            return Nothing(), loaded(state, state.lives[request], valid)
        case Evict(blocks):
            count(state, lambda: state.instance.evict(blocks))
            state.to_evict = ()
        case Reset():
            return Answered(count(state, state.instance.reset)), []
        case CommonPrefix(request):
            life = state.lives[request]
            return Answered(tuple(count(state, lambda: state.instance.common_prefix(life)))), []
        case Truncate(request, num_tokens):
            return _truncate(state, state.lives[request], num_tokens), []
    return Nothing(), []


def _truncate(state: LoopState, life: Life, num_tokens: int) -> Outcome:
    found = count(state, lambda: state.instance.lookup(life, False))
    rows: Rows | None
    try:
        rows = count(state, lambda: state.instance.truncate(life, num_tokens))
    except (PreconditionError, AssertionError):
        rows = None
    return Viewed(found, rows)
