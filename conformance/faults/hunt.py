"""The search for a planted fault, as a campaign of the quick profile would find it."""

from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter

from pagedkv.conformance.campaign.campaign import PROFILES
from pagedkv.conformance.campaign.expectations import Avoided
from pagedkv.conformance.campaign.minimise import is_same
from pagedkv.conformance.campaign.runs import Avoids, Run, is_scheduled, random_run
from pagedkv.conformance.campaign.smallest import smallest
from pagedkv.conformance.subjects import Subject
from pagedkv.invariants.breach import Breach
from pagedkv.spec.clauses import Clause

from .fault import PlantedFault, Unrelated
from .subject import faulty_subject

MAX_OPERATIONS = 12
"""The longest run that still tells a person at a glance what is wrong."""

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
    """Calls on the manager in the run that shows it; without one, those made in vain."""
    run: Run | None
    """The smallest run that shows it, or the first."""
    shown_elsewhere: Breach | None
    """What broke in runs in which it must not show."""
    seconds: float


def hunt(
    fault: PlantedFault, seed: int = 0, budget: int = PROFILES["quick"], shortens: bool = True
) -> HuntResult:
    """Look for the fault over at least ``budget`` operations, until a run that a person can follow shows it.

    Not ``shortens``, or a fault of the scheduler: until any run shows it, which is answered as it is.
    The same arguments find the same. Raises ``BadPatch`` when the fault does not fit the package, and
    ``SubjectUnavailable`` when it is one of the torch manager and torch is not installed.
    """
    started = perf_counter()
    shortens = shortens and not fault.is_in_scheduler
    elsewhere = best = None
    with faulty_subject(fault) as subject:
        where = fault.unrelated
        if isinstance(where, Unrelated):
            runs = _runs(subject, seed, where.mixes, where.options, where, UNRELATED_OPERATIONS)
            elsewhere = next((run.breaches[0] for run in runs if run.breaches), None)
        operations = 0
        nothing = Avoided(frozenset())
        for run in _runs(subject, seed, fault.mixes, fault.options, nothing, budget, fault.is_in_scheduler):
            operations += run.operations
            if run.breaches and (best is None or is_same(run, best)):
                shorter = smallest(run, subject) if shortens else run
                best = min(shorter, best or run, key=lambda run: run.operations)
                if not shortens or best.operations <= (fault.shortest or MAX_OPERATIONS):
                    break
    clause = best.breaches[0].clause if best else None
    return HuntResult(
        fault,
        clause in fault.clauses,
        clause,
        best.operations if best else operations,
        best,
        elsewhere,
        perf_counter() - started,
    )


def _runs(
    subject: Subject,
    seed: int,
    mixes: tuple[str, ...],
    options: tuple[str, ...],
    avoided: Avoids,
    budget: int,
    only_scheduled: bool = False,
) -> Iterator[Run]:
    """The runs of a campaign, until they have spent the budget; all, or those under the scheduler."""
    number = operations = 0
    while operations < budget:
        # Moves at random show what an option does to a manager in fewer operations.
        if is_scheduled(number) if only_scheduled else not (options and is_scheduled(number)):
            run = random_run(subject, seed, number, mixes, avoided, options=options)
            operations += run.operations
            yield run
        number += 1
