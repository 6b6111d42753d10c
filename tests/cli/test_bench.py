"""`pagedkv bench`: what it prints, and how it ends."""

import json
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any, NoReturn

import jsonschema
import pytest

from pagedkv.conformance.bench import bench as bench_module
from pagedkv.conformance.bench import json_form
from pagedkv.conformance.bench.candidate import Candidate
from pagedkv.conformance.bench.cases import ALL_CASES
from pagedkv.conformance.bench.memory import Footprint, Memory
from pagedkv.conformance.engines import vllm
from pagedkv.reference import KVCacheBlocks, KVCacheManager
from pagedkv.spec import Request
from tests.bench.sides import MODEL, Batched, variant

from .conftest import Command

SCHEMA = Path(json_form.__file__).with_name("bench.schema.json")
cli = import_module("pagedkv.conformance.cli.bench")


class Wrong(KVCacheManager):
    """Finds nothing."""

    def get_computed_blocks(self, request: Request) -> tuple[KVCacheBlocks, int, int]:
        return self.create_kv_cache_blocks(([],)), 0, 0


Measuring = Callable[..., None]


@pytest.fixture
def measuring(monkeypatch: pytest.MonkeyPatch) -> Measuring:
    """Have the command measure these."""

    def replace(*candidates: Candidate) -> None:
        monkeypatch.setattr(cli, "all_candidates", lambda against, device: list(candidates))

    replace(MODEL, variant("other", KVCacheManager), variant("batch", Batched, is_batched=True))
    return replace


