"""A trace of requests through the engine loop, to its end or to the first broken clause."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pagedkv.conformance.demand import refused_alone
from pagedkv.conformance.judge import breach_of_error, making
from pagedkv.conformance.loop import LoopState, apply_move
from pagedkv.conformance.scheduling.manager import LifeEnded
from pagedkv.conformance.scheduling.service import Service
from pagedkv.conformance.subjects import Subject
from pagedkv.invariants.breach import Breach
from pagedkv.invariants.laws import check_transition
from pagedkv.spec import World
from pagedkv.spec.moves import Move
from pagedkv.spec.outcomes import Outcome, Raised

from .arrivals import serve_all
from .figures import Counting, Figures
from .sample import Sample


@dataclass
class Replay:
    """How a replay went so far; at its end, how it ended."""

    figures: Figures = field(default_factory=Figures)
    checked: int = 0
    """Moves that all laws were asked about."""
    move: Move | None = None
    """The latest."""
    breaches: tuple[Breach, ...] = ()
    """What it broke; then it was the last."""
    was_interrupted: bool = False


def replay_requests(
    world: World,
    subject: Subject,
    arrivals: Sequence[float] | None,
    max_running: int,
    every: int | None,
    progress: Callable[[Replay], None] = lambda replay: None,
) -> Replay:
    """Serve a request for each prompt of the world, each alone fitting into the pool.

    ``arrivals`` are in ms by prompt, in order; None: each arrives as soon as it may run. ``every``: the laws
    are asked about every so many moves, and a worker reads in every pass; None: neither, only counts. An
    interrupt ends it with what was counted. Raises ``SubjectUnavailable``; refusals of the world come
    through.
    """
    with making(world, subject):
        state = LoopState.start(world, subject.make(world), has_worker=every is not None)
    life = _Life(state, Sample(state, every) if every is not None else None)
    replay = life.replay

    def play(move: Move) -> Outcome:
        replay.move = move
        outcome = life.play(move)
        progress(replay)
        if replay.breaches:
            raise LifeEnded(*replay.breaches)
        return outcome

    try:
        serve_all(Service(state, play, max_running, subject.can), len(world.prompts), arrivals, max_running)
    except LifeEnded as end:
        replay.breaches = end.breaches
    except KeyboardInterrupt:
        replay.was_interrupted = True
    return replay


class _Life:
    """The engine loop with those who watch it."""

    def __init__(self, state: LoopState, sample: Sample | None) -> None:
        self._state = state
        self._sample = sample
        self._counting = Counting(state)
        self.replay = Replay(self._counting.figures)

    def play(self, move: Move) -> Outcome:
        """Do the move and note what it broke."""
        transition = None
        try:
            if self._sample:
                self._sample.before(move)
            outcome, worker_breaches = apply_move(self._state, move)
            self._counting.count(move, outcome)
            if self._sample:
                transition = self._sample.after(move, outcome)
        except Exception as error:  # noqa: BLE001  Whatever a subject raises is its fault, and ends its life.
            self.replay.breaches = (breach_of_error(move, error),)
            return Raised(type(error).__name__, str(error))
        found = [*check_transition(transition)] if transition else []
        self.replay.checked += transition is not None
        refused = refused_alone(self._state, self._state.lives, move, outcome)
        self.replay.breaches = (*found, *worker_breaches, *refused)
        return outcome
