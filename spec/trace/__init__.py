"""Traces: what one life of a manager was, as data and as a file of JSON lines."""

from .codec import (
    BadContent,
    kind_name,
    move_from_json,
    move_to_json,
    outcome_from_json,
    outcome_to_json,
    world_from_json,
    world_to_json,
)
from .data import RecordedBreach, Step, Trace, TracedSubject
from .files import BadTrace, read_trace, trace_schema, write_trace

__all__ = [
    "BadContent",
    "BadTrace",
    "RecordedBreach",
    "Step",
    "Trace",
    "TracedSubject",
    "kind_name",
    "move_from_json",
    "move_to_json",
    "outcome_from_json",
    "outcome_to_json",
    "read_trace",
    "trace_schema",
    "world_from_json",
    "world_to_json",
    "write_trace",
]
