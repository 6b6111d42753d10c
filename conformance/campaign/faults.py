"""What makes two failing runs the same fault."""

from dataclasses import dataclass

from pagedkv.conformance.worlds import mix_of
from pagedkv.spec.clauses import Clause
from pagedkv.spec.moves import Move
from pagedkv.spec.trace import kind_name

from .runs import Run


@dataclass(frozen=True)
class Fault:
    """A clause that breaks in one kind of move with one mix of groups."""

    clause: Clause
    operation: str
    groups: str

    def __str__(self) -> str:
        return f"{self.clause.id} in {self.operation} with {self.groups}"


def operation_name(move: Move) -> str:
    """The kind of a move as traces write it: ``EndPass`` is ``end_pass``."""
    return kind_name(type(move))


def fault_of(run: Run) -> Fault:
    """What the run's last move broke first."""
    return Fault(run.breaches[0].clause, operation_name(run.moves[-1]), mix_of(run.world))
