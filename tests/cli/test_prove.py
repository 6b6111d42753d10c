"""`pagedkv prove`: what CrossHair says decides how it ends."""

from collections.abc import Callable
from typing import Any

import pytest

from pagedkv.conformance.cli import prove as prove_module
from pagedkv.conformance.faults.patching import BadPatch
from pagedkv.conformance.proofs import gate

from .conftest import Command


def answering(answer: bool, seen: list[tuple[float, int]]) -> Callable[..., bool]:
    """A search that prints a row and answers at once."""

    def search(printer: Callable[[str], None], timeout: float, jobs: int) -> bool:
        printer("a row")
        seen.append((timeout, jobs))
        return answer

    return search


def raising(error: Exception) -> Callable[..., bool]:
    def search(*arguments: Any) -> bool:
        raise error

    return search


@pytest.mark.parametrize(
    ("options", "name", "answer", "words"),
    [
        ((), "prove", True, "every contract stands"),
        ((), "prove", False, "a contract does not stand"),
        (("--faults",), "prove_faults", True, "every fault of a rule is refuted"),
        (("--faults",), "prove_faults", False, "a fault of a rule survives"),
    ],
)
def test_the_answer_is_told(
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    name: str,
    answer: bool,
    words: str,
) -> None:
    seen: list[tuple[float, int]] = []
    monkeypatch.setattr(prove_module, name, answering(answer, seen))
    result = command("prove", *options, "--timeout", "7", "--jobs", "3")
    assert result.output == f"a row\n\nVerdict: {words}\n"
    assert result.exit_code == (0 if answer else 1)
    assert seen == [(7.0, 3)]


@pytest.mark.parametrize("options", [(), ("--faults",)])
def test_without_crosshair_the_extra_is_named(
    command: Command, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    monkeypatch.setattr(gate, "find_spec", lambda name: None)
    result = command("prove", *options)
    assert result.exit_code == 2
    assert "it comes with: pip install 'pagedkv[prove]'" in result.output


def test_a_fault_that_does_not_fit_the_package_is_told(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prove_module, "prove_faults", raising(BadPatch("hits.py has 0 times the text")))
    result = command("prove", "--faults")
    assert result.exit_code == 2
    assert "a fault does not fit this version of the package: hits.py has 0 times the text" in result.output
