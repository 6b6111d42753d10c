"""What checks a clause."""

import inspect
from collections.abc import Iterator
from typing import NamedTuple

from pagedkv.conformance.faults.catalogue import all_faults
from pagedkv.conformance.proofs import contracts
from pagedkv.conformance.scheduling.life import WATCHED
from pagedkv.invariants.laws import LAWS
from pagedkv.invariants.worker import CHECKED
from pagedkv.spec.clauses import Clause


class Check(NamedTuple):
    """One way in which a break of a clause is noticed, or was shown to be."""

    kind: str
    meaning: str


def checks_of(clause: Clause) -> Iterator[Check]:
    """What checks a clause: laws, the worker, the watch over the scheduler, contracts; and planted faults."""
    for law in LAWS:
        if law.clause is clause:
            yield Check("law", law.meaning)
    if clause in CHECKED:
        yield Check("worker", "The worker compares what its memory holds after each step.")
    if clause in WATCHED:
        yield Check("watch", "Lives under the scheduler are held to it, move by move.")
    for contract in contracts.ALL:
        if clause in contract.clauses:
            yield Check("contract", (inspect.getdoc(contract.check) or contract.name).partition("\n")[0])
    for fault in all_faults():
        if clause in fault.clauses:
            yield Check("planted fault", fault.does)
