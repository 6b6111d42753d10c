"""What is no trace is refused with one sentence, and nothing else happens."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagedkv.spec.trace import BadTrace, Trace, read_trace, write_trace
from pagedkv.spec.trace.limits import MAX_FILE_BYTES

from .trace_samples import TRACE

STEPS = len(TRACE.steps)

Change = Callable[[list[bytes]], list[bytes]]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """The lines of a good file."""
    path = tmp_path_factory.mktemp("whole") / "a.jsonl"
    write_trace(path, TRACE)
    return path.read_bytes().splitlines(keepends=True)


def refusal_of(path: Path) -> str:
    """The sentence with which a file is refused."""
    with pytest.raises(BadTrace) as refusal:
        read_trace(path)
    sentence = str(refusal.value)
    assert sentence.startswith(f"{path}, line ")
    assert sentence.isprintable()
    rule, _, remedy = sentence.partition("; ")
    assert rule and remedy
    return sentence.removeprefix(f"{path}, ")


def with_header(**fields: Any) -> Change:
    """Change fields of the header."""
    return lambda lines: [json.dumps({**json.loads(lines[0]), **fields}).encode() + b"\n", *lines[1:]]


def with_world(**fields: Any) -> Change:
    """Change fields of the world."""
    return lambda lines: with_header(world={**json.loads(lines[0])["world"], **fields})(lines)


def with_prompt(**fields: Any) -> Change:
    """Change fields of the first prompt."""

    def change(lines: list[bytes]) -> list[bytes]:
        first, *others = json.loads(lines[0])["world"]["prompts"]
        return with_world(prompts=[{**first, **fields}, *others])(lines)

    return change


def second_line(text: str) -> Change:
    """Put another text in place of the first step."""
    return lambda lines: [lines[0], text.encode() + b"\n", *lines[2:]]


def in_second_line(old: str, new: str) -> Change:
    """Replace a part of the first step."""
    return lambda lines: [lines[0], lines[1].replace(old.encode(), new.encode()), *lines[2:]]


GROUP = {"kind": "mamba", "block_size": 4, "eagle": False, "speculative": 0, "variant": 1, "reach": 0}

REFUSED: dict[str, tuple[Change, str]] = {
    "an empty file": (lambda lines: [], "line 1: the file is empty"),
    "another format": (with_header(format="x"), 'line 1: a trace starts with a header that has "format"'),
    "no object at all": (lambda lines: [b"[]\n", *lines[1:]], "line 1: a trace starts with a header"),
    "a later format": (
        with_header(format_version=2),
        "line 1: `format_version` is 2, and this program reads 1",
    ),
    "a format version of another type": (with_header(format_version=True), "`format_version` is true"),
    "a cut last line": (
        lambda lines: [*lines[:-1], lines[-1][:-1]],
        f"line {STEPS + 1}: the line has no end",
    ),
    "lost last lines": (
        lambda lines: lines[:-2],
        f"line {STEPS - 1}: the header tells of {STEPS} steps, and the file ends",
    ),
    "lost inner lines": (lambda lines: lines[:3] + lines[4:], "line 4: `step` is 4, and it has to be 3"),
    "lines in another order": (
        lambda lines: [*lines[:2], lines[3], lines[2], *lines[4:]],
        "line 3: `step` is 3, and it has to be 2",
    ),
    "more lines": (
        lambda lines: [*lines, b"\n"],
        f"line {STEPS + 2}: the header tells of {STEPS} steps, and more lines",
    ),
    "no JSON": (second_line("{'step': 1}"), "line 2: the line is not JSON (Expecting property name"),
    "no UTF-8": (lambda lines: [lines[0], b"\xff\n", *lines[2:]], "line 2: the line is not JSON as a trace"),
    "a number with a fraction": (in_second_line('"prompt":1', '"prompt":1.0'), "1.0 is no whole number"),
    "a number that is none": (in_second_line('"prompt":1', '"prompt":NaN'), "NaN is no whole number"),
    "a number of many digits": (in_second_line('"prompt":1', '"prompt":1' + 5000 * "0"), "line 2"),
    "a field named twice": (in_second_line('"prompt":1', '"prompt":1,"prompt":1'), "names a field twice"),
    "deep nesting": (second_line(100_000 * "["), "line 2: the line is nested too deep"),
    "an unknown kind": (in_second_line('"submit"', '"os.system"'), '`line.move.kind` is "os.system"'),
    "an unknown field": (in_second_line('"prompt"', '"\\u001b"'), 'unknown field "\\u001b"'),
    "a lacking field": (in_second_line(',"prompt":1', ""), "an object without prompt"),
    "another type": (
        in_second_line('"prompt":1', '"prompt":"1"'),
        'prompt` is "1", and it has to be a whole',
    ),
    "a truth value for a number": (in_second_line('"prompt":1', '"prompt":true'), "prompt` is true"),
    "half a character": (in_second_line('"r0"', '"\\ud800"'), 'request` is "\\ud800"'),
    "no prompt": (with_world(prompts=[]), "prompts` is a list of 0, and it has to be a list of 1 to 64"),
    "a size that does not divide": (with_world(unit=3), "unit divides every block_size, not 3 and [4, 8]"),
    "two sizes of states": (
        with_world(groups=[GROUP, {**GROUP, "block_size": 8}]),
        "mamba groups have one block_size, not [4, 8]",
    ),
    "a window of nothing": (
        with_world(groups=[{**GROUP, "kind": "window"}]),
        "has a reach of at least 1, and no other group has one, not window and 0",
    ),
    "a state with a reach": (
        with_world(groups=[{**GROUP, "reach": 3}]),
        "has a reach of at least 1, and no other group has one, not mamba and 3",
    ),
    "chunks beside other sizes": (
        with_world(groups=[{**GROUP, "kind": "chunk", "reach": 3}, {**GROUP, "block_size": 8}]),
        "groups beside a chunk have its block_size, not [4, 8]",
    ),
    "chunks under a draft model": (
        with_world(groups=[{**GROUP, "kind": "chunk", "reach": 3, "eagle": True}]),
        "no draft model reads a chunk, not group 0",
    ),
    "a prompt longer than its tokens": (with_prompt(length=6), "at most its 5 tokens, not 6"),
    "an image past the prompt": (with_prompt(length=2), "images within its 2 tokens, not at 1 for 2"),
    "an image of two lengths": (
        with_prompt(images=[{"identifier": "a", "offset": o, "length": o + 1} for o in (0, 1)]),
        "one length for each image identifier, not two for 'a'",
    ),
    "an embedding past the prompt": (
        with_prompt(embeds=[{"position": 4, "content": "a"}]),
        "one embedding each at positions before 4, not another at 4",
    ),
    "two embeddings at one position": (
        with_prompt(embeds=[{"position": 1, "content": c} for c in "ab"]),
        "one embedding each at positions before 4, not another at 1",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_bad_file_is_refused(tmp_path: Path, whole: list[bytes], what: str) -> None:
    change, reason = REFUSED[what]
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"".join(change(whole)))
    assert reason in refusal_of(path)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    assert "the file cannot be read (No such file" in refusal_of(tmp_path / "none.jsonl")
    assert "the file cannot be read (Is a directory)" in refusal_of(tmp_path)


def test_a_long_line_is_refused_before_it_is_all_in_memory(tmp_path: Path, whole: list[bytes]) -> None:
    path = tmp_path / "a.jsonl"
    padded = whole[1][:-1] + b" " * (4 * 2**20 - len(whole[1])) + b"\n"
    path.write_bytes(b"".join([whole[0], padded, *whole[2:]]))
    assert read_trace(path) == TRACE
    path.write_bytes(b"".join([whole[0], b" " + padded, *whole[2:]]))
    assert "line 2: a line has at most 4194304 bytes" in refusal_of(path)


def test_a_long_file_is_refused(tmp_path: Path, whole: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"".join(whole))
    assert MAX_FILE_BYTES == 256 * 2**20
    monkeypatch.setattr("pagedkv.spec.trace.files.MAX_FILE_BYTES", path.stat().st_size)
    assert read_trace(path) == TRACE
    monkeypatch.setattr("pagedkv.spec.trace.files.MAX_FILE_BYTES", path.stat().st_size - 1)
    assert f"line {STEPS + 1}: a trace has at most {path.stat().st_size - 1} bytes" in refusal_of(path)


@given(st.data())
def test_no_damage_is_answered_otherwise_than_with_a_refusal(
    tmp_path_factory: pytest.TempPathFactory, whole: list[bytes], data: st.DataObject
) -> None:
    content = bytearray(b"".join(whole))
    place = data.draw(st.integers(0, len(content)))
    content[place : place + data.draw(st.integers(0, 8))] = data.draw(
        st.binary(max_size=3) | st.sampled_from([b"[", b'"', b"}", b"1", b"-", b"null", b"\n", b"\\u0000"])
    )
    path = tmp_path_factory.getbasetemp() / "damaged.jsonl"
    path.write_bytes(content)
    try:
        assert isinstance(read_trace(path), Trace)
    except BadTrace as refusal:
        assert str(refusal).startswith(f"{path}, line ")


def test_reading_imports_nothing(tmp_path: Path, whole: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "trap.py").write_text("raise SystemExit('imported')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"".join(with_header(subject={"name": "trap:factory", "version": "1"})(whole)))
    before = set(sys.modules)
    assert read_trace(path).subject.name == "trap:factory"
    assert set(sys.modules) == before
