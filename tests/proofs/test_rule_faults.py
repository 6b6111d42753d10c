"""Every contract can fail: each fault planted in a rule is refuted by the contracts named for it."""

import pytest

from pagedkv.conformance.faults.patching import Patch
from pagedkv.conformance.proofs import contracts
from pagedkv.conformance.proofs.enumeration import enumerate_cases
from pagedkv.conformance.proofs.fault_matrix import counterexamples, rules_with, search_faults
from pagedkv.conformance.proofs.rule_faults import ALL, RuleFault

HARMLESS = Patch("spec/rules/sizes.py", "-(-num_tokens // block_size)", "0 - (-num_tokens // block_size)")


@pytest.mark.parametrize("fault", ALL, ids=lambda fault: fault.name)
def test_a_fault_is_refuted_by_cases(fault: RuleFault) -> None:
    for name, counterexample in counterexamples(fault).items():
        assert counterexample, f"{name} holds"
        # A slip in the planted text itself refutes nothing.
        assert "NameError" not in counterexample
        assert "UnboundLocalError" not in counterexample


def test_every_contract_is_refuted_by_a_fault() -> None:
    refuting = {contract for fault in ALL for contract in fault.refuted_by}
    assert [contract.name for contract in contracts.ALL if contract not in refuting] == []


def test_faults_have_names_of_their_own() -> None:
    assert len({fault.name for fault in ALL}) == len(ALL)


def test_the_rules_are_back_after_a_fault() -> None:
    (contract, *_) = ALL[0].refuted_by
    with rules_with(ALL[0].patch):
        assert enumerate_cases(contract).counterexample
    assert not enumerate_cases(contract).counterexample


def test_a_change_that_breaks_nothing_is_not_refuted() -> None:
    harmless = RuleFault("harmless", "Does nothing.", HARMLESS, ALL[0].refuted_by)
    assert set(counterexamples(harmless).values()) == {""}


def test_search_refutes_a_fault_and_not_a_harmless_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONOPTIMIZE", "1")
    (contract, *_) = ALL[0].refuted_by
    harmless = RuleFault("harmless", "Does nothing.", HARMLESS, (contract,))
    planted, changed = search_faults(30, faults=[ALL[0], harmless])
    assert planted.is_refuted
    assert not changed.is_refuted
    assert str(planted).startswith("refuted ")
    assert str(changed).startswith("SURVIVES ")
    assert contract.name in str(changed)
