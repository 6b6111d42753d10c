"""`pagedkv clauses`: every rule, with what checks it."""

from pagedkv.conformance.report.checks import checks_of
from pagedkv.spec import clauses
from pagedkv.spec.clauses import pool, worker

from .conftest import Command


def test_all_rules_are_listed_in_order(command: Command) -> None:
    result = command("clauses")
    assert result.exit_code == 0
    ids = {clause.id for clause in clauses.ALL}
    assert [line for line in result.output.splitlines() if line in ids] == [
        clause.id for clause in clauses.ALL
    ]
    words = " ".join(result.output.split())
    assert all(clause.text in words for clause in clauses.ALL)


def test_a_family_is_listed_alone_and_in_detail(command: Command) -> None:
    result = command("clauses", "Pool")
    ids = [line for line in result.output.splitlines() if line and not line.startswith(" ")][:-1]
    assert ids == [clause.id for clause in clauses.ALL if clause.id.startswith("Pool/")]
    assert "    - law: Counts are entries of tables" in result.output


def test_one_rule_is_listed_alone(command: Command) -> None:
    result = command("clauses", "Pool/no_leak")
    assert result.output.splitlines()[0] == "Pool/no_leak"
    assert f"1 of {len(clauses.ALL)} clauses." in result.output


def test_what_checks_a_rule_is_found_in_every_place() -> None:
    assert {check.kind for check in checks_of(pool.QUEUED_WHEN_UNHELD)} == {"law", "planted fault"}
    assert {check.kind for check in checks_of(worker.KEYS_TELL_THE_TRUTH)} == {
        "law",
        "worker",
        "planted fault",
    }
    kinds = {check.kind for clause in clauses.ALL for check in checks_of(clause)}
    assert kinds == {"law", "worker", "watch", "contract", "planted fault"}
