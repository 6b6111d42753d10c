"""A trace of requests as serving systems publish them: JSON lines, prompts as ids of 512-token blocks."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import NoReturn

from pagedkv.spec.trace.codec import told

HASH_TOKENS = 512
"""Tokens that a hash id of a trace stands for."""
MAX_HASH_ID = 2**53 - 1
"""The largest whole number that every JSON reader keeps exactly."""
MAX_INPUT = 10_000_000
MAX_OUTPUT = 1_000_000
MAX_LINE_BYTES = 4 * 2**20

_FIELDS = ("timestamp", "input_length", "output_length", "hash_ids")


class BadWorkload(Exception):
    """A trace that cannot be replayed; the message names file, line, value and rule."""

    def __init__(self, path: Path, line: int, rule: str) -> None:
        super().__init__(f"{path}, line {line}: {rule}")


@dataclass(frozen=True)
class TracedRequest:
    """One line."""

    line: int
    timestamp: float
    """When it arrived, in ms."""
    input_length: int
    """Tokens of the prompt."""
    output_length: int
    """Tokens that the model gave."""
    hash_ids: tuple[int, ...]
    """One for each started 512 tokens of the prompt; equal ids stand for equal tokens after equal ones."""


def read_requests(path: Path, limit: int | None = None) -> tuple[TracedRequest, ...]:
    """The first ``limit`` requests of the file, in order of arrival; equal times in order of lines.

    Empty lines and unknown fields are passed over. Changes nothing; raises ``BadWorkload``.
    """
    requests: list[TracedRequest] = []
    try:
        with path.open("rb") as file:
            for number, line in enumerate(iter(lambda: file.readline(MAX_LINE_BYTES + 1), b""), 1):
                if len(requests) == limit:
                    break
                if len(line) > MAX_LINE_BYTES:
                    raise BadWorkload(path, number, f"the line has more than {MAX_LINE_BYTES} bytes")
                if line.strip():
                    requests.append(_Line(path, number).request(line))
    except OSError as error:
        raise BadWorkload(path, 1, f"the file cannot be read ({error.strerror or error})") from error
    if not requests:
        raise BadWorkload(path, 1, "there is no request in the file, and a trace has at least one")
    return tuple(sorted(requests, key=lambda request: request.timestamp))


def trace_text(requests: Iterable[TracedRequest]) -> str:
    """The content of a file with these requests, a line each."""
    return "".join(
        json.dumps({name: getattr(request, name) for name in _FIELDS}) + "\n" for request in requests
    )


class _Line:
    """Where in a file one is, for the sentences of refusals."""

    def __init__(self, path: Path, number: int) -> None:
        self._path = path
        self._number = number

    def request(self, line: bytes) -> TracedRequest:
        """The request that the line tells of."""
        content = self._json(line)
        if not isinstance(content, dict) or not content.keys() >= set(_FIELDS):
            lacking = [name for name in _FIELDS if name not in content] if isinstance(content, dict) else []
            what = f"an object without `{lacking[0]}`" if lacking else told(content)
            self._refuse(f"the line is {what}, and it has to be an object with {', '.join(_FIELDS)}")
        timestamp = content["timestamp"]
        if (
            type(timestamp) not in (int, float)
            or not isfinite(timestamp)
            or not 0 <= timestamp <= MAX_HASH_ID
        ):
            self._refuse_value("timestamp", timestamp, f"a number of ms from 0 to {MAX_HASH_ID}")
        input_length = self._whole("input_length", content["input_length"], 1, MAX_INPUT)
        output_length = self._whole("output_length", content["output_length"], 0, MAX_OUTPUT)
        hash_ids = content["hash_ids"]
        if not isinstance(hash_ids, list):
            self._refuse_value("hash_ids", hash_ids, "a list of whole numbers")
        started = -(-input_length // HASH_TOKENS)
        if len(hash_ids) != started:
            self._refuse(
                f"`hash_ids` has {len(hash_ids)} entries, and {input_length} tokens are {started} started "
                f"blocks of {HASH_TOKENS}"
            )
        ids = tuple(self._whole(f"hash_ids[{i}]", e, 0, MAX_HASH_ID) for i, e in enumerate(hash_ids))
        return TracedRequest(self._number, timestamp, input_length, output_length, ids)

    def _whole(self, field: str, value: object, least: int, most: int) -> int:
        if type(value) is not int or not least <= value <= most:
            self._refuse_value(field, value, f"a whole number from {least} to {most}")
        return value

    def _json(self, line: bytes) -> object:
        try:
            return json.loads(line.decode("utf-8-sig"))
        except RecursionError:
            self._refuse("the line is nested too deep")
        except json.JSONDecodeError as error:
            self._refuse(f"the line is not JSON ({error.msg} at character {error.pos + 1})")
        except UnicodeDecodeError as error:
            self._refuse(f"the line is not JSON (not UTF-8 at byte {error.start + 1})")
        except ValueError:
            self._refuse("the line has a number of thousands of digits")

    def _refuse_value(self, field: str, value: object, rule: str) -> NoReturn:
        self._refuse(f"`{field}` is {told(value)}, and it has to be {rule}")

    def _refuse(self, rule: str) -> NoReturn:
        raise BadWorkload(self._path, self._number, rule)
