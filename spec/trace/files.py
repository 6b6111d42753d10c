"""Traces as files of JSON lines, one for the header and one for each step: see ``trace.schema.json``."""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import IO, Any, Literal, NoReturn

from pagedkv.spec.event_names import EventName
from pagedkv.spec.moves import Move
from pagedkv.spec.outcomes import Outcome
from pagedkv.spec.world import World

from .codec import BadContent, check_world, from_json, to_json, told
from .data import RecordedBreach, Step, Trace, TracedSubject
from .limits import MAX_FILE_BYTES, MAX_LINE_BYTES

FORMAT: Literal["pagedkv-trace"] = "pagedkv-trace"
FORMAT_VERSION: Literal[1] = 1

_COPY_AGAIN = "copy it again from where it was written"
_OFTEN_EMPTY: dict[str, list[object]] = {"lawful": [], "events": []}
_NOT_BY_HAND = "take the file as it was written, or correct this line"


class BadTrace(Exception):
    """A file that is no trace; the message names file, line, the rule and what to do."""

    def __init__(self, path: Path, line: int, rule: str, remedy: str) -> None:
        super().__init__(f"{path}, line {line}: {rule}; {remedy}")


@dataclass(frozen=True)
class Header:
    """The first line."""

    format: Literal["pagedkv-trace"]
    format_version: Literal[1]
    spec_version: str
    subject: TracedSubject
    seed: int
    number: int
    world: World
    breach: RecordedBreach | None
    steps: int
    """How many lines follow: a file that lost its end is known by it."""


@dataclass(frozen=True)
class Line:
    """Any further line."""

    step: int
    move: Move
    outcome: Outcome | None
    lawful: tuple[Outcome, ...]
    """Left out where empty."""
    events: tuple[EventName, ...]
    """Left out where empty."""


def trace_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of one line."""
    text = files("pagedkv.spec").joinpath("trace.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def write_trace(path: Path, trace: Trace) -> None:
    """Write the trace, in place of what is there; a reader never sees half of it.

    Raises ``BadTrace``, writing nothing, for a trace that could not be read back, and ``OSError``.
    """
    lines: list[bytes] = []
    try:
        for content in _contents(trace):
            lines.append(json.dumps(content, separators=(",", ":"), allow_nan=False).encode() + b"\n")
    except BadContent as error:
        raise BadTrace(path, len(lines) + 1, f"cannot be written: {error}", "leave it out") from None
    _parse(path, iter(lines))
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        unfinished.write_bytes(b"".join(lines))
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def read_trace(path: Path) -> Trace:
    """The trace in a file. Changes nothing, imports nothing; raises ``BadTrace``."""
    try:
        with path.open("rb") as file:
            return _parse(path, _lines(file))
    except OSError as error:
        reason = error.strerror or str(error)
        raise BadTrace(path, 1, f"the file cannot be read ({reason})", "name one that can") from error


def _contents(trace: Trace) -> Iterator[dict[str, Any]]:
    yield to_json(
        Header(
            FORMAT,
            FORMAT_VERSION,
            trace.spec_version,
            trace.subject,
            trace.seed,
            trace.number,
            trace.world,
            trace.breach,
            len(trace.steps),
        )
    )
    for number, step in enumerate(trace.steps, 1):
        content = to_json(Line(number, step.move, step.outcome, step.lawful, step.events))
        yield {name: part for name, part in content.items() if part or name not in _OFTEN_EMPTY}


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    # One byte more than a line may have shows that it is longer.
    while line := file.readline(MAX_LINE_BYTES + 1):
        yield line


def _parse(path: Path, lines: Iterator[bytes]) -> Trace:
    reader = _Reader(path, lines)
    header = reader.header()
    steps = []
    for number in range(1, header.steps + 1):
        line = reader.step(header.steps)
        if line.step != number:
            reader.refuse(f"`step` is {line.step}, and it has to be {number}, the next", _COPY_AGAIN)
        steps.append(Step(line.move, line.outcome, line.lawful, line.events))
    reader.expect_end(header.steps)
    return Trace(
        header.subject,
        header.seed,
        header.number,
        header.world,
        tuple(steps),
        header.breach,
        header.spec_version,
    )


class _Reader:
    """Where in a file one is, for the sentences of refusals."""

    def __init__(self, path: Path, lines: Iterator[bytes]) -> None:
        self._path = path
        self._lines = lines
        self._number = 0
        self._bytes = 0

    def refuse(self, rule: str, remedy: str) -> NoReturn:
        """Raise ``BadTrace`` for the present line."""
        raise BadTrace(self._path, max(self._number, 1), rule, remedy)

    def header(self) -> Header:
        """The first line."""
        line = self._next()
        if line is None:
            self.refuse("the file is empty, and a trace starts with a header", _COPY_AGAIN)
        content = self._json(line)
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            self.refuse(
                f'a trace starts with a header that has "format": "{FORMAT}"', "name a file that is one"
            )
        version = content.get("format_version")
        if type(version) is not int or version != FORMAT_VERSION:
            rule = f"`format_version` is {told(version)}, and this program reads {FORMAT_VERSION}"
            self.refuse(rule, "read it with the release of pagedkv that wrote it")
        try:
            header = from_json(content, Header, "header")
            check_world(header.world)
        except BadContent as error:
            self.refuse(str(error), _NOT_BY_HAND)
        return header

    def step(self, expected: int) -> Line:
        """One further line."""
        line = self._next()
        if line is None:
            rule = f"the header tells of {expected} steps, and the file ends after line {self._number}"
            self.refuse(rule, _COPY_AGAIN)
        content = self._json(line)
        if isinstance(content, dict):
            content = {**_OFTEN_EMPTY, **content}
        try:
            return from_json(content, Line, "line")
        except BadContent as error:
            self.refuse(str(error), _NOT_BY_HAND)

    def expect_end(self, steps: int) -> None:
        """Refuse anything that follows."""
        if self._next() is not None:
            self.refuse(f"the header tells of {steps} steps, and more lines follow", _NOT_BY_HAND)

    def _next(self) -> bytes | None:
        line = next(self._lines, None)
        if line is None:
            return None
        self._number += 1
        self._bytes += len(line)
        if len(line) > MAX_LINE_BYTES:
            self.refuse(f"a line has at most {MAX_LINE_BYTES} bytes", _NOT_BY_HAND)
        if self._bytes > MAX_FILE_BYTES:
            self.refuse(f"a trace has at most {MAX_FILE_BYTES} bytes", "keep a shorter run")
        if not line.endswith(b"\n"):
            self.refuse("the line has no end, so the file was cut", _COPY_AGAIN)
        return line

    def _json(self, line: bytes) -> object:
        try:
            return json.loads(
                line.decode(),
                object_pairs_hook=_object,
                parse_float=_refuse_number,
                parse_constant=_refuse_number,
            )
        except RecursionError:
            self.refuse("the line is nested too deep", _NOT_BY_HAND)
        except json.JSONDecodeError as error:
            self.refuse(f"the line is not JSON ({error.msg} at character {error.pos + 1})", _NOT_BY_HAND)
        except ValueError as error:
            # What is no UTF-8, numbers with thousands of digits, and what the functions below refuse.
            self.refuse(f"the line is not JSON as a trace has it ({error})", _NOT_BY_HAND)


def _object(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    content = dict(pairs)
    if len(content) != len(pairs):
        raise ValueError("an object names a field twice")
    return content


def _refuse_number(text: str) -> NoReturn:
    raise ValueError(f"{text[:60]} is no whole number")
