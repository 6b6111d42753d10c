"""What the engine loop asks of a manager for a request."""

from collections.abc import Callable
from typing import TypeVar

from pagedkv.invariants.work import Work
from pagedkv.spec.life import Life
from pagedkv.spec.moves import Admit, Schedule
from pagedkv.spec.outcomes import Allocated, Found, Outcome, Waits
from pagedkv.spec.world import STATES

from .instance import Ask
from .loop_state import LoopState, chunk_of

T = TypeVar("T")


def count(state: LoopState, call: Callable[[], T]) -> T:
    """Do a call on the manager, and count it."""
    state.operations += 1
    return call()


def admit(state: LoopState, move: Admit) -> Outcome:
    """Look a request up, and ask for the slots of its first chunk."""
    life = state.lives[move.request]
    found = None
    if move.lookup != "none":
        is_skipped = move.lookup == "skip"
        found = count(state, lambda: state.instance.lookup(life, move.lookup == "divergent", is_skipped))
        life = state.lives[life.request] = life._replace(junction=found.junction)
    hit, external = taken_of(state, found, move.available)
    if found and found.diverged and not (external and _lacks_states_only(state, found)):
        # Nobody supplies what the lagging group lacks: the common hit is for another attempt.
        return Waits(found)
    is_behind = move.asynchronous and external > 0
    num_new = 0 if is_behind else chunk_of(state, life, hit + external, move.limit)
    if num_new <= 0 and not is_behind:
        state.attempted |= {life.request}
        return Waits(found)
    ask = Ask(num_new, hit, external, is_behind, True, move.reserved, bool(state.work))
    return _allocate(state, life, ask, found, valid=move.valid)


def _lacks_states_only(state: LoopState, found: Found) -> bool:
    """Whether all attention covers a hit, so that it can be cut where a load begins."""
    return all(
        group.kind in STATES or len(row) * group.block_size >= found.hit
        for group, row in zip(state.world.groups, found.rows, strict=True)
    )


def taken_of(state: LoopState, found: Found | None, available: int) -> tuple[int, int]:
    """How much of a hit is taken, and how much a connector that has ``available`` tokens adds to that.

    A load begins where blocks of all groups end, and is worth it where it is longer than the whole hit.
    """
    hit = found.hit if found else 0
    if available <= hit:
        return hit, 0
    cut = hit - hit % state.world.scheduler_block_size
    return cut, available - cut


def schedule(state: LoopState, move: Schedule) -> Outcome:
    """Ask for the slots of a running request's next tokens, and of its drafts."""
    life = state.lives[move.request]
    num_new = chunk_of(state, life, life.computed, move.limit - move.drafts) + move.drafts
    ask = Ask(num_new, has_scheduled=bool(state.work))
    return _allocate(state, life, ask, None, move.drafts, move.accepted)


def _allocate(
    state: LoopState,
    life: Life,
    ask: Ask,
    found: Found | None,
    drafts: int = 0,
    accepted: int = 0,
    valid: int | None = None,
) -> Outcome:
    rows = count(state, lambda: state.instance.allocate(life, ask))
    if rows is None:
        state.attempted |= {life.request}
        return Allocated(ask.num_new_tokens, rows, found, ask.external)
    local = life.computed + ask.hit
    start = local + ask.external
    end = start + ask.num_new_tokens
    known = life.num_tokens + life.pending
    after = life._replace(computed=start, is_running=True, high=max(life.high, end))
    if ask.num_new_tokens:
        state.work[life.request] = Work(
            life.request,
            life.prompt,
            start,
            end,
            rows if life.is_sent else state.instance.table(life),
            is_new=not life.is_running,
            is_whole=not life.is_sent,
            loaded_from=local if ask.external else start,
            drafts=drafts,
            accepted=accepted,
            samples=end - drafts == known < len(state.world.prompts[life.prompt].tokens),
            valid=max(valid, local) if valid is not None and ask.external else None,
            state_entry=life.state_entry,
        )
        after = after._replace(is_sent=True)
        state.tokens_left -= ask.num_new_tokens
    else:
        after = after._replace(loading_from=local)
    if ask.external:
        after = after._replace(has_jumped=True)
    state.lives[life.request] = after
    return Allocated(ask.num_new_tokens, rows, found, ask.external)
