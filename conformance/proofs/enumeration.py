"""Contracts tried on every argument of a small scope, one by one."""

import ast
import inspect
import textwrap
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from .contracts import Contract


class Enumerated(NamedTuple):
    """What a small scope showed."""

    num_cases: int
    """How many arguments were tried, all of them within the domain."""
    counterexample: str
    """The first call that broke the contract, and how; empty if none did."""


def enumerate_cases(contract: Contract) -> Enumerated:
    """Try a contract on its cases, up to the first that breaks it. Any error but a refused domain does.

    Raises ``RuntimeError`` where asserts are switched off.
    """
    if not __debug__:
        raise RuntimeError(
            "contracts are asserts, and this interpreter was told to drop them: run without -O"
        )
    claims = first_claim(contract.check)
    num_cases = 0
    for case in contract.cases():
        breach = _breach(contract.check, claims, case)
        if breach is not None:
            num_cases += 1
            if breach:
                call = f"{contract.name}({', '.join(map(repr, case))})"
                return Enumerated(num_cases, f"{call}: {breach}")
    return Enumerated(num_cases, "")


def _breach(check: Callable[..., None], claims: int, case: tuple[Any, ...]) -> str | None:
    """How the case breaks the contract, or nothing if it does not; None if it is outside the domain."""
    try:
        check(*case)
    except AssertionError as error:
        # The first entry of the traceback is this function, the second the check.
        at_check = error.__traceback__ and error.__traceback__.tb_next
        if at_check and at_check.tb_lineno < claims:
            return None
        return f"AssertionError: {error}"
    except Exception as error:  # noqa: BLE001 - whatever a rule raises on its domain breaks the contract
        return f"{type(error).__name__}: {error}"
    return ""


@cache
def first_claim(check: Callable[..., None]) -> int:
    """The line of a check at which its domain is settled: its first statement that is not an assert.

    That is how CrossHair reads it. Raises ``ValueError`` unless asserts come first and something follows.
    """
    lines, first_line = inspect.getsourcelines(check)
    (function,) = ast.parse(textwrap.dedent("".join(lines))).body
    assert isinstance(function, ast.FunctionDef)
    body = function.body[1:] if ast.get_docstring(function) else function.body
    claims = [statement for statement in body if not isinstance(statement, ast.Assert)]
    if not claims or claims[0] is body[0]:
        raise ValueError(f"{check.__qualname__} does not begin with its domain and go on to something else")
    return first_line + claims[0].lineno - 1
