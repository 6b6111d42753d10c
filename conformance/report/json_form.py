"""A report as JSON. ``report.schema.json`` has the form."""

import os
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pagedkv.conformance import coverage
from pagedkv.conformance.campaign.campaign import Exit, Finding
from pagedkv.conformance.campaign.expectations import Expectation
from pagedkv.conformance.explain import replay_command
from pagedkv.conformance.wording import printable, step_in_words
from pagedkv.spec import SPEC_VERSION

from .behaviours import are_counted
from .report import Report

_VERDICTS = {
    Exit.FOUND_NOTHING: "nothing unexpected",
    Exit.FOUND_FAULTS: "faults",
    Exit.COULD_NOT_RUN: "stopped",
    Exit.INTERRUPTED: "interrupted",
}


def report_as_json(report: Report, folder: Path) -> dict[str, Any]:
    """The report as JSON values; paths of traces are relative to ``folder``."""
    subject, asked, verdict = report.subject, report.asked, report.verdict
    return {
        "format": "pagedkv-report",
        "format_version": 1,
        "pagedkv_version": version("pagedkv"),
        "spec_version": SPEC_VERSION,
        "subject": {"name": subject.name, "version": subject.version, "strictness": subject.strictness},
        "asked": {
            "profile": asked.profile,
            "operations": asked.operations,
            "seed": asked.seed,
            "groups": list(asked.mixes),
            "jobs": asked.jobs,
            "seconds_per_operation": asked.seconds_per_operation,
            "avoided": sorted({line.avoid for line in asked.expectations if line.avoid}),
        },
        "verdict": _VERDICTS[report.exit_code],
        "exit_code": int(report.exit_code),
        "stopped": printable(report.stopped) or None,
        "seconds": round(report.seconds, 3),
        "operations": verdict.operations,
        "runs": verdict.runs,
        "masked_runs": verdict.masked_runs,
        "faults": [_fault(report, finding, folder) for finding in verdict.findings.values()],
        "unmatched_expectations": [_expectation(line) for line in verdict.unmatched],
        "mixes": [{"groups": mix, **row} for mix, row in report.mixes.items()],
        "untaken_mixes": [{"groups": mix, "reason": reason} for mix, reason in verdict.untaken.items()],
        "behaviours": {name: verdict.shown[name] for name in coverage.ALL} if are_counted(subject) else None,
        "not_shown": list(report.not_shown),
        "skipped": [{"capability": name, "reason": reason} for name, reason in subject.missing.items()],
        "refused_worlds": [{"reason": reason, "worlds": count} for reason, count in report.refused.items()],
    }


def _fault(report: Report, finding: Finding, folder: Path) -> dict[str, Any]:
    fault, run = finding.fault, finding.run
    last = len(run.moves) - 1
    outcomes = (*run.outcomes, *[None] * (len(run.moves) - len(run.outcomes)))
    trace = report.traces[fault]
    return {
        "clause": fault.clause.id,
        "rule": fault.clause.text,
        "operation": fault.operation,
        "groups": fault.groups,
        "because": printable(run.breaches[0].because),
        "times": finding.times,
        "run": finding.number,
        "is_minimal": finding.is_minimal,
        "steps": [
            printable(step_in_words(move, outcome, number == last))
            for number, (move, outcome) in enumerate(zip(run.moves, outcomes, strict=True))
        ],
        "trace": Path(os.path.relpath(trace, folder)).as_posix(),
        "again": replay_command(trace, report.subject.name),
        "expected": _expectation(finding.expected) if finding.expected else None,
    }


def _expectation(line: Expectation) -> dict[str, str]:
    return {
        "clause": line.clause,
        "operation": line.operation,
        "groups": line.groups,
        "reason": line.reason,
        "link": line.link,
        "avoid": line.avoid,
    }
