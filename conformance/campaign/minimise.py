"""The shortest run that still shows what it is kept for: a fault, or a behaviour."""

from collections.abc import Callable, Sequence

from pagedkv.spec.moves import Move

from .runs import Run


def minimise(run: Run, replay: Callable[[Sequence[Move]], Run]) -> Run:
    """Leave out moves as long as the same clause breaks first in the same kind of move."""
    return shortened(run, replay, lambda candidate: is_same(candidate, run))


def shortened(run: Run, replay: Callable[[Sequence[Move]], Run], is_kept: Callable[[Run], bool]) -> Run:
    """Leave out moves, larger groups first, as long as ``is_kept`` holds of what is left.

    No single move of the result can be left out.
    """
    best = run
    size = max(1, len(run.moves) // 2)
    while True:
        shorter = _swept(best, size, replay, is_kept)
        if size == 1 and shorter is best:
            return best
        best, size = shorter, max(1, size // 2)


def _swept(
    run: Run, size: int, replay: Callable[[Sequence[Move]], Run], is_kept: Callable[[Run], bool]
) -> Run:
    """The run without each group of ``size`` moves that can be left out."""
    # From the end: what comes late depends on what came early, not the other way round.
    end = len(run.moves)
    while end > 0:
        start = max(0, end - size)
        candidate = replay((*run.moves[:start], *run.moves[end:]))
        if len(candidate.moves) < len(run.moves) and is_kept(candidate):
            run = candidate
        end = min(start, len(run.moves))
    return run


def is_same(one: Run, other: Run) -> bool:
    """Whether both break the same clause first, in the same kind of move."""
    return bool(one.breaches) and (
        one.breaches[0].clause is other.breaches[0].clause and type(one.moves[-1]) is type(other.moves[-1])
    )
