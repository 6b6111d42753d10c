"""One random run, and the replay of given moves."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from random import Random
from typing import Protocol

from pagedkv.conformance.demand import most_blocks_for
from pagedkv.conformance.driver import choose_move
from pagedkv.conformance.judge import Bout
from pagedkv.conformance.loop import is_enabled
from pagedkv.conformance.scheduling.life import Serving
from pagedkv.conformance.scheduling.manager import LifeEnded
from pagedkv.conformance.subjects import Subject
from pagedkv.conformance.worlds import random_world
from pagedkv.invariants.breach import Breach
from pagedkv.spec import World
from pagedkv.spec.event_names import EventName
from pagedkv.spec.moves import EndPass, Finish, Loaded, Move, Reset, Settle
from pagedkv.spec.outcomes import Outcome

MOVES_PER_RUN = 120
RUNS_PER_SCHEDULED = 4


class Avoids(Protocol):
    """What runs leave out."""

    def move(self, move: Move) -> bool:
        """Whether the move is left out."""
        ...

    def world(self, world: World) -> bool:
        """Whether worlds like this one are left out."""
        ...


@dataclass(frozen=True)
class Run:
    """What one life of a subject was."""

    world: World
    moves: tuple[Move, ...]
    outcomes: tuple[Outcome, ...]
    operations: int
    shown: Counter[str] = field(default_factory=Counter)
    breaches: tuple[Breach, ...] = ()
    """What the last move broke; empty when nothing was."""
    events: tuple[tuple[EventName, ...], ...] = ()
    """What each move announced."""


def world_of_run(
    seed: int,
    number: int,
    mixes: Sequence[str],
    subject: Subject,
    avoided: Avoids,
    options: Sequence[str] | None = None,
) -> tuple[Random, World]:
    """The world of a run, one that is for the subject, and the state of chance after drawing it."""
    rng = Random(f"{seed}/{number}")
    draws = _draws(rng, mixes, subject, avoided, options)
    world = next(world for world, refusal in draws if not refusal)
    if is_scheduled(number):
        # A pool that has just room for the longest request: nobody waits for ever in it either.
        most = max(most_blocks_for(world, prompt) for prompt in world.prompts)
        # And sometimes it never fits.
        tight = replace(world, num_blocks=1 + most + rng.choice((-1, 0, 0, 1, 2, 3)))
        roomy = replace(world, num_blocks=max(1 + most, world.num_blocks))
        world = roomy if subject.refuses(tight) or rng.random() < 0.3 else tight
    return rng, world


_LEAVING = (Settle, Loaded, Finish)
"""Moves by which everybody leaves, beside the end of a pass."""


def is_scheduled(number: int) -> bool:
    """Whether the scheduler chooses the moves of this run."""
    return number % RUNS_PER_SCHEDULED == RUNS_PER_SCHEDULED - 1


def refusals_of_run(
    seed: int, number: int, mixes: Sequence[str], subject: Subject, avoided: Avoids
) -> Iterator[str]:
    """Why worlds were drawn in vain for a run."""
    draws = _draws(Random(f"{seed}/{number}"), mixes, subject, avoided, None)
    return takewhile(bool, (refusal for _, refusal in draws))


def _draws(
    rng: Random, mixes: Sequence[str], subject: Subject, avoided: Avoids, options: Sequence[str] | None
) -> Iterator[tuple[World, str]]:
    """Worlds without end, each with the reason against it; an empty one for those that are taken."""
    while True:
        world = random_world(rng, tuple(mixes), options)
        by_choice = "of a kind that the expectations leave out" if avoided.world(world) else ""
        yield world, subject.refuses(world) or by_choice


def random_run(
    subject: Subject,
    seed: int,
    number: int,
    mixes: Sequence[str],
    avoided: Avoids,
    before_move: Callable[[Move], None] = lambda move: None,
    options: Sequence[str] | None = None,
) -> Run:
    """Run ``number`` of a campaign: random moves until one breaks something or the run is long enough.

    In one run of ``RUNS_PER_SCHEDULED`` the scheduler chooses the moves, until every request has ended.
    Its world has the ``options`` of these names; None: chance says which.
    The same arguments give the same run on every machine.
    """
    rng, world = world_of_run(seed, number, mixes, subject, avoided, options)
    bout = Bout(world, subject)
    if is_scheduled(number):
        return _scheduled(rng, bout, subject, avoided, before_move)

    def choose() -> Iterable[Move]:
        for _ in range(MOVES_PER_RUN):
            moves = [move for move in bout.moves() if subject.can(move) and not avoided.move(move)]
            move = choose_move(rng, moves)
            before_move(move)
            yield move
        # Everybody leaves: when nobody holds anything a leak shows, and a reset can be seen to work.
        while leaving := [move for move in bout.moves() if move == EndPass() or type(move) in _LEAVING]:
            before_move(leaving[0])
            yield leaving[0]
        for move in bout.moves():
            if move == Reset() and subject.can(move) and not avoided.move(move):
                before_move(move)
                yield move

    return _play(bout, choose())


def replay_moves(subject: Subject, world: World, moves: Iterable[Move]) -> Run:
    """Play ``moves`` in a new life, leaving out those that are not allowed when their turn comes."""
    bout = Bout(world, subject)
    return _play(bout, (move for move in moves if is_enabled(bout.state, move)))


def _scheduled(
    rng: Random, bout: Bout, subject: Subject, avoided: Avoids, before_move: Callable[[Move], None]
) -> Run:
    played = _Played(bout)

    def play(move: Move) -> Outcome:
        before_move(move)
        breaches = played.play(move)
        if breaches:
            raise LifeEnded(*breaches)
        return bout.outcome

    try:
        Serving(rng, bout, lambda move: subject.can(move) and not avoided.move(move), subject, play).serve()
    except LifeEnded as end:
        return played.run(end.breaches)
    return played.run(())


def _play(bout: Bout, moves: Iterable[Move]) -> Run:
    played = _Played(bout)
    for move in moves:
        breaches = played.play(move)
        if breaches:
            return played.run(breaches)
    return played.run(())


class _Played:
    """What was played in a life so far."""

    def __init__(self, bout: Bout) -> None:
        self._bout = bout
        self._moves: list[Move] = []
        self._outcomes: list[Outcome] = []
        self._events: list[tuple[EventName, ...]] = []

    def play(self, move: Move) -> list[Breach]:
        """Do the move; answers what it broke."""
        breaches = self._bout.play(move)
        self._moves.append(move)
        self._outcomes.append(self._bout.outcome)
        self._events.append(self._bout.events)
        return breaches

    def run(self, breaches: Sequence[Breach]) -> Run:
        """The life, ended by these."""
        bout = self._bout
        return Run(
            bout.world,
            tuple(self._moves),
            tuple(self._outcomes),
            bout.operations,
            bout.shown,
            tuple(breaches),
            tuple(self._events),
        )
