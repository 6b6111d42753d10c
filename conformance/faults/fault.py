"""What a planted fault is."""

from collections.abc import Callable
from dataclasses import dataclass, field

from pagedkv.conformance.worlds import MIXES
from pagedkv.spec import World
from pagedkv.spec.clauses import Clause

from .patching import Patch


def every_world(world: World) -> bool:
    """No choice among worlds."""
    return True


@dataclass(frozen=True)
class Unrelated:
    """Runs in which a fault must not show."""

    mixes: tuple[str, ...] = MIXES
    worlds: Callable[[World], bool] = every_world
    """Which worlds are taken."""
    avoid: tuple[str, ...] = ()
    """Which moves are left out, by the capability that they need."""


@dataclass(frozen=True)
class PlantedFault:
    """A change in one place of specification or reference that breaks a clause."""

    name: str
    does: str
    """What it does, in one line."""
    stands_for: str
    """The kind of fault that users of such managers have met."""
    patch: Patch
    clauses: tuple[Clause, ...]
    """The first breach that is reported is of one of these."""
    unrelated: Unrelated | str
    """Where it must not show, or why it shows everywhere."""
    why_several: str = ""
    """Why the first breach may be of several clauses."""
    also: tuple[Clause, ...] = ()
    """Clauses whose checks find it in the same move too."""
    mixes: tuple[str, ...] = field(default=MIXES)
    """The mixes of groups in which it is looked for."""
    tells_state: bool = True
    """Whether the faulty manager shows its state. If not, the worker alone has to find the fault."""
    shortest: int | None = None
    """The fewest operations that show it, where exhaustive search has shown that they are more than twelve."""
