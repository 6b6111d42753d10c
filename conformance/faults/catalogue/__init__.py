"""The planted faults, by subject."""

from pagedkv.conformance.faults.fault import PlantedFault

from . import (
    admission,
    allocation,
    capacity,
    continuations,
    copies,
    counts,
    events,
    hashing,
    in_flight,
    index,
    keys,
    kinds,
    loads,
    lookup,
    passes,
    queue,
    retention,
    scheduling,
    scheduling_needs,
    torch_arguments,
    torch_copies,
    torch_counts,
    torch_events,
    torch_holders,
    torch_index,
    torch_kinds,
    torch_lookup,
    torch_passes,
    torch_ring,
    torch_rows,
    torch_tables,
    windows,
    withdrawal,
    zeroing,
)

_IN_MODEL = (
    counts,
    queue,
    index,
    hashing,
    continuations,
    lookup,
    windows,
    kinds,
    capacity,
    allocation,
    keys,
    copies,
    passes,
    withdrawal,
    loads,
    admission,
    zeroing,
    retention,
    in_flight,
    scheduling,
    events,
    scheduling_needs,
)
_IN_TENSORS = (
    torch_ring,
    torch_index,
    torch_holders,
    torch_rows,
    torch_counts,
    torch_tables,
    torch_lookup,
    torch_passes,
    torch_copies,
    torch_arguments,
    torch_kinds,
    torch_events,
)


def all_faults() -> tuple[PlantedFault, ...]:
    """Every planted fault in a fixed order, those of the model first."""
    return tuple(fault for subject in (*_IN_MODEL, *_IN_TENSORS) for fault in subject.FAULTS)
