"""`pagedkv faults`: what is planted is found, and what is not found is told."""

from dataclasses import replace

import pytest

from pagedkv.conformance import torch_subject
from pagedkv.conformance.cli import faults as faults_module
from pagedkv.conformance.faults.catalogue import all_faults
from pagedkv.conformance.faults.fault import PlantedFault
from pagedkv.conformance.faults.hunt import HuntResult, hunt
from pagedkv.conformance.faults.patching import Patch
from pagedkv.spec.clauses import pool

from .conftest import Command

FAULT = next(fault for fault in all_faults() if fault.name == "taken-from-the-back")


IN_TENSORS = next(fault for fault in all_faults() if fault.name == "torch-front-written-backwards")


def plant(monkeypatch: pytest.MonkeyPatch, *faults: PlantedFault) -> None:
    """Make these the only faults, and look for them briefly."""

    def briefly(fault: PlantedFault, shortens: bool) -> HuntResult:
        return hunt(fault, budget=200, shortens=shortens)

    monkeypatch.setattr(faults_module, "all_faults", lambda: faults)
    monkeypatch.setattr(faults_module, "hunt", briefly)


def test_one_fault_is_planted_found_and_shown(command: Command) -> None:
    result = command("faults", FAULT.name)
    assert result.exit_code == 0
    assert "operations by Pool/taken_from_the_front" in result.output
    assert f"{FAULT.does}\nIt stands for: {FAULT.stands_for}." in result.output
    assert f"\n- {FAULT.patch.old}\n+ {FAULT.patch.new}\n" in result.output
    assert "Pool/taken_from_the_front is broken by " in result.output
    # Neither a file nor a subject that could be named.
    assert "Again:" not in result.output
    assert result.output.endswith("\nVerdict: the planted fault is found\n")


def test_all_faults_are_listed_and_none_is_planted(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults_module, "hunt", None)
    result = command("faults", "--list")
    assert result.exit_code == 0
    assert [line.split()[0] for line in result.output.splitlines()] == [fault.name for fault in all_faults()]


def test_a_fault_in_tensors_is_planted_into_the_torch_manager(command: Command) -> None:
    pytest.importorskip("torch")
    result = command("faults", IN_TENSORS.name)
    assert result.exit_code == 0
    assert "operations by Pool/freed_tails_first" in result.output
    assert f"\n{IN_TENSORS.patch.file}\n" in result.output
    assert result.output.endswith("\nVerdict: the planted fault is found\n")


def test_without_torch_the_model_still_gets_its_faults(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch_subject, "find_spec", lambda name: None)
    plant(monkeypatch, FAULT, IN_TENSORS)
    result = command("faults")
    assert result.exit_code == 0
    assert "1 of 2 faults are skipped: torch is not installed here" in result.output
    assert f"\n{FAULT.name} " in result.output
    assert f"\n{IN_TENSORS.name} " not in result.output
    assert result.output.endswith("\nVerdict: the planted fault is found, 1 skipped\n")


def test_without_torch_a_fault_in_tensors_cannot_be_planted(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch_subject, "find_spec", lambda name: None)
    result = command("faults", IN_TENSORS.name)
    assert result.exit_code == 2
    assert "torch is not installed here" in result.output


def test_a_fault_that_is_missed_is_a_failure(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    harmless = Patch(FAULT.patch.file, FAULT.patch.old, f"{FAULT.patch.old}  # as before")
    plant(monkeypatch, FAULT, replace(FAULT, name="harmless", patch=harmless))
    result = command("faults")
    assert result.exit_code == 1
    assert "MISSED in " in result.output
    assert result.output.endswith("\nVerdict: 1 of 2 planted faults missed\n")


def test_a_fault_that_another_clause_reports_is_a_failure(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, replace(FAULT, clauses=(pool.NO_LEAK, pool.USAGE)))
    result = command("faults")
    assert result.exit_code == 1
    told = "MISSED: reported by Pool/taken_from_the_front, not Pool/no_leak or Pool/usage"
    assert told in result.output


def test_a_fault_that_shows_where_it_must_not_is_a_failure(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    everywhere = next(fault for fault in all_faults() if not isinstance(fault.unrelated, str)).unrelated
    assert not isinstance(everywhere, str)
    plant(monkeypatch, replace(FAULT, unrelated=replace(everywhere, is_taken=lambda world: True)))
    result = command("faults")
    assert result.exit_code == 1
    assert "AND WHERE IT MUST NOT SHOW: Pool/taken_from_the_front: " in result.output


def test_a_fault_that_does_not_fit_the_package_ends_it_with_2(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, replace(FAULT, patch=Patch(FAULT.patch.file, "no such text", "")))
    result = command("faults")
    assert result.exit_code == 2
    assert "taken-from-the-back does not fit this version of the package: " in result.output
