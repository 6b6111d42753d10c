"""How traces worth keeping are found: short lives of the reference that show a behaviour."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from pagedkv.conformance.campaign.expectations import Avoided
from pagedkv.conformance.campaign.minimise import shortened
from pagedkv.conformance.campaign.runs import Run, random_run, replay_moves
from pagedkv.conformance.replay import trace_of_run
from pagedkv.conformance.subjects import reference
from pagedkv.conformance.worlds import MIXES
from pagedkv.spec.moves import BeginPass, EndPass
from pagedkv.spec.trace import Trace, write_trace


def keep_trace(path: Path, *behaviours: str, seed: int = 0, runs: int = 100) -> Trace:
    """Write the trace that ``find_trace`` gives."""
    trace = find_trace(*behaviours, seed=seed, runs=runs)
    write_trace(path, trace)
    return trace


def find_trace(*behaviours: str, seed: int = 0, runs: int = 100) -> Trace:
    """Of the random runs of a seed, the one with the fewest steps after it was shortened.

    It shows all of ``behaviours``, which are names of ``pagedkv.conformance.coverage``, and ends with the
    pass, so that the worker has read what was made. Its answers are the lawful ones. LookupError when no
    run shows them.
    """
    found = min(_found(behaviours, seed, runs), key=lambda found: len(found[1].moves), default=None)
    if found is None:
        raise LookupError(f"none of {runs} runs of seed {seed} shows {', '.join(behaviours)}")
    number, run = found
    trace = trace_of_run(run, reference(), seed, number)
    lawful = (replace(step, lawful=(step.outcome,)) for step in trace.steps if step.outcome)
    return replace(trace, steps=tuple(lawful))


def _found(behaviours: tuple[str, ...], seed: int, runs: int) -> Iterator[tuple[int, Run]]:
    def shows(run: Run) -> bool:
        passes = [type(move) for move in run.moves if isinstance(move, (BeginPass, EndPass))]
        return passes[-1:] == [EndPass] and all(run.shown[name] for name in behaviours)

    for number in range(runs):
        run = random_run(reference(), seed, number, MIXES, Avoided(frozenset()))
        # A run may end in the middle of a pass.
        run = replay_moves(reference(), run.world, (*run.moves, EndPass()))
        if shows(run):
            yield number, shortened(run, partial(replay_moves, reference(), run.world), shows)
