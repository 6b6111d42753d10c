"""Every contract holds in a small scope, every rule has one, and none borrows from what it judges."""

from inspect import isclass, isfunction, ismodule
from types import FunctionType, ModuleType

import pytest

from pagedkv.conformance.proofs.contracts import ALL, SUBJECTS, Contract, answers, steps
from pagedkv.conformance.proofs.enumeration import enumerate_cases
from pagedkv.spec.rules import admission, caching, chunks, demand, hits, reach, rows, sizes

RULES = "pagedkv.spec.rules"


@pytest.mark.parametrize("contract", ALL, ids=lambda contract: contract.name)
def test_a_contract_holds_for_each_of_its_cases_and_has_some(contract: Contract) -> None:
    tried = enumerate_cases(contract)
    assert tried.counterexample == ""
    assert tried.num_cases > 0


def public_functions(module: ModuleType) -> set[FunctionType]:
    """Those that the module itself defines."""
    return {
        value
        for name, value in vars(module).items()
        if isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
    }


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.__name__)
def test_every_check_is_in_the_table_once(subject: ModuleType) -> None:
    checks = [contract.check for contract in subject.CONTRACTS]
    assert len(checks) == len(set(checks))
    assert set(checks) == public_functions(subject)


def test_every_rule_is_judged() -> None:
    judged = {contract.rule for contract in ALL}
    assert judged == {
        rule
        for module in (admission, caching, chunks, demand, hits, reach, rows, sizes)
        for rule in public_functions(module)
    }


def borrowed(module: ModuleType) -> list[str]:
    """What a module of contracts takes from the rules and neither judges nor only stores values in."""
    judged = [contract.rule for contract in getattr(module, "CONTRACTS", ())]
    return [
        name
        for name, value in vars(module).items()
        if (ismodule(value) and value.__name__.startswith(RULES))
        or (getattr(value, "__module__", "").startswith(RULES) and not isclass(value) and value not in judged)
    ]


@pytest.mark.parametrize("module", [*SUBJECTS, answers, steps], ids=lambda module: module.__name__)
def test_contracts_take_from_the_rules_only_what_they_judge(module: ModuleType) -> None:
    assert borrowed(module) == []


def test_a_borrowed_helper_is_reported() -> None:
    module = ModuleType("borrower")
    vars(module).update(
        floor_to=sizes.floor_to,
        helpers=sizes,
        Hit=hits.Hit,
        names_of_hit=hits.names_of_hit,
        CONTRACTS=[contract for contract in ALL if contract.rule is hits.names_of_hit],
    )
    assert borrowed(module) == ["floor_to", "helpers"]
