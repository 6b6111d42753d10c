"""What happens to the steps of the engine loop, and to requests that leave it."""

from collections.abc import Iterator, Sequence

from pagedkv.invariants.breach import Breach
from pagedkv.invariants.shape import used_blocks
from pagedkv.invariants.work import Work
from pagedkv.invariants.worker import Worker
from pagedkv.spec.life import Life
from pagedkv.spec.outcomes import Outcome, Stepped
from pagedkv.spec.snapshot import Rows

from .asking import count
from .invalid_loads import Holder, spoilt
from .loop_state import Held, LoopState, Step


def let_go(state: LoopState, request: str, withdraw: bool, pop: bool) -> None:
    """Release what a request holds; what steps in flight may still use waits for them."""
    life = state.lives[request]
    if state.flight:
        rows, lost = state.instance.table(life), _fails_in_flight(state, request)
        popped = count(state, lambda: state.instance.pop(life, withdraw))
        state.held = (*state.held, Held(state.dispatched, "popped", tuple(popped[::-1]), rows, lost))
        state.flight = tuple(
            step._replace(works=tuple(work for work in step.works if work.request != request))
            for step in state.flight
        )
    else:
        count(state, lambda: state.instance.free(life, withdraw, pop))
    state.work.pop(request, None)
    state.handed_over.pop(request, None)
    if state.worker:
        state.worker.drop(request)
    state.misled -= {request}


def _fails_in_flight(state: LoopState, request: str) -> tuple[int, int] | None:
    """The number of the step in flight in which a load of the request fails, and up to where it is right."""
    first = state.dispatched - len(state.flight) + 1
    lost = (
        (number, work.valid)
        for number, step in enumerate(state.flight, first)
        for work in step.works
        if work.request == request and work.valid is not None
    )
    return next(lost, None)


def take_back(state: LoopState) -> Iterator[Breach]:
    """What still claims to be right after all is taken back that followed from failed loads."""
    processed = state.dispatched - len(state.flight)
    if state.to_evict or state.misled or not state.worker or min(state.worker.failed, default=0) > processed:
        return
    if state.worker.failed:
        snapshot = state.instance.snapshot() if state.checks_claims else None
        yield from state.worker.forget_invalid(processed, snapshot)


def end_pass(state: LoopState, release_first: bool) -> tuple[Outcome, list[Breach]]:
    """Drain what the step needs, and dispatch it; without steps in flight it is processed at once."""
    world, instance = state.world, state.instance
    is_settled = not world.options.max_in_flight
    copies = count(state, instance.take_copies)
    if release_first and copies:
        count(state, instance.release)
    hand_offs = count(state, instance.take_hand_offs)
    for entry in hand_offs:
        state.handed_over.setdefault(entry.request, []).append(entry)
    zeroed = count(state, instance.take_zeroed) if world.options.needs_zeroing else []
    works = tuple(state.work.values())
    breaches = list(state.worker.step(copies, works, zeroed)) if state.worker else []
    state.dispatched += 1
    if is_settled:
        if copies and not release_first:
            count(state, instance.release)
    else:
        ends = tuple(block for copy in copies for block in copy)
        used = (used_blocks(world, work, instance.table(state.lives[work.request])) for work in works)
        state.flight = (*state.flight, Step(works, frozenset(ends).union(*used)))
        if copies:
            state.held = (*state.held, Held(state.dispatched, "copies", ends))
    for work in works:
        life = state.lives[work.request]
        state.lives[work.request] = life._replace(
            computed=work.end,
            in_flight=life.in_flight + work.end - work.start,
            pending=life.pending + work.samples,
            state_entry=None,
        )
    if is_settled:
        _find_spoilt(state, works, copies)
        _learn(state, Step(works, frozenset()))
    state.in_pass, state.work = False, {}
    if state.worker:
        breaches += _claims_broken(state, state.worker)
    return Stepped(tuple(copies), tuple(hand_offs), tuple(zeroed)), breaches


