"""Trying cases one by one tells a breach from an argument outside the domain."""

import subprocess
import sys
from collections.abc import Callable, Iterable

import pytest

from pagedkv.conformance.proofs.contracts import Contract
from pagedkv.conformance.proofs.enumeration import enumerate_cases, first_claim


def doubles(value: int) -> None:
    """Breaks at 3."""
    assert value >= 0
    assert value < 5
    double = value + value if value != 3 else 0
    assert double == 2 * value, f"{double}"


def divides(value: int) -> None:
    assert value >= 0
    quotient = 6 // (value - 2)
    assert quotient <= 6


def has_no_domain(value: int) -> None:
    double = value + value
    assert double == 2 * value


def has_no_claim(value: int) -> None:
    assert value >= 0
    assert value < 3


def contract(check: Callable[..., None], values: Iterable[int]) -> Contract:
    return Contract(check, check, (), lambda: ((value,) for value in values))


def test_cases_outside_the_domain_do_not_count() -> None:
    assert enumerate_cases(contract(doubles, [-1, 0, 1, 2, 4, 5, 9])) == (4, "")


def test_the_first_breach_is_told_with_its_arguments() -> None:
    tried = enumerate_cases(contract(doubles, [-1, 2, 3, 3]))
    assert tried.num_cases == 2
    assert tried.counterexample.startswith("test_enumeration.doubles(3): AssertionError: 0")


def test_any_error_is_a_breach() -> None:
    tried = enumerate_cases(contract(divides, [5, 2]))
    assert tried.num_cases == 2
    assert "divides(2): ZeroDivisionError" in tried.counterexample


@pytest.mark.parametrize("check", [has_no_domain, has_no_claim])
def test_a_check_has_a_domain_and_then_a_claim(check: Callable[..., None]) -> None:
    with pytest.raises(ValueError, match=check.__name__):
        first_claim(check)


def test_contracts_are_not_tried_where_asserts_are_dropped() -> None:
    program = (
        "from pagedkv.conformance.proofs.contracts import ALL\n"
        "from pagedkv.conformance.proofs.enumeration import enumerate_cases\n"
        "enumerate_cases(ALL[0])\n"
    )
    run = subprocess.run([sys.executable, "-O", "-c", program], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert "run without -O" in run.stderr
