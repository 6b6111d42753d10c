"""Traces are read as they are, or refused with what is wrong where; tokens follow from the ids."""

import json
from pathlib import Path
from typing import Any

import pytest

from pagedkv.conformance.workload.tokens import RequestTokens
from pagedkv.conformance.workload.trace import MAX_HASH_ID, BadWorkload, read_requests, trace_text

from .build import asking, made, world

GOOD = {"timestamp": 5, "input_length": 600, "output_length": 3, "hash_ids": [7, 2**40]}


def file(folder: Path, *lines: Any) -> Path:
    """A trace of these lines: texts as they are, anything else as JSON."""
    path = folder / "trace.jsonl"
    path.write_text("".join((x if isinstance(x, str) else json.dumps(x)) + "\n" for x in lines))
    return path


def test_requests_come_in_order_of_arrival(tmp_path: Path) -> None:
    path = file(tmp_path, GOOD, {**GOOD, "timestamp": 1.5, "type": "chat"}, "", {**GOOD, "output_length": 0})
    read = read_requests(path)
    assert [(r.line, r.timestamp, r.output_length) for r in read] == [(2, 1.5, 3), (1, 5, 3), (4, 5, 0)]
    assert read[0].hash_ids == (7, 2**40)


def test_a_limit_takes_the_first_lines_and_reads_no_further(tmp_path: Path) -> None:
    path = file(tmp_path, GOOD, {**GOOD, "timestamp": 1}, "no JSON")
    assert [r.line for r in read_requests(path, 2)] == [2, 1]


def test_made_traces_are_read_back(tmp_path: Path) -> None:
    (tmp_path / "trace.jsonl").write_text(trace_text(made(30)))
    assert read_requests(tmp_path / "trace.jsonl") == made(30)


def test_the_same_seed_makes_the_same_and_another_does_not() -> None:
    assert made(30, 1) == made(30, 1) != made(30, 2)


def test_made_conversations_go_on_from_what_was_said() -> None:
    requests = made(60)
    repeats = [
        any(r.hash_ids[:-1] == e.hash_ids[: len(r.hash_ids) - 1] for r in requests[:i] if len(r.hash_ids) > 3)
        for i, e in enumerate(requests)
    ]
    assert sum(repeats) > 10
    assert len({r.hash_ids[0] for r in requests}) == 3


BAD = [
    ("no JSON", "the line is not JSON (Expecting value at character 1)"),
    ('{"timestamp": 1' + 5000 * "0" + "}", "the line has a number of thousands of digits"),
    (100_000 * "[", "the line is"),
    ([GOOD], "the line is a list of 1, and it has to be an object with timestamp, input_length"),
    ({**{k: v for k, v in GOOD.items() if k != "hash_ids"}}, "an object without `hash_ids`"),
    ({**GOOD, "timestamp": -1}, "`timestamp` is -1, and it has to be a number of ms from 0"),
    ({**GOOD, "timestamp": True}, "`timestamp` is true"),
    ('{"timestamp": NaN, "input_length": 1, "output_length": 1, "hash_ids": [1]}', "`timestamp` is a float"),
    ({**GOOD, "input_length": 0}, "`input_length` is 0, and it has to be a whole number from 1"),
    ({**GOOD, "input_length": 10**9}, "`input_length` is 1000000000"),
    ({**GOOD, "input_length": 600.0}, "`input_length` is a float"),
    ({**GOOD, "output_length": -3}, "`output_length` is -3, and it has to be a whole number from 0"),
    ({**GOOD, "output_length": "3"}, '`output_length` is "3"'),
    ({**GOOD, "hash_ids": 7}, "`hash_ids` is 7, and it has to be a list"),
    ({**GOOD, "hash_ids": [7]}, "`hash_ids` has 1 entries, and 600 tokens are 2 started blocks of 512"),
    ({**GOOD, "hash_ids": [7, 8, 9]}, "`hash_ids` has 3 entries"),
    ({**GOOD, "hash_ids": [7, -1]}, "`hash_ids[1]` is -1, and it has to be a whole number from 0"),
    ({**GOOD, "hash_ids": [7, 2**53]}, "`hash_ids[1]` is 9007199254740992"),
    ({**GOOD, "hash_ids": [None, 8]}, "`hash_ids[0]` is null"),
]


@pytest.mark.parametrize(("line", "rule"), BAD, ids=[rule[:40] for _, rule in BAD])
def test_a_wrong_line_is_refused_with_its_number(tmp_path: Path, line: object, rule: str) -> None:
    with pytest.raises(BadWorkload) as refusal:
        read_requests(file(tmp_path, GOOD, line))
    assert str(refusal.value).startswith(f"{tmp_path / 'trace.jsonl'}, line 2: ")
    assert rule in str(refusal.value)


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    path = file(tmp_path, GOOD)
    expected = read_requests(path)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert read_requests(path) == expected


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "trace.jsonl").write_bytes(b"\xff\n")
    with pytest.raises(BadWorkload, match=r"line 1: the line is not JSON \(not UTF-8 at byte 1\)"):
        read_requests(tmp_path / "trace.jsonl")


def test_a_line_without_end_is_refused(tmp_path: Path) -> None:
    (tmp_path / "trace.jsonl").write_bytes(b" " * (5 * 2**20))
    with pytest.raises(BadWorkload, match="the line has more than 4194304 bytes"):
        read_requests(tmp_path / "trace.jsonl")


@pytest.mark.parametrize("content", ["", "\n\n"])
def test_a_trace_without_requests_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "trace.jsonl").write_text(content)
    with pytest.raises(BadWorkload, match="there is no request in the file"):
        read_requests(tmp_path / "trace.jsonl")


def test_tokens_are_those_of_the_ids_and_the_output_is_below_zero() -> None:
    tokens = RequestTokens((3, 2**40), 600, 4, 10)
    whole = (*range(3 * 512, 4 * 512), *range(2**49, 2**49 + 88), -11, -12, -13, -14)
    assert len(tokens) == len(whole) == 604
    assert tuple(tokens) == tokens[:] == whole
    for part in (
        slice(0, 512),
        slice(500, 601),
        slice(600, 602),
        slice(603, 700),
        slice(9, 3),
        slice(-5, None),
        slice(None, None, -7),
    ):
        assert tokens[part] == whole[part]
    assert (tokens[0], tokens[599], tokens[600], tokens[-1]) == (1536, 2**49 + 87, -11, -14)
    with pytest.raises(IndexError):
        tokens[604]


def test_two_ids_have_no_token_in_common_and_every_token_fits_in_64_bits() -> None:
    ids = (0, 1, 2, 2**31 - 1, 2**31, 2**32, 2**44, 2**44 + 1, MAX_HASH_ID - 1, MAX_HASH_ID)
    tokens = [token for i in ids for token in RequestTokens((i,), 512, 0, 0)[:]]
    assert len(set(tokens)) == 512 * len(ids)
    assert max(tokens) < 2**63


def test_no_two_requests_have_an_output_token_in_common() -> None:
    requests = (asking(5, 3, 1), asking(5, 4, 1), asking(5, 2, 1))
    outputs = [p.tokens[p.length :] for p in world(requests).prompts]
    assert len({token for output in outputs for token in output}) == 9
