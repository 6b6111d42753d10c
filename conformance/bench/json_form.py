"""A result as JSON. ``bench.schema.json`` has the form."""

from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from pagedkv.spec import SPEC_VERSION

from .bench import Asked, Result
from .candidate import Candidate
from .machine import Machine
from .memory import DOES, NUM_BLOCKS
from .timing import WARM_UP, CaseResult


def result_as_json(
    asked: Asked, candidates: Sequence[Candidate], machine: Machine, result: Result
) -> dict[str, Any]:
    """The result as JSON values."""
    footprints = [asdict(memory) for memory in result.memory]
    return {
        "format": "pagedkv-bench",
        "format_version": 1,
        "pagedkv_version": version("pagedkv"),
        "spec_version": SPEC_VERSION,
        "against": asked.against,
        "device": asked.device,
        "rounds": asked.rounds,
        "warm_up_rounds": WARM_UP,
        "machine": asdict(machine),
        "candidates": [{"name": candidate.name, "version": candidate.version} for candidate in candidates],
        "cases": [_case(case) for case in result.cases],
        "memory": {"does": DOES, "num_blocks": NUM_BLOCKS, "footprints": footprints} if footprints else None,
        "stopped": result.stopped,
        "wrong_answer": result.wrong_answer or None,
    }


def _case(result: CaseResult) -> dict[str, Any]:
    case = result.case
    return {
        "name": case.name,
        "does": case.does,
        "unit": case.unit,
        "units": case.units,
        "rounds": result.rounds,
        "timings": [asdict(timing) for timing in result.timings],
    }
