"""Processes beside this one, and how runs travel between them."""

from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from multiprocessing.resource_tracker import ensure_running
from signal import SIG_BLOCK, SIG_SETMASK, SIGINT, pthread_sigmask
from typing import Any

from pagedkv.invariants.breach import Breach
from pagedkv.spec.clauses import ALL

from .runs import Run

Packed = tuple[Any, ...]
"""A run that can travel."""


def spawned(target: Callable[..., None], *arguments: object) -> tuple[SpawnProcess, Connection]:
    """A new process that runs ``target(*arguments, pipe)``, and the other end of the pipe.

    It never sees an interrupt from the terminal: whoever started it stops it.
    """
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=target, args=(*arguments, theirs), daemon=True)
    # The first process to start starts this one too, which would let interrupts through again.
    ensure_running()
    before = pthread_sigmask(SIG_BLOCK, {SIGINT})
    try:
        process.start()
    finally:
        pthread_sigmask(SIG_SETMASK, before)
    theirs.close()
    return process, ours


def packed(run: Run) -> Packed:
    """The run, to be sent."""
    # Clauses are compared by identity: they travel by their ids.
    broken = tuple((breach.clause.id, breach.because) for breach in run.breaches)
    return run.world, run.moves, run.outcomes, run.operations, run.shown, broken, run.events


def unpacked(content: Packed) -> Run:
    """The run that was sent."""
    clauses = {clause.id: clause for clause in ALL}
    world, moves, outcomes, operations, shown, broken, events = content
    breaches = tuple(Breach(clauses[clause], because) for clause, because in broken)
    return Run(world, moves, outcomes, operations, shown, breaches, events)
