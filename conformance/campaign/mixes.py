"""What the lives of each mix of groups have shown: a mix in which little happened was hardly judged."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from pagedkv.conformance import coverage
from pagedkv.spec import World
from pagedkv.spec.moves import Finish, Preempt
from pagedkv.spec.outcomes import Allocated, Outcome, Stepped, Waits

from .runs import Run


class Counted(NamedTuple):
    """Something that shows that a mix was put to use."""

    name: str
    times: Callable[[Run], int]
    """How often a run has it."""
    can_be_in: Callable[[World], bool] = lambda world: True
    """Whether lives in the world have it sooner or later: a mix without such a world does not owe it.

    Whether a world caches, and where its hits may end, follow from its groups.
    """
    needs_state: bool = False
    """Whether it is seen only where the subject tells its state."""


def _outcomes(holds: Callable[[Outcome], bool]) -> Callable[[Run], int]:
    return lambda run: sum(map(holds, run.outcomes))


def _is_served(outcome: Outcome) -> bool:
    return isinstance(outcome, Allocated) and outcome.rows is not None


def _is_refused(outcome: Outcome) -> bool:
    return isinstance(outcome, Allocated) and outcome.rows is None


def _is_hit(outcome: Outcome) -> bool:
    return isinstance(outcome, Allocated) and outcome.found is not None and outcome.found.hit > 0


def _waits(run: Run) -> int:
    return sum(isinstance(outcome, Waits) for outcome in run.outcomes) + run.shown[coverage.DEFERRAL]


def _copies(run: Run) -> int:
    return sum(len(outcome.copies) for outcome in run.outcomes if isinstance(outcome, Stepped))


COUNTED = (
    Counted("served", _outcomes(_is_served)),
    Counted("refused", _outcomes(_is_refused)),
    # For a larger chunk, for a group that lags, or for what the same pass writes.
    Counted("waits", _waits, lambda world: world.state_block_size > 0),
    Counted("hits", _outcomes(_is_hit), lambda world: world.enable_caching),
    Counted("copies", _copies, lambda world: world.enable_caching and world.is_fine_grained),
    Counted(
        "evictions",
        lambda run: run.shown[coverage.EVICTION],
        lambda world: world.enable_caching,
        needs_state=True,
    ),
    Counted("preemptions", lambda run: sum(isinstance(move, Preempt) for move in run.moves)),
    Counted("steps", _outcomes(lambda outcome: isinstance(outcome, Stepped))),
    Counted("ends", lambda run: sum(isinstance(move, Finish) for move in run.moves)),
)
"""The columns of the table of mixes after lives and operations. ``report.schema.json`` says what each is."""
OWED = ("lives", *(counted.name for counted in COUNTED))
"""What a mix may owe."""


@dataclass
class OfMix:
    """The lives of one mix, in numbers."""

    lives: int = 0
    operations: int = 0
    _times: Counter[str] = field(default_factory=Counter)
    _possible: set[str] = field(default_factory=set)

    def add(self, run: Run) -> None:
        """Count a run in."""
        self.lives += 1
        self.operations += run.operations
        for counted in COUNTED:
            self._times[counted.name] += counted.times(run)
            if counted.can_be_in(run.world):
                self._possible.add(counted.name)

    def times(self, counted: Counted) -> int | None:
        """How often it was; None where no life could have it."""
        times = self._times[counted.name]
        return times if times or counted.name in self._possible else None
