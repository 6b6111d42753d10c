"""Every fault of a rule against the contracts that have to refute it."""

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module, invalidate_caches
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

from pagedkv.conformance.faults.patching import Patch, patched_package

from .contracts import SUBJECTS
from .enumeration import enumerate_cases
from .gate import ConditionResult, Verdict, check_contract, require_crosshair
from .rule_faults import ALL, RuleFault

_RULES = "pagedkv.spec.rules."


@dataclass(frozen=True)
class FaultResult:
    """What the contracts say of a rule with a fault."""

    fault: RuleFault
    results: tuple[ConditionResult, ...]

    @property
    def is_refuted(self) -> bool:
        """Whether each of the contracts that have to refute the fault has a counterexample."""
        return all(result.verdict is Verdict.REFUTED for result in self.results)

    def __str__(self) -> str:
        seconds = sum(result.seconds for result in self.results)
        row = f"{'refuted' if self.is_refuted else 'SURVIVES':13} {seconds:6.1f} s  {self.fault.name}"
        survived = [result for result in self.results if result.verdict is not Verdict.REFUTED]
        return "\n".join([row, *(f"    {result}" for result in survived)])


def search_faults(
    budget_per_condition: float = 120.0,
    jobs: int = 2,
    faults: Sequence[RuleFault] = ALL,
    report: Callable[[FaultResult], None] | None = None,
) -> list[FaultResult]:
    """Have CrossHair refute each fault in a copy of the package, ``jobs`` at a time.

    The budget is in CPU seconds per contract. Raises ``CrossHairMissing``.
    """
    require_crosshair()
    with ThreadPoolExecutor(jobs) as executor:
        futures = [executor.submit(_search, fault, budget_per_condition) for fault in faults]
        results = []
        for future in futures:
            results.append(future.result())
            if report is not None:
                report(results[-1])
    return results


def _search(fault: RuleFault, budget: float) -> FaultResult:
    with TemporaryDirectory() as folder:
        root = patched_package([fault.patch], Path(folder))
        return FaultResult(fault, tuple(check_contract(c, budget, root) for c in fault.refuted_by))


def prove_faults(printer: Callable[[str], None], budget_per_condition: float = 120.0, jobs: int = 2) -> bool:
    """Search every fault, print a row for each and a line that sums up; answers whether all are refuted."""
    results = search_faults(budget_per_condition, jobs, report=lambda result: printer(str(result)))
    refuted = sum(result.is_refuted for result in results)
    printer(f"{refuted} of {len(results)} faults refuted")
    return refuted == len(results)


def counterexamples(fault: RuleFault) -> dict[str, str]:
    """The counterexample of each contract that has to refute the fault, among its cases; empty for none."""
    with rules_with(fault.patch):
        return {c.name: enumerate_cases(c).counterexample for c in fault.refuted_by}


@contextmanager
def rules_with(patch: Patch) -> Iterator[None]:
    """Let the contracts of this process judge rules with the change, as long as the context is."""
    name = "pagedkv_with_a_fault_in_a_rule"
    originals = [(module, dict(vars(module))) for module in SUBJECTS]
    with TemporaryDirectory() as folder:
        sys.path.insert(0, str(patched_package([patch], Path(folder), name)))
        invalidate_caches()
        try:
            for module, names in originals:
                vars(module).update(_judged(names, name))
            yield
        finally:
            for module, names in originals:
                vars(module).update(names)
            sys.path.remove(folder)
            for loaded in [m for m in sys.modules if m == name or m.startswith(f"{name}.")]:
                del sys.modules[loaded]


def _judged(names: dict[str, object], package: str) -> dict[str, object]:
    """The functions among ``names`` that are rules, from another package."""
    return {
        name: getattr(_counterpart(value, package), name)
        for name, value in names.items()
        if callable(value) and not isinstance(value, type) and value.__module__.startswith(_RULES)
    }


def _counterpart(rule: Callable[..., object], package: str) -> ModuleType:
    return import_module(rule.__module__.replace("pagedkv", package, 1))
