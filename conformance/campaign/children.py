"""Processes that play runs: a subject that dies or hangs takes a child with it, not the campaign."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from time import monotonic

from pagedkv.conformance.differences import clause_of_error
from pagedkv.conformance.subject_names import subject_named
from pagedkv.conformance.subjects import SubjectUnavailable
from pagedkv.invariants.breach import Breach
from pagedkv.spec import PreconditionError
from pagedkv.spec.moves import Move

from .expectations import Avoided
from .processes import packed, spawned, unpacked
from .runs import Run, random_run, world_of_run
from .turns import mix_in_turn


@dataclass(frozen=True)
class Plan:
    """What the runs of a campaign have in common. Travels to the children."""

    subject: str
    seed: int
    mixes: tuple[str, ...]
    avoided: Avoided
    seconds_per_move: float

    def mixes_of(self, number: int) -> tuple[str]:
        """The one mix that a run of this number can have."""
        return (mix_in_turn(self.seed, number, self.mixes),)


def _child(plan: Plan, pipe: Connection) -> None:
    try:
        subject = subject_named(plan.subject)
        while True:
            number = pipe.recv()
            run = random_run(subject, plan.seed, number, plan.mixes_of(number), plan.avoided, pipe.send)
            pipe.send(packed(run))
    except (SubjectUnavailable, PreconditionError) as error:
        pipe.send(str(error))
    except (EOFError, BrokenPipeError):
        # Whoever asked is gone.
        return


class Child:
    """One process and what it is doing."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.number: int | None = None
        self._moves: list[Move] = []
        self._heard = monotonic()
        self._start()

    def _start(self) -> None:
        self._process, self.pipe = spawned(_child, self._plan)

    def begin(self, number: int) -> None:
        """Let it play a run."""
        self.number, self._moves, self._heard = number, [], monotonic()
        self.pipe.send(number)

    def heard(self) -> Run | None:
        """Take one message in; answers the run when it is over, also when the process died in it."""
        try:
            content = self.pipe.recv()
        except (EOFError, ConnectionResetError):
            self._process.join()
            return self._lost(f"the process died with exit code {self._process.exitcode}")
        self._heard = monotonic()
        if isinstance(content, str):
            raise ChildFailed(content)
        if isinstance(content, tuple):
            self.number = None
            return unpacked(content)
        self._moves.append(content)
        return None

    def overdue(self) -> Run | None:
        """The run, ended, if the subject has not answered in time."""
        # The first move of a new process waits for its imports.
        allowed = self._plan.seconds_per_move * (1 if self._moves else 20)
        if self.number is None or monotonic() - self._heard < allowed:
            return None
        self._process.kill()
        return self._lost(f"no answer within {self._plan.seconds_per_move:g} s")

    def stop(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()
        self.pipe.close()

    def _lost(self, because: str) -> Run:
        """What is known of a run whose process is gone; a new process takes its place."""
        assert self.number is not None
        if not self._moves:
            raise ChildFailed(f"a process for {self._plan.subject} could not start: {because}")
        subject = subject_named(self._plan.subject)
        mixes = self._plan.mixes_of(self.number)
        _, world = world_of_run(self._plan.seed, self.number, mixes, subject, self._plan.avoided)
        moves = tuple(self._moves)
        breach = Breach(clause_of_error(moves[-1]), because)
        self.stop()
        self._start()
        self.number = None
        return Run(world, moves, (), len(moves), breaches=(breach,))


class ChildFailed(Exception):
    """Runs cannot be played; the message says why."""


def play_in_children(plan: Plan, jobs: int) -> Generator[tuple[int, Run], None, None]:
    """Runs 0, 1, 2, ... in that order, without end, played ``jobs`` at a time. Close it to stop."""
    children = [Child(plan) for _ in range(jobs)]
    finished: dict[int, Run] = {}
    next_number, next_answer = 0, 0
    try:
        while True:
            for child in children:
                # No further ahead than the order of answers needs.
                if child.number is None and next_number < next_answer + 4 * jobs:
                    child.begin(next_number)
                    next_number += 1
            for child in _ready(children):
                number = child.number
                run = child.heard()
                if run is not None and number is not None:
                    finished[number] = run
            for child in children:
                number = child.number
                run = child.overdue()
                if run is not None and number is not None:
                    finished[number] = run
            while next_answer in finished:
                yield next_answer, finished.pop(next_answer)
                next_answer += 1
    finally:
        for child in children:
            child.stop()


def _ready(children: Sequence[Child]) -> list[Child]:
    pipes = wait([child.pipe for child in children if child.number is not None], timeout=0.2)
    return [child for child in children if child.pipe in pipes]
