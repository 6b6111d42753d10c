"""The files of a check: one trace for each fault, and ``report.json``."""

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

from pagedkv.conformance.campaign.faults import Fault
from pagedkv.conformance.replay import trace_of_run
from pagedkv.spec.trace import write_trace

from .json_form import report_as_json
from .report import Report


def trace_name(subject: str, fault: Fault) -> str:
    """The name of the file with a fault's trace: the same in every check of the subject."""
    parts = (subject[-60:], fault.clause.id, fault.operation, fault.groups)
    return "-".join(re.sub(r"[^A-Za-z0-9]+", "_", part).strip("_") for part in parts) + ".jsonl"


def write_traces(report: Report) -> None:
    """Write the traces that the report names. Raises ``OSError``."""
    for fault, path in report.traces.items():
        finding = report.verdict.findings[fault]
        path.parent.mkdir(parents=True, exist_ok=True)
        write_trace(path, trace_of_run(finding.run, report.subject, report.asked.seed, finding.number))


def write_report(report: Report, folder: Path) -> Path:
    """Write ``report.json`` into the folder; answers where it is. Raises ``OSError``."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "report.json"
    path.write_text(json.dumps(report_as_json(report, folder), indent=2) + "\n", encoding="utf-8")
    return path


def report_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of ``report.json``."""
    text = files("pagedkv.conformance.report").joinpath("report.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema
