"""What a planted fault is."""

from collections.abc import Callable
from dataclasses import dataclass

from pagedkv.conformance.subjects import needs
from pagedkv.conformance.worlds import MIXES_WITHOUT_WINDOWS
from pagedkv.spec import World
from pagedkv.spec.clauses import Clause
from pagedkv.spec.moves import Move

from .patching import Patch


@dataclass(frozen=True)
class Unrelated:
    """Runs in which a fault must not show: what they have in common, and what they leave out."""

    mixes: tuple[str, ...] = MIXES_WITHOUT_WINDOWS
    is_taken: Callable[[World], bool] = lambda world: True
    avoid: tuple[str, ...] = ()
    """The capabilities whose moves are left out."""

    def move(self, move: Move) -> bool:
        """Whether the move is left out."""
        return not set(self.avoid).isdisjoint(needs(move))

    def world(self, world: World) -> bool:
        """Whether worlds like this one are left out."""
        return not self.is_taken(world)


@dataclass(frozen=True)
class PlantedFault:
    """A change in one place of specification, reference or torch manager that breaks a clause."""

    name: str
    does: str
    """What it does, in one sentence."""
    stands_for: str
    """The kind of fault that users of such managers have met."""
    patch: Patch
    clauses: tuple[Clause, ...]
    """The first breach that is reported is of one of these, as a rule of the first."""
    unrelated: Unrelated | str
    """Where it must not show, or why it can show everywhere."""
    why_several: str = ""
    """Why the first breach may be of several clauses."""
    also: tuple[Clause, ...] = ()
    """Clauses whose checks find it in the same move."""
    mixes: tuple[str, ...] = MIXES_WITHOUT_WINDOWS
    """The mixes of groups in which it is looked for."""
    tells_state: bool = True
    """Whether the faulty manager shows its state. If not, the worker alone has to find the fault."""
    shortest: int | None = None
    """The fewest operations that show it, where exhaustive search has shown them to be more than twelve."""

    @property
    def is_in_tensors(self) -> bool:
        """Whether it is a fault of the torch manager, which only that manager shows."""
        return self.patch.file.startswith("impl/")

    @property
    def is_in_scheduler(self) -> bool:
        """Whether it is a fault of the scheduler: its moves alone, in another life, are no fault."""
        return self.patch.file.startswith(("reference/scheduler", "reference/queues"))
