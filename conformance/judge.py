"""One life of a subject under the laws, the worker and, in lockstep, the reference."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from pagedkv.invariants.breach import Breach
from pagedkv.invariants.laws import check_transition
from pagedkv.spec import PreconditionError, World
from pagedkv.spec.clauses import Clause, hashing
from pagedkv.spec.event_names import EventName
from pagedkv.spec.moves import BeginPass, EndPass, Move, Submit
from pagedkv.spec.outcomes import Nothing, Outcome, Raised
from pagedkv.spec.snapshot import KeyName, Snapshot

from .coverage import shown_by
from .demand import refused_alone
from .differences import clause_of_error, differences, event_differences
from .live_requests import HashClash
from .loop import LoopState, apply_move, enabled_moves
from .subjects import Subject, SubjectUnavailable, make_reference
from .telling import Telling
from .worlds import mix_of


@contextmanager
def making(world: World, subject: Subject) -> Iterator[None]:
    """Around what makes a life of the subject: ``SubjectUnavailable`` for whatever it raises but refusals."""
    try:
        yield
    except PreconditionError:
        raise
    except Exception as error:
        groups = mix_of(world)
        raise SubjectUnavailable(
            f"{subject.name!r} raised {type(error).__name__} when a manager for {groups} "
            f"with {world.num_blocks} blocks was to be made: {error}"
        ) from error


def breach_of_error(move: Move, error: Exception) -> Breach:
    """What a subject breaks by an error in a move."""
    if isinstance(error, HashClash):
        return Breach(hashing.NAMES_THE_PREFIX, str(error))
    clause = getattr(error, "clause", None)
    if not isinstance(clause, Clause):
        clause = clause_of_error(move)
    return Breach(clause, f"raised {type(error).__name__}: {error}")


class Bout:
    """A subject's life. ``play`` says what each move broke; after the first breach it is over.

    Raises ``SubjectUnavailable`` when the subject cannot be made in the world; its refusals come through.
    """

    def __init__(self, world: World, subject: Subject) -> None:
        self.world = world
        with making(world, subject):
            self.state = LoopState.start(world, subject.make(world))
            self.snapshot = self.state.instance.snapshot()
        is_mirrored = subject.strictness != "safety" and subject.name != "reference"
        self._mirror = LoopState.start(world, make_reference(world)) if is_mirrored else None
        self._mirrored = self._mirror.instance.snapshot() if self._mirror else None
        self._pass_began: Snapshot[KeyName] | None = None
        self._unspoilt: frozenset[str] = frozenset()
        self.outcome: Outcome = Nothing()
        self.shown: Counter[str] = Counter()

    @property
    def operations(self) -> int:
        """Calls on the subject so far."""
        return self.state.operations

    @property
    def events(self) -> tuple[EventName, ...]:
        """What the last move announced, as far as is known: one that raised has not told."""
        return () if isinstance(self.outcome, Raised) else self.state.events or ()

    def moves(self, probes: bool = True) -> list[Move]:
        """The moves that the state allows."""
        states = self.snapshot.keys if self.snapshot else ()
        keyed = [block for block, keys in enumerate(states) if keys]
        return enabled_moves(self.state, keyed, probes)

    def play(self, move: Move) -> list[Breach]:
        """Do the move on both sides; answers what is wrong, the first first."""
        return list(self._play(move))

    def _play(self, move: Move) -> Iterator[Breach]:
        before, telling = self.snapshot, Telling(self.state)
        if isinstance(move, BeginPass):
            self._pass_began = before
        expected = apply_move(self._mirror, move) if self._mirror else None
        try:
            self.outcome, worker_breaches = apply_move(self.state, move)
            after = self.state.instance.snapshot()
        except Exception as error:  # noqa: BLE001  Whatever a subject raises is its fault, and ends its life.
            self.outcome = Raised(type(error).__name__, str(error))
            yield breach_of_error(move, error)
            return
        if before is not None and after is not None:
            transition = telling.transition(
                self.state, before, after, move, self.outcome, self._pass_began, self._unspoilt
            )
            self._keep_count(move, before, after)
            if not self._mirror:
                self.shown.update(shown_by(transition))
            yield from check_transition(transition)
        yield from worker_breaches
        if after is None:
            yield from refused_alone(self.state, telling.lives, move, self.outcome)
        if self._mirror and expected:
            mirrored = self._mirror.instance.snapshot()
            if self._mirrored and mirrored:
                # The reference has made the same move, and tells why it answers None.
                theirs = telling.transition(self.state, self._mirrored, mirrored, move, expected[0], None)
                self.shown.update(shown_by(replace(theirs, events=self._mirror.events)))
            yield from differences(move, expected[0], self.outcome, mirrored, after)
            yield from event_differences(self._mirror.events, self.state.events)
            self._mirrored = mirrored
        self.snapshot = after
        if isinstance(move, EndPass):
            self._pass_began = None

    def _keep_count(self, move: Move, before: Snapshot[KeyName], after: Snapshot[KeyName]) -> None:
        """Note who has arrived since the last key left the index."""
        if before.index.keys() - after.index.keys():
            self._unspoilt = frozenset()
        elif isinstance(move, Submit):
            self._unspoilt |= {move.request}
