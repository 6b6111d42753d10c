"""The smallest life that shows a fault: few moves, few blocks, few prompts, no frills."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pagedkv.conformance.subjects import Subject, SubjectUnavailable
from pagedkv.spec import PreconditionError, World
from pagedkv.spec.moves import Admit, EndPass, Finish, Move, Preempt, Schedule, Submit
from pagedkv.spec.trace.worlds import reason_against

from .minimise import is_same, minimise
from .runs import Run, replay_moves
from .simplify import simplify_world


def smallest(run: Run, subject: Subject) -> Run:
    """The same fault in fewer moves, if there are, and in a pool as small as any that shows it as fast."""
    best = minimise(run, lambda moves: replay_moves(subject, run.world, moves))
    for num_blocks in range(2, run.world.num_blocks):
        # A block is reused sooner where there are fewer; so the whole run is tried, not what was left of it.
        world = replace(run.world, num_blocks=num_blocks)
        smaller = _replayed(subject, world, run.moves)
        if smaller and is_same(smaller, run):
            smaller = _minimised_in(subject, world, smaller)
            best = min(smaller, best, key=lambda candidate: len(candidate.moves))
            break
    best = _with_fewer_prompts(subject, best)
    best = simplify_world(best, lambda world, moves: _replayed(subject, world, moves))
    return _with_fewer_prompts(subject, _plainer(subject, best))


def _minimised_in(subject: Subject, world: World, run: Run) -> Run:
    return minimise(run, lambda moves: replay_moves(subject, world, moves))


def _replayed(subject: Subject, world: World, moves: Sequence[Move]) -> Run | None:
    """None where the subject is not for such a world, or nobody is."""
    if reason_against(world) or subject.refuses(world) is not None:
        return None
    try:
        return replay_moves(subject, world, moves)
    except (PreconditionError, SubjectUnavailable):
        return None


def _plainer(subject: Subject, run: Run) -> Run:
    """The run with options left at their defaults where they do not matter."""
    best = run
    for i in range(len(run.moves)):
        for move in _plainer_moves(run.moves[i]):
            candidate = replay_moves(subject, run.world, (*best.moves[:i], move, *best.moves[i + 1 :]))
            if len(candidate.moves) == len(run.moves) and is_same(candidate, run):
                best = candidate
    return best


def _plainer_moves(move: Move) -> Iterator[Move]:
    match move:
        case Admit(lookup="divergent" | "none" | "skip"):
            yield replace(move, lookup="common")
        case Admit(available=available, reserved=reserved) if available or reserved:
            yield replace(move, available=0, asynchronous=False, reserved=0, valid=None)
            if move.valid is not None:
                yield replace(move, valid=None)
        case Schedule(drafts=drafts) if drafts:
            yield replace(move, drafts=0, accepted=0)
        case Preempt(pop=True) | Finish(pop=True):
            yield replace(move, pop=False)
        case EndPass(release_first=True):
            yield EndPass()


def _with_fewer_prompts(subject: Subject, run: Run) -> Run:
    """The run in a world that has only the prompts of its requests."""
    used = sorted({move.prompt for move in run.moves if isinstance(move, Submit)})
    world = replace(run.world, prompts=tuple(run.world.prompts[p] for p in used) or run.world.prompts[:1])
    moves = [
        replace(move, prompt=used.index(move.prompt)) if isinstance(move, Submit) else move
        for move in run.moves
    ]
    candidate = _replayed(subject, world, moves)
    is_whole = candidate is not None and len(candidate.moves) == len(run.moves)
    return candidate if candidate and is_whole and is_same(candidate, run) else run
