"""The gate believes what CrossHair says of each function, and takes silence for a failure."""

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pagedkv.conformance.proofs import gate
from pagedkv.conformance.proofs.contracts import Contract, chunks, hits, sizes
from pagedkv.conformance.proofs.gate import (
    CrossHairMissing,
    Verdict,
    check_contract,
    classify,
    prove,
    run_gate,
)

CONFIRMED = "/some/where.py:7: info: Confirmed over all paths.\n"
NOT_CONFIRMED = "/some/where.py:7: info: Not confirmed.\n"
REFUTED = "/some/where.py:9: error: AssertionError: 5 when calling check(5)\n"
SKIPPED = "WARNING: Targets found, but contain no checkable functions.\nHINT: lead with assert statements.\n"

CHEAP, *_ = sizes.CONTRACTS
ALL_STOPS = next(c for c in chunks.CONTRACTS if c.check is chunks.chunk_is_cut_for_one_of_all_stops)


@pytest.mark.parametrize(
    ("output", "errors", "searched", "verdict", "detail"),
    [
        (CONFIRMED, "", "", Verdict.CONFIRMED, ""),
        (CONFIRMED, "", "too wide", Verdict.CONFIRMED, ""),
        (NOT_CONFIRMED, "", "", Verdict.UNCONFIRMED, ""),
        (NOT_CONFIRMED, "", "too wide", Verdict.SEARCHED, "too wide"),
        (REFUTED, "", "too wide", Verdict.REFUTED, "AssertionError: 5 when calling check(5)"),
        (CONFIRMED + REFUTED, "", "", Verdict.REFUTED, "AssertionError: 5 when calling check(5)"),
        ("", SKIPPED, "too wide", Verdict.NOT_ANALYSED, "HINT: lead with assert statements."),
        ("/some/where.py:7: info: Unable to meet precondition\n", "", "", Verdict.NOT_ANALYSED, None),
        ("", "", "", Verdict.NOT_ANALYSED, "CrossHair said nothing"),
    ],
)
def test_a_verdict_is_read_from_the_output(
    output: str, errors: str, searched: str, verdict: Verdict, detail: str | None
) -> None:
    found, said = classify(output, errors, searched)
    assert found is verdict
    assert detail is None or said == detail


def test_the_gate_confirms_a_subject_and_prints_it() -> None:
    rows: list[str] = []
    assert prove(rows.append, module_names=["sizes"])
    assert [row.split()[0] for row in rows[:-1]] == ["confirmed"] * len(sizes.CONTRACTS)
    assert all(contract.name in row for contract, row in zip(sizes.CONTRACTS, rows[:-1], strict=True))
    assert rows[-1] == f"{len(sizes.CONTRACTS)} confirmed"


def test_a_wide_contract_is_searched_only_where_its_table_says_so() -> None:
    result = check_contract(ALL_STOPS, 0.5)
    assert (result.verdict, result.passes) == (Verdict.SEARCHED, True)
    result = check_contract(replace(ALL_STOPS, searched=""), 0.5)
    assert (result.verdict, result.passes) == (Verdict.UNCONFIRMED, False)


def test_a_skipped_function_does_not_pass() -> None:
    (no_asserts, *_) = [replace(contract, check=hits._judge_hit) for contract in hits.CONTRACTS]
    result = check_contract(no_asserts, 5)
    assert (result.verdict, result.passes) == (Verdict.NOT_ANALYSED, False)


def test_a_package_that_does_not_import_does_not_pass(tmp_path: Path) -> None:
    (tmp_path / "pagedkv").mkdir()
    (tmp_path / "pagedkv" / "__init__.py").write_text("raise ImportError('broken on purpose')\n")
    result = check_contract(CHEAP, 5, tmp_path)
    assert (result.verdict, result.passes) == (Verdict.NOT_ANALYSED, False)
    assert "broken on purpose" in result.detail


def test_a_search_that_hangs_does_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(command: list[str], timeout: float, **kwargs: Any) -> None:
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(subprocess, "run", hang)
    result = check_contract(CHEAP, 5)
    assert (result.verdict, result.detail) == (Verdict.NOT_ANALYSED, "no answer after 110 s")
    assert not result.passes


def test_one_contract_that_does_not_pass_fails_the_gate(monkeypatch: pytest.MonkeyPatch) -> None:
    def check(contract: Contract, budget: float) -> gate.ConditionResult:
        verdict = Verdict.REFUTED if contract is CHEAP else Verdict.CONFIRMED
        return gate.ConditionResult(contract.name, verdict, "", 0.0)

    monkeypatch.setattr(gate, "check_contract", check)
    rows: list[str] = []
    assert not prove(rows.append)
    assert prove(rows.append, module_names=["hits"])


def test_a_subject_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match=r"no contracts about hats; there are sizes, reach, hits"):
        run_gate(module_names=["hits", "hats"])


def test_without_crosshair_the_gate_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "find_spec", lambda name: None)
    with pytest.raises(CrossHairMissing, match=r"pagedkv\[prove\]"):
        run_gate()
