"""`pagedkv explore`: closed, broken, or not what it claims."""

from pathlib import Path

import pytest

from pagedkv.conformance import coverage
from pagedkv.conformance.cli import explore as explore_module
from pagedkv.conformance.faults.catalogue import all_faults
from pagedkv.conformance.faults.subject import faulty_subject
from pagedkv.conformance.scopes import SCOPES, Scope

from .conftest import Command


@pytest.mark.parametrize("name", ["small-full", "small-hybrid"])
def test_a_small_scope_closes_and_shows_what_it_claims(command: Command, name: str) -> None:
    result = command("explore", name)
    assert result.exit_code == 0
    assert result.output.endswith("Verdict: no clause broke in any state that can be reached\n")
    shown = {
        line[11:] for line in result.output.splitlines() if line[:9].strip().replace(",", "").isdecimal()
    }
    assert set(SCOPES[name].shows) <= shown <= set(coverage.ALL)


def test_a_world_of_ones_own_claims_nothing(command: Command) -> None:
    result = command(
        "explore", "small-full", "--groups", "full:1", "--blocks", 3, "--requests", 1, "--disturbances", 0
    )
    assert result.exit_code == 0
    assert "preemption" not in result.output


@pytest.mark.parametrize("changes", [(), ("--blocks", "9")], ids=["named", "changed"])
def test_a_scope_that_did_not_close_is_a_failure(command: Command, changes: tuple[str, ...]) -> None:
    result = command("explore", "small-hybrid", "--max-states", "50", *changes)
    assert result.exit_code == 1
    assert "50 states, " in result.output
    assert "not searched to its end, which proves nothing: raise --max-states" in result.output


def test_a_claim_that_never_occurs_is_a_failure(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    shows = (coverage.HIT, coverage.EAGLE_UNIT)
    scope = Scope("claims", "", SCOPES["small-hybrid"].world, shows)
    monkeypatch.setattr(explore_module, "SCOPES", {"claims": scope})
    result = command("explore", "claims")
    assert result.exit_code == 1
    assert "the scope has not shown: EAGLE drop of a unit\n" in result.output


def test_a_breach_is_told_with_the_shortest_way_to_it(
    command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault = next(fault for fault in all_faults() if fault.name == "touched-block-stays-queued")
    with faulty_subject(fault) as subject:
        monkeypatch.setattr(explore_module, "reference", lambda: subject)
        result = command("explore", "small-full")
    assert result.exit_code == 1
    assert "Pool/queued_when_unheld is broken by " in result.output
    assert "Verdict: a clause broke" in result.output
    (trace,) = (folder / ".pagedkv" / "traces").iterdir()
    assert f"Trace: {trace.relative_to(folder)}" in result.output
    played = command("replay", trace, "--on", "reference")
    assert played.exit_code == 0
    assert "The trace tells of a breach of Pool/queued_when_unheld." in played.output


def test_the_list_has_every_scope(command: Command) -> None:
    result = command("explore", "--list")
    assert result.exit_code == 0
    assert [line.split()[0] for line in result.output.splitlines()] == list(SCOPES)
