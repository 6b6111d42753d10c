"""What a fault of a rule is."""

from collections.abc import Callable
from dataclasses import dataclass

from pagedkv.conformance.faults.patching import Patch
from pagedkv.conformance.proofs.contracts import ALL, Contract

_BY_CHECK = {contract.check: contract for contract in ALL}


@dataclass(frozen=True)
class RuleFault:
    """A change in one place of a rule, which contracts have to refute."""

    name: str
    does: str
    """What it does, in one line."""
    patch: Patch
    refuted_by: tuple[Contract, ...]
    """Each of these has a counterexample, by trying its cases and by search."""


def planted(
    file: str, name: str, does: str, old: str, new: str, refuted_by: tuple[Callable[..., None], ...]
) -> RuleFault:
    """The fault that puts ``new`` for ``old`` in a file of the rules; contracts are named by their checks."""
    patch = Patch(f"spec/rules/{file}", old, new)
    return RuleFault(name, does, patch, tuple(_BY_CHECK[check] for check in refuted_by))