def settle(state: LoopState) -> None:
    """Process the oldest step in flight: learn its tokens, and free what waited for it."""
    step, *rest = state.flight
    processed = state.dispatched - len(rest)
    ends = [entry.blocks for entry in state.held if entry.kind == "copies"]
    _find_spoilt(state, step.works, [pair for e in ends for pair in zip(e[::2], e[1::2], strict=True)])
    _learn(state, step)
    for entry in due(state.held, processed):
        count(state, state.instance.release if entry.kind == "copies" else state.instance.free_popped)
    state.flight = tuple(rest)
    state.held = tuple(entry for entry in state.held if entry.fence > processed)


def due(held: tuple[Held, ...], processed: int) -> list[Held]:
    """What is freed once the step of this number is processed, in order."""
    return [entry for entry in held if entry.fence <= processed]


def _find_spoilt(state: LoopState, works: Sequence[Work], copies: Sequence[tuple[int, int]]) -> None:
    """Which blocks and requests loads that failed in a step have spoilt (clause Worker/invalid_loads)."""
    number = state.dispatched - max(0, len(state.flight) - 1)
    gone = {i: entry for i, entry in enumerate(state.held) if entry.rows}
    failed: dict[Holder, int] = {work.request: work.valid for work in works if work.valid is not None}
    failed |= {i: entry.lost[1] for i, entry in gone.items() if entry.lost and entry.lost[0] == number}
    if not failed:
        return
    tables: dict[Holder, Rows] = {i: entry.rows for i, entry in gone.items()}
    tables |= {name: state.instance.table(life) for name, life in state.lives.items() if life.is_running}
    sizes = [group.block_size for group in state.world.groups]
    blocks, holders = spoilt(sizes, tables, copies, failed)
    state.to_evict = tuple(sorted(blocks)) if state.world.enable_caching else ()
    state.misled = frozenset(holder for holder in holders if isinstance(holder, str))


def _learn(state: LoopState, step: Step) -> None:
    """Take in which tokens a step has sampled, and which drafts it has rejected.

    Of who computed from what was invalid there is nothing to take in.
    """
    for work in step.works:
        if work.request in state.misled:
            continue
        life = state.lives[work.request]
        rejected = work.drafts - work.accepted
        known = life.num_tokens + (1 + work.accepted if work.samples else 0)
        state.lives[work.request] = life._replace(
            computed=life.computed - rejected,
            in_flight=life.in_flight - (work.end - work.start),
            pending=life.pending - work.samples,
            num_tokens=min(known, len(state.world.prompts[life.prompt].tokens)),
            state_entry=work.state_entry_after(state.world.any_state_block_size),
        )


def loaded(state: LoopState, life: Life, valid: int) -> list[Breach]:
    """A connector's load has ended with so many tokens valid: all, some, or none."""
    assert life.loading_from is not None
    after = life._replace(computed=valid, loading_from=None)
    if not valid:
        let_go(state, life.request, False, False)
        state.lives[life.request] = life.waiting()
        return []
    if state.worker:
        table = state.instance.table(life)
        state.worker.load(life.prompt, table, life.loading_from, life.computed, valid)
    state.lives[life.request] = after
    if state.world.enable_caching:
        count(state, lambda: state.instance.publish(after))
    if valid < life.computed and state.world.options.needs_zeroing:
        count(state, lambda: state.instance.zero_again(after))
    return []


def _claims_broken(state: LoopState, worker: Worker) -> Iterator[Breach]:
    """What tables, keys and hand-offs claim after a step, and the worker's memory does not have."""
    snapshot = state.instance.snapshot() if state.checks_claims else None
    if snapshot is not None:
        yield from worker.check_tables(snapshot)
        yield from worker.check_keys(snapshot)
    still_read = [entry for entries in state.handed_over.values() for entry in entries]
    prompts = {life.request: life.prompt for life in state.lives.values()}
    yield from worker.check_hand_offs(still_read, prompts)
