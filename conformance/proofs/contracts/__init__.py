"""Statements about the pure rules, each against a definition that shares nothing with the rule."""

from . import caching, chunks, claims, demand, fits, hits, reach, retention, rows, sizes
from .contract import Contract

SUBJECTS = (sizes, reach, hits, fits, rows, claims, caching, retention, chunks, demand)
"""The modules of contracts, one per subject."""

ALL: tuple[Contract, ...] = tuple(contract for subject in SUBJECTS for contract in subject.CONTRACTS)
"""Every contract, in reading order."""

__all__ = ["ALL", "SUBJECTS", "Contract"]
