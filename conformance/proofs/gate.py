"""CrossHair over every contract, each in a process of its own.

What counts is what CrossHair says of a function, not how its process ends: it ends well when it has
skipped a function or has not finished one.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from pagedkv.conformance.faults.patching import package_folder

from .contracts import ALL, SUBJECTS, Contract

SEARCH_BUDGET = 10.0
"""CPU seconds for a contract that is only searched."""


class CrossHairMissing(Exception):
    """CrossHair is not installed; the message says how to get it."""


class Verdict(Enum):
    """What became of a contract."""

    CONFIRMED = "confirmed"
    """It holds for every argument of its domain."""
    SEARCHED = "searched"
    """No counterexample in the time given, and the contract promises no more."""
    REFUTED = "refuted"
    UNCONFIRMED = "not confirmed"
    """No counterexample in the time given, though it ought to be confirmed."""
    NOT_ANALYSED = "not analysed"
    """CrossHair gave no verdict: it skipped the function, failed or took too long."""


@dataclass(frozen=True)
class ConditionResult:
    """The verdict on one contract."""

    name: str
    verdict: Verdict
    detail: str
    """The counterexample, or why it was only searched or not analysed."""
    seconds: float
    """Time on the clock."""

    @property
    def passes(self) -> bool:
        """Whether the contract stands as its table says."""
        return self.verdict in (Verdict.CONFIRMED, Verdict.SEARCHED)

    def __str__(self) -> str:
        row = f"{self.verdict.value:13} {self.seconds:6.1f} s  {self.name}"
        return f"{row}: {self.detail}" if self.detail else row


def run_gate(
    budget_per_condition: float = 120.0,
    jobs: int = 2,
    module_names: Sequence[str] | None = None,
    report: Callable[[ConditionResult], None] | None = None,
) -> list[ConditionResult]:
    """Check the contracts of these subjects, or of all, ``jobs`` at a time; answers in reading order.

    The budget is in CPU seconds per contract. ``report`` is called with each result as it comes, one call
    at a time. Raises ``CrossHairMissing``, and ``ValueError`` for a subject that there is not.
    """
    known = [subject.__name__.rpartition(".")[2] for subject in SUBJECTS]
    unknown = set(module_names or ()) - set(known)
    if unknown:
        raise ValueError(f"no contracts about {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    wanted = [contract for contract in ALL if module_names is None or contract.module in module_names]
    require_crosshair()
    with ThreadPoolExecutor(jobs) as executor:
        futures = [executor.submit(check_contract, contract, budget_per_condition) for contract in wanted]
        results = []
        for future in futures:
            results.append(future.result())
            if report is not None:
                report(results[-1])
    return results


def prove(
    printer: Callable[[str], None],
    budget_per_condition: float = 120.0,
    jobs: int = 2,
    module_names: Sequence[str] | None = None,
) -> bool:
    """Run the gate, print a row per contract and a line that sums up; answers whether all passes."""
    results = run_gate(budget_per_condition, jobs, module_names, lambda result: printer(str(result)))
    counts = [(verdict, sum(result.verdict is verdict for result in results)) for verdict in Verdict]
    printer(", ".join(f"{count} {verdict.value}" for verdict, count in counts if count))
    return all(result.passes for result in results)


def require_crosshair() -> None:
    """Raise ``CrossHairMissing`` unless it can be run."""
    if find_spec("crosshair") is None:
        raise CrossHairMissing("CrossHair is not installed; it comes with: pip install 'pagedkv[prove]'")


def check_contract(contract: Contract, budget: float, package_root: Path | None = None) -> ConditionResult:
    """Have CrossHair check one contract, in the package below ``package_root`` or in this one.

    The process may take ten times its budget of CPU seconds on the clock, since others may share the machine.
    """
    cpu_seconds = min(budget, SEARCH_BUDGET) if contract.searched else budget
    target = f"{contract.check.__module__}.{contract.check.__qualname__}"
    options = ("--analysis_kind=asserts", "--report_all", f"--per_condition_timeout={cpu_seconds}")
    command = [sys.executable, "-m", "crosshair", "check", target, *options]
    wall_limit = 60 + 10 * cpu_seconds
    started = time.monotonic()
    # An empty folder to run in: CrossHair would import from the present one before any other.
    with TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                env=_environment(package_root or package_folder().parent),
                capture_output=True,
                text=True,
                timeout=wall_limit,
                check=False,
            )
        except subprocess.TimeoutExpired:
            verdict, detail = Verdict.NOT_ANALYSED, f"no answer after {wall_limit:.0f} s"
        else:
            verdict, detail = classify(done.stdout, done.stderr, contract.searched)
    return ConditionResult(contract.name, verdict, detail, time.monotonic() - started)


def _environment(package_root: Path) -> dict[str, str]:
    """With this package first, and asserts in force."""
    path = [str(package_root), *filter(None, [os.environ.get("PYTHONPATH")])]
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONOPTIMIZE"}
    return {**kept, "PYTHONPATH": os.pathsep.join(path)}


def classify(output: str, errors: str, searched: str) -> tuple[Verdict, str]:
    """The verdict in what CrossHair printed about one contract, and what there is to say about it."""
    for line in output.splitlines():
        _, is_error, message = line.partition(": error: ")
        if is_error:
            return Verdict.REFUTED, message
    if "info: Confirmed over all paths." in output:
        return Verdict.CONFIRMED, ""
    if "info: Not confirmed." in output:
        return (Verdict.SEARCHED, searched) if searched else (Verdict.UNCONFIRMED, "")
    said = [line for line in (output + errors).splitlines() if line.strip()]
    return Verdict.NOT_ANALYSED, said[-1].strip() if said else "CrossHair said nothing"
