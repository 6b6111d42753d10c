"""What the slots of a block hold, as runs: as many as there are changes, not as there are slots.

A slot holds one prefix or nothing. Equal contents have equal runs, since every run is as long as can be.
"""

from collections.abc import Iterator
from itertools import chain

from pagedkv.spec.prefixes import Run

NOTHING = -1
"""In place of a prompt: slots, by their number, that nothing was written to."""

Runs = tuple[Run, ...]


def invalid_of(number: int) -> int:
    """In place of a prompt: what a failed load in the step of this number left, and what followed from it."""
    return NOTHING - number


def is_invalid(runs: Runs) -> bool:
    """Whether there is something among the slots that a failed load has left."""
    return any(run.prompt < NOTHING for run in runs)


def joined(*parts: Runs) -> Runs:
    """The slots of ``parts`` one after the other."""
    made: list[Run] = []
    for run in chain(*parts):
        last = made[-1] if made else None
        if last and (last.prompt, last.end, last.behind) == (run.prompt, run.start, run.behind):
            made[-1] = made[-1]._replace(end=run.end)
        else:
            made.append(run)
    return tuple(made)


def between(runs: Runs, first: int, last: int) -> Runs:
    """Slots ``first`` to before ``last``, as far as there are so many."""
    return tuple(_between(runs, first, last))


def of_size(runs: Runs, size: int) -> Runs:
    """The first ``size`` slots; those that are missing hold nothing."""
    there = 0
    for run in runs:
        there += run.end - run.start
    if there == size:
        return runs
    if there > size:
        return between(runs, 0, size)
    return joined(runs, (Run(NOTHING, there, size),))


def in_words(runs: Runs) -> str:
    """The slots as a reader of a failure wants them: ``[p0:5..8, p1:9]`` names four prefixes of p0 first.

    ``behind 3`` says that they are those of a request whose prompt has 3 tokens.
    """
    return f"[{', '.join(map(_in_words, runs))}]"


def _between(runs: Runs, first: int, last: int) -> Iterator[Run]:
    slot = 0
    for run in runs:
        length = run.end - run.start
        a, b = max(first - slot, 0), min(last - slot, length)
        if a < b:
            yield run._replace(start=run.start + a, end=run.start + b)
        slot += length


def _in_words(run: Run) -> str:
    count = run.end - run.start
    if run.prompt == NOTHING:
        return "nothing" if count == 1 else f"nothing in {count} slots"
    if run.prompt < NOTHING:
        return f"invalid since step {NOTHING - run.prompt}" + (f" in {count} slots" if count > 1 else "")
    name = f"p{run.prompt}:{run.end}" if count == 1 else f"p{run.prompt}:{run.start + 1}..{run.end}"
    return f"{name} behind {run.behind}" if run.behind else name
