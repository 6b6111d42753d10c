"""The schema and the reader say the same of every line that is not about other lines."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from pagedkv.spec.trace import BadTrace, Step, read_trace, trace_schema, write_trace

from .trace_samples import EVENTS, FOUND, MOVES, OUTCOMES, TRACE

OTHERS: tuple[object, ...] = (None, True, 1, "x", [], [True], {}, {"kind": "nothing"})
"""What is put in the place of every value."""

NUMBERS = (
    *(-1, 0, 2, 63, 64, 1000, 1001, 100_000, 100_001, 1_000_000, 1_000_001),
    *(2**63 - 1, 2**63, -(2**63), -(2**63) - 1),
)
"""What is put in the place of a number: both sides of every bound."""

TEXTS = ("", "Pool/other", "12.0", "full", "none", "\ud800", *(n * "y" for n in (200, 201, 10_000, 10_001)))
"""What is put in the place of a text."""

LENGTHS = (0, 1, 2, 16, 17, 64, 65)
"""How long every list is made."""

ABOUT_MORE = ("tells of", "the next", "the world is", "`world` is contradictory")
"""Words of refusals that no schema of one line can give."""


@pytest.fixture(scope="module")
def schema() -> Draft202012Validator:
    """The schema, itself held to that of schemas."""
    Draft202012Validator.check_schema(trace_schema())
    return Draft202012Validator(trace_schema())


def lines_of(path: Path, steps: tuple[Step, ...]) -> list[Any]:
    """The lines of a trace of these steps."""
    write_trace(path, replace(TRACE, steps=steps))
    return [json.loads(line) for line in path.read_text().splitlines()]


def changed(value: Any) -> Iterator[Any]:
    """Other values in its place, and itself with one place changed, for every place in it."""
    yield from OTHERS
    if isinstance(value, str):
        yield from TEXTS
    elif isinstance(value, dict):
        for name in value:
            yield {other: value[other] for other in value if other != name}
            yield from ({**value, name: new} for new in changed(value[name]))
        yield {**value, "unknown": 1}
    elif isinstance(value, list):
        for new in changed(value[0]) if value else ():
            yield [new, *value[1:]]
        yield from (value[:1] * length for length in LENGTHS)
    elif type(value) is int:
        yield from NUMBERS


def verdicts(path: Path, schema: Draft202012Validator, lines: list[Any], place: int) -> tuple[bool, bool]:
    """What the schema says of a line, and what the reader says of the file."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    try:
        read_trace(path)
        is_read = True
    except BadTrace as refusal:
        is_read = any(words in str(refusal) for words in ABOUT_MORE)
    return schema.is_valid(lines[place]), is_read


def test_written_traces_satisfy_the_schema(tmp_path: Path, schema: Draft202012Validator) -> None:
    for line in lines_of(tmp_path / "a.jsonl", TRACE.steps):
        schema.validate(line)


def test_headers_are_judged_the_same(tmp_path: Path, schema: Draft202012Validator) -> None:
    header, step = lines_of(tmp_path / "a.jsonl", TRACE.steps[:1])
    judged = []
    for other in changed(header):
        by_schema, by_reader = verdicts(tmp_path / "b.jsonl", schema, [other, step], 0)
        assert by_schema == by_reader, json.dumps(other)[:3000]
        judged.append(by_schema)
    assert judged.count(False) > 500
    assert judged.count(True) > 100


PARTS = [
    *(("move", Step(move, None)) for move in MOVES),
    *(("outcome", Step(MOVES[1], outcome)) for outcome in OUTCOMES),
    ("lawful", Step(MOVES[1], None, (FOUND,))),
    *(("events", Step(MOVES[1], None, (), (event,))) for event in EVENTS),
    ("step", Step(MOVES[1], None)),
]


@pytest.mark.parametrize(("part", "step"), PARTS, ids=repr)
def test_steps_are_judged_the_same(
    tmp_path: Path, schema: Draft202012Validator, part: str, step: Step
) -> None:
    header, line = lines_of(tmp_path / "a.jsonl", (step,))
    others = [{**line, part: new} for new in changed(line[part])]
    others += [{name: line[name] for name in line if name != part}, {**line, "unknown": 1}]
    judged = []
    for other in others:
        by_schema, by_reader = verdicts(tmp_path / "b.jsonl", schema, [header, other], 1)
        assert by_schema == by_reader, json.dumps(other)[:3000]
        judged.append(by_schema)
    assert False in judged
    # Of what has no fields everything else is wrong.
    assert True in judged or not (set(line[part]) - {"kind"})


@pytest.mark.parametrize(("name", "most"), [("tokens", 100_000), ("images", 1000)])
def test_the_longest_lists_of_a_prompt(tmp_path: Path, name: str, most: int) -> None:
    header, step = lines_of(tmp_path / "a.jsonl", TRACE.steps[:1])
    prompt = header["world"]["prompts"][0]
    prompt[name] = prompt[name][:1] * most
    path = tmp_path / "b.jsonl"
    path.write_text(f"{json.dumps(header)}\n{json.dumps(step)}\n")
    assert len(getattr(read_trace(path).world.prompts[0], name)) == most
    prompt[name].append(prompt[name][0])
    path.write_text(f"{json.dumps(header)}\n{json.dumps(step)}\n")
    with pytest.raises(BadTrace, match=f"{name}` is a list of {most + 1}, and it has to be a list of"):
        read_trace(path)
    # Checking so many entries by the schema takes seconds.
    assert trace_schema()["$defs"]["prompt"]["properties"][name]["maxItems"] == most


def test_no_list_has_more_than_a_million_entries(tmp_path: Path) -> None:
    header, line = lines_of(tmp_path / "a.jsonl", (Step(MOVES[7], None),))
    line["move"]["blocks"] = [0] * 1_000_001
    path = tmp_path / "b.jsonl"
    path.write_text(json.dumps(header) + "\n" + json.dumps(line, separators=(",", ":")) + "\n")
    with pytest.raises(BadTrace, match="blocks` is a list of 1000001, and it has to be a list of 0 to"):
        read_trace(path)


def parts_of(schema: Any) -> Iterator[dict[str, Any]]:
    """Every schema inside a schema."""
    if isinstance(schema, dict):
        yield schema
    for part in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from parts_of(part)


def test_the_schema_bounds_every_size() -> None:
    bounds = {
        "integer": {"minimum", "maximum"},
        "string": {"maxLength", "pattern"},
        "array": {"items", "maxItems"},
        "object": {"properties", "required", "additionalProperties"},
    }
    parts = [part for part in parts_of(trace_schema()) if isinstance(part.get("type"), str)]
    assert len(parts) > 40
    for part in parts:
        assert bounds.get(part["type"], set()) <= set(part), part
        assert part.get("additionalProperties", False) is False
        assert part.get("maxItems", 0) <= 1_000_000
