"""Faults of the rules, and the contracts that have to refute each."""

from . import caching, chunks, claims, demand, fits, hits, reach, retention, rows, sizes
from .fault import RuleFault

ALL: tuple[RuleFault, ...] = (
    *sizes.FAULTS,
    *reach.FAULTS,
    *hits.FAULTS,
    *fits.FAULTS,
    *rows.FAULTS,
    *claims.FAULTS,
    *caching.FAULTS,
    *retention.FAULTS,
    *chunks.FAULTS,
    *demand.FAULTS,
)
"""Every fault, by the file of the rule."""

__all__ = ["ALL", "RuleFault"]