@pytest.fixture
def footprints(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the memory measured in no time."""

    def memory_of(name: str, device: str) -> Memory:
        assert device == "cpu"
        return Memory(name, Footprint(50.0, 48.0), Footprint(200.0 if name == "reference" else 100.0, None))

    monkeypatch.setattr(bench_module, "memory_of", memory_of)


def documented(text: str) -> Any:
    """A result, which has to be as the schema says."""
    result = json.loads(text)
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(result, schema, cls=jsonschema.Draft202012Validator)
    return result


def test_a_table_for_each_case(command: Command, measuring: Measuring) -> None:
    result = command("bench", "--case", "allocate", "--case", "decode-64", "--rounds", "3")
    assert result.exit_code == 0, result.output
    allocate, _, decode = result.output.partition("\ndecode-64: ")
    assert "pagedkv 0.1.0: reference 0.1.0, other 0.1.0\n" in allocate
    assert "3 rounds after 3 to warm up, impl on cpu, one thread; ratio: time of reference / " in allocate
    assert "Python " in allocate
    for words in ("us per call", "reference", "other", "1 to 1", "without appending"):
        assert words in allocate
    assert "batch" not in allocate
    assert "us per request" in decode
    assert "batch" in decode
    assert "memory" not in result.output


def test_the_same_as_json(command: Command, measuring: Measuring, footprints: None) -> None:
    names = ("--case", "lookup-1k", "--case", "memory", "--case", "decode-64")
    result = command("bench", *names, "--rounds", "4", "--json")
    assert result.exit_code == 0, result.output
    found = documented(result.stdout)
    assert (found["against"], found["device"], found["rounds"]) == ("reference", "cpu", 4)
    assert [candidate["name"] for candidate in found["candidates"]] == ["reference", "other", "batch"]
    decode, lookup = found["cases"]
    assert (decode["name"], decode["unit"], decode["units"], decode["rounds"]) == (
        "decode-64",
        "request",
        64,
        4,
    )
    assert [timing["candidate"] for timing in decode["timings"]] == ["reference", "other", "batch"]
    assert [timing["candidate"] for timing in lookup["timings"]] == ["reference", "other"]
    assert lookup["timings"][0]["ratio"] == {"median": 1, "lower_quartile": 1, "upper_quartile": 1}
    assert found["memory"]["num_blocks"] == 1_000_000
    assert found["memory"]["footprints"] == [
        {
            "candidate": name,
            "empty": {"resident": 50.0, "tensors": 48.0},
            "cached": {"resident": cached, "tensors": None},
        }
        for name, cached in (("reference", 200.0), ("other", 100.0))
    ]
    assert found["stopped"] is found["wrong_answer"] is None


def test_memory_alone(command: Command, measuring: Measuring, footprints: None) -> None:
    result = command("bench", "--case", "memory")
    assert result.exit_code == 0, result.output
    assert "memory: 1,000,000 blocks, bytes of metadata per block" in result.output
    (row,) = (line for line in result.output.splitlines() if "other" in line and "0.0" in line)
    cells = [cell.strip() for cell in row.replace("|", "│").split("│") if cell.strip()]
    assert cells == ["other", "50.0", "100.0", "48.0", "-", "2"]
    assert "us per" not in result.output


def test_without_a_name_every_case_is_measured(
    command: Command, measuring: Measuring, footprints: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = []

    def measure(case: Any, *arguments: Any) -> NoReturn:
        measured.append(case.name)
        raise KeyboardInterrupt

    monkeypatch.setattr(bench_module, "measure", measure)
    for case in ALL_CASES:
        monkeypatch.setattr(bench_module, "ALL_CASES", (case,))
        assert command("bench").exit_code == 130
    assert measured == [
        "allocate",
        *(f"decode-{size}" for size in (64, 256, 1024, 4096)),
        *(f"lookup-{size}k" for size in (1, 8, 32, 128)),
        "admit",
    ]


def test_without_a_name_memory_is_measured_too(
    command: Command, measuring: Measuring, footprints: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench_module, "ALL_CASES", ())
    result = command("bench")
    assert result.exit_code == 0
    assert "memory: 1,000,000 blocks" in result.output


def test_other_blocks_end_it_with_1_and_the_place(command: Command, measuring: Measuring) -> None:
    measuring(MODEL, variant("wrong", Wrong))
    names = ("--case", "allocate", "--case", "lookup-1k", "--rounds", "3")
    result = command("bench", *names)
    assert result.exit_code == 1
    words = "lookup-1k, round 1: at hit[0] wrong has 0 and reference 1024"
    assert result.output.endswith(f"\nVerdict: the candidates disagree in {words}\n")
    result = command("bench", *names, "--json")
    assert result.exit_code == 1
    found = documented(result.stdout)
    assert (found["stopped"], found["wrong_answer"]) == ("wrong answer", words)
    assert [case["name"] for case in found["cases"]] == ["allocate"]


def test_an_interrupt_keeps_what_was_measured(
    command: Command, measuring: Measuring, monkeypatch: pytest.MonkeyPatch
) -> None:
    def memory_of(name: str, device: str) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr(bench_module, "memory_of", memory_of)
    names = ("--case", "allocate", "--case", "memory", "--rounds", "3")
    result = command("bench", *names)
    assert result.exit_code == 130
    assert "us per call" in result.output
    assert "pagedkv: interrupted" in result.output
    result = command("bench", *names, "--json")
    assert result.exit_code == 130
    found = documented(result.stdout)
    assert found["stopped"] == "interrupted"
    assert found["memory"] is None
    assert [case["name"] for case in found["cases"]] == ["allocate"]


def told(command: Command, *options: str) -> str:
    """The sentence that a command ends with which cannot run."""
    result = command("bench", *options)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    return result.stderr


def test_an_unknown_case_is_told_with_those_there_are(command: Command) -> None:
    said = told(command, "--case", "decode", "--case", "decode-65")
    assert said.startswith("pagedkv: there is no case 'decode-65': take one of allocate, decode, lookup, ")
    assert "decode-4096" in said and "memory" in said
    assert said.count("\n") == 1


def test_without_vllm_it_is_told_how_to_get_it(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> NoReturn:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(vllm, "version", missing)
    assert told(command, "--against", "vllm") == (
        "pagedkv: vLLM is not installed here: `make check-vllm` makes an environment with it\n"
    )


def test_without_torch_the_extra_is_named(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert told(command) == "pagedkv: torch is not installed here: pip install 'pagedkv[impl]'\n"


def test_a_device_that_is_not_there_is_told(command: Command) -> None:
    assert told(command, "--device", "nowhere").startswith("pagedkv: torch has no device 'nowhere' here (")


@pytest.mark.parametrize(
    ("options", "words"),
    [(("--rounds", "2"), "--rounds"), (("--against", "nano"), "--against")],
)
def test_a_bad_value_is_told(command: Command, options: tuple[str, ...], words: str) -> None:
    assert words in told(command, *options)
