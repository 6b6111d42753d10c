"""The engine loop as a Hypothesis state machine: the same moves, chosen and shrunk by Hypothesis."""

from collections.abc import Callable, Sequence
from random import Random
from types import new_class
from typing import Any, ClassVar

from hypothesis import assume
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from hypothesis.strategies import DataObject, data, integers, sampled_from

from pagedkv.spec.moves import Move
from pagedkv.spec.outcomes import Outcome

from .campaign.runs import Run
from .driver import WEIGHTS
from .judge import Bout
from .subjects import Subject
from .worlds import MIXES, random_world


class LifeMachine(RuleBasedStateMachine):
    """One life of ``subject``. A move that breaks a clause raises ``AssertionError`` with clause and values.

    ``machine_for`` makes the class that can be run: it has a rule for each kind of move.
    """

    subject: ClassVar[Subject]
    mixes: ClassVar[Sequence[str]]
    failed: ClassVar[Run | None] = None
    """The last life that broke a clause: when Hypothesis is done, the smallest."""

    def __init__(self) -> None:
        super().__init__()
        self._bout: Bout | None = None
        self._played: list[Move] = []
        self._outcomes: list[Outcome] = []
        self._enabled: list[Move] = []

    @initialize(seed=integers(0, 2**32 - 1))
    def start(self, seed: int) -> None:
        """Begin a life in the world of ``seed``."""
        world = random_world(Random(seed), tuple(self.mixes))
        assume(self.subject.refuses(world) is None)
        self._bout = Bout(world, self.subject)
        self._enabled = self._moves(self._bout)

    def enabled(self, kind: type[Move]) -> list[Move]:
        """The moves of a kind that the state allows."""
        return [move for move in self._enabled if type(move) is kind]

    def play(self, move: Move) -> None:
        """Do the move. Raises ``AssertionError`` when it breaks a clause; the life is then in ``failed``."""
        assert self._bout is not None, "a life is started before anything else"
        self._played.append(move)
        breaches = self._bout.play(move)
        self._outcomes.append(self._bout.outcome)
        if breaches:
            bout, moves, outcomes = self._bout, tuple(self._played), tuple(self._outcomes)
            type(self).failed = Run(bout.world, moves, outcomes, bout.operations, bout.shown, tuple(breaches))
            raise AssertionError(f"{breaches[0]}\n{breaches[0].clause.text}")
        self._enabled = self._moves(self._bout)

    def _moves(self, bout: Bout) -> list[Move]:
        return [move for move in bout.moves() if self.subject.can(move)]


def machine_for(subject: Subject, mixes: Sequence[str] = MIXES) -> type[LifeMachine]:
    """A state machine over lives of ``subject`` in random worlds of ``mixes``."""
    rules = {f"play_{kind.__name__}": _rule_for(kind) for kind in WEIGHTS}
    members = {"subject": subject, "mixes": mixes, **rules}
    return new_class("Life", (LifeMachine,), exec_body=lambda body: body.update(members))


def _rule_for(kind: type[Move]) -> Callable[..., Any]:
    def play(self: LifeMachine, source: DataObject) -> None:
        self.play(source.draw(sampled_from(self.enabled(kind))))

    def is_enabled(self: LifeMachine) -> bool:
        return bool(self.enabled(kind))

    play.__name__ = f"play_{kind.__name__}"
    return precondition(is_enabled)(rule(source=data())(play))
