"""The search for a planted fault, as a campaign of the quick profile would find it."""

from dataclasses import dataclass
from time import perf_counter

from pagedkv.conformance.campaign.campaign import PROFILES
from pagedkv.conformance.campaign.expectations import Avoided
from pagedkv.conformance.campaign.runs import Avoids, Run, random_run
from pagedkv.conformance.campaign.smallest import smallest
from pagedkv.conformance.subjects import Subject
from pagedkv.invariants.breach import Breach
from pagedkv.spec.clauses import Clause

from .fault import PlantedFault, Unrelated
from .subject import faulty_subject

UNRELATED_OPERATIONS = 200
"""How many operations a fault has to pass where it must not show."""


@dataclass(frozen=True)
class HuntResult:
    """What became of one planted fault."""

    fault: PlantedFault
    found: bool
    """Whether the first breach was of one of the clauses that the fault breaks."""
    clause: Clause | None
    """The clause of the first breach, None if there was no breach within the budget."""
    operations: int
    """Calls on the manager in the smallest run that shows it; without one, those made in vain."""
    run: Run | None
    """The smallest run that shows it."""
    shown_elsewhere: Breach | None
    """What broke in runs in which it must not show."""
    seconds: float


def hunt(fault: PlantedFault, seed: int = 0, budget: int = PROFILES["quick"]) -> HuntResult:
    """Look for the fault over at least ``budget`` operations, until the first breach.

    The same arguments find the same. Raises ``BadPatch`` when the fault does not fit the package.
    """
    started = perf_counter()
    with faulty_subject(fault) as subject:
        elsewhere = None
        if isinstance(fault.unrelated, Unrelated):
            where = fault.unrelated
            elsewhere, _ = _first_breach(subject, seed, where.mixes, where, UNRELATED_OPERATIONS)
        run, operations = _first_breach(subject, seed, fault.mixes, Avoided(frozenset()), budget)
        if run:
            run = smallest(run, subject)
            operations = run.operations
    clause = run.breaches[0].clause if run else None
    return HuntResult(
        fault,
        clause in fault.clauses,
        clause,
        operations,
        run,
        elsewhere.breaches[0] if elsewhere else None,
        perf_counter() - started,
    )


def _first_breach(
    subject: Subject, seed: int, mixes: tuple[str, ...], avoided: Avoids, budget: int
) -> tuple[Run | None, int]:
    """The first run that breaks a clause, and the operations up to then."""
    operations = number = 0
    while operations < budget:
        run = random_run(subject, seed, number, mixes, avoided)
        operations += run.operations
        number += 1
        if run.breaches:
            return run, operations
    return None, operations
