"""The planted faults, by subject."""

from pagedkv.conformance.faults.fault import PlantedFault

from . import (
    allocation,
    capacity,
    copies,
    counts,
    hashing,
    index,
    keys,
    lookup,
    passes,
    queue,
    windows,
    withdrawal,
)

_SUBJECTS = (
    counts,
    queue,
    index,
    hashing,
    lookup,
    windows,
    capacity,
    allocation,
    keys,
    copies,
    passes,
    withdrawal,
)


def all_faults() -> tuple[PlantedFault, ...]:
    """Every planted fault, in a fixed order."""
    return tuple(fault for subject in _SUBJECTS for fault in subject.FAULTS)
