"""A campaign survives its subject, is the same on every machine, and knows what it was told to expect."""

from pathlib import Path

import pytest

from pagedkv.conformance.campaign.campaign import Exit, Verdict, check
from pagedkv.conformance.campaign.expectations import (
    Avoided,
    BadExpectations,
    Expectation,
    read_expectations,
)
from pagedkv.conformance.campaign.faults import Fault
from pagedkv.conformance.campaign.minimise import minimise
from pagedkv.conformance.campaign.runs import random_run, replay_moves
from pagedkv.conformance.subject_names import subject_named
from pagedkv.conformance.worlds import MIXES
from pagedkv.spec.clauses import freeing
from pagedkv.spec.moves import Preempt

BROKEN = "tests.conformance.broken"
NOTHING = Avoided(frozenset())


def judged(name: str, budget: int, **options: object) -> Verdict:
    return check(subject_named(name), budget, 0, ("full",), **options)  # type: ignore[arg-type]


def test_a_subject_that_dies_is_a_fault_with_its_moves() -> None:
    verdict = judged(f"{BROKEN}:dies", 100)
    (finding, *_) = verdict.unexpected
    assert "exit code 17" in finding.run.breaches[0].because
    assert finding.run.moves and not finding.is_minimal
    assert verdict.exit_code is Exit.FOUND_FAULTS


def test_a_subject_that_hangs_is_a_fault_with_its_moves() -> None:
    verdict = judged(f"{BROKEN}:hangs", 20, seconds_per_move=0.5)
    assert all("no answer within" in finding.run.breaches[0].because for finding in verdict.unexpected)
    assert verdict.unexpected and all(finding.run.moves for finding in verdict.unexpected)


def test_what_a_subject_raises_is_its_fault() -> None:
    verdict = judged(f"{BROKEN}:raises", 300)
    assert {finding.fault.clause.id for finding in verdict.unexpected} == {"Free/forgets_the_request"}
    assert all("no free today" in finding.run.breaches[0].because for finding in verdict.unexpected)


@pytest.mark.parametrize(
    ("factory", "clause"),
    [
        ("never_serves", "Allocate/prediction_is_exact"),
        ("never_frees", "Allocate/prediction_is_exact"),
        ("beyond_the_pool", "Allocate/answers_new_entries"),
        ("endless_hit", "Hit/leaves_a_token"),
    ],
)
def test_an_answer_that_serves_nobody_or_names_nothing_is_a_fault(factory: str, clause: str) -> None:
    verdict = judged(f"{BROKEN}:{factory}", 1000)
    assert clause in {finding.fault.clause.id for finding in verdict.unexpected}


def test_the_number_of_processes_changes_nothing() -> None:
    one, three = (check(subject_named("reference"), 700, 5, MIXES, jobs=jobs) for jobs in (1, 3))
    assert (one.operations, one.runs, one.shown) == (three.operations, three.runs, three.shown)
    assert one.exit_code is Exit.FOUND_NOTHING


def test_a_seed_gives_the_same_run_again() -> None:
    reference = subject_named("reference")
    first, second, other = (random_run(reference, seed, 3, MIXES, NOTHING) for seed in (1, 1, 2))
    assert (first.world, first.moves, first.outcomes) == (second.world, second.moves, second.outcomes)
    assert first.moves != other.moves


def test_nothing_can_be_left_out_of_a_minimised_run() -> None:
    leaky = subject_named("examples.leaky_manager:make")
    runs = (random_run(leaky, 0, number, ("full",), NOTHING) for number in range(100))
    run = next(run for run in runs if run.breaches)
    small = minimise(run, lambda moves: replay_moves(leaky, run.world, moves))
    assert small.breaches[0].clause is run.breaches[0].clause
    assert len(small.moves) < len(run.moves)
    for i in range(len(small.moves)):
        rest = replay_moves(leaky, run.world, (*small.moves[:i], *small.moves[i + 1 :]))
        assert not rest.breaches or len(rest.moves) >= len(small.moves)


def test_an_expected_fault_is_masked_and_a_line_that_meets_nothing_is_named() -> None:
    known = Expectation("Free/forgets_the_request", "known")
    stale = Expectation("Pool/no_leak", "mended long ago")
    verdict = judged(f"{BROKEN}:raises", 300, expectations=[known, stale])
    assert verdict.exit_code is Exit.FOUND_NOTHING
    assert verdict.masked_runs == sum(finding.times for finding in verdict.findings.values()) > 0
    assert verdict.unmatched == (stale,)


@pytest.mark.parametrize(
    ("groups", "is_met"), [("*", True), ("window full", True), ("window full+mamba", False)]
)
def test_a_line_is_for_some_mixes(groups: str, is_met: bool) -> None:
    fault = Fault(freeing.FORGETS_THE_REQUEST, "finish", "full")
    assert Expectation("Free/forgets_the_request", "known", groups=groups).matches(fault) == is_met


def test_what_is_avoided_does_not_happen() -> None:
    reference = subject_named("reference")
    avoided = Avoided(frozenset({"withdraw", "adapters"}))
    runs = [random_run(reference, 0, number, MIXES, avoided) for number in range(12)]
    assert not any(isinstance(move, Preempt) and move.withdraw for run in runs for move in run.moves)
    assert not any(prompt.lora for run in runs for prompt in run.world.prompts)
    free = [random_run(reference, 0, number, MIXES, NOTHING) for number in range(12)]
    assert any(isinstance(move, Preempt) and move.withdraw for run in free for move in run.moves)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("not toml", "cannot be read as TOML"),
        ("other = 1", "has to consist of tables"),
        ("[[expect]]\nclause = 'Pool/no_leak'", "lacks reason"),
        ("[[expect]]\nclause = 'Pool/no_leak'\nreason = 'x'\nwhen = 'y'", "unknown when"),
        ("[[expect]]\nclause = 'Pool/none'\nreason = 'x'", "there is no clause"),
        ("[[expect]]\nclause = 'Pool/no_leak'\nreason = 3", "has to be a string"),
        ("[[expect]]\nclause = 'Pool/no_leak'\nreason = 'x'\navoid = 'rain'", "avoid is 'rain'"),
        ("[[expect]]\nclause = 'Pool/no_leak'\nreason = 'x'\noperation = 'zap'", "operation is 'zap'"),
        ("[[expect]]\nclause = 'Pool/no_leak'\nreason = 'x'\ngroups = 'full zap'", "groups is 'full zap'"),
        ("[[expect]]\nclause = 'Pool/no_leak'\nreason = 'x'\ngroups = ' '", "groups is ' '"),
    ],
)
def test_a_bad_expectations_file_is_refused_with_a_reason(tmp_path: Path, text: str, what: str) -> None:
    path = tmp_path / "expect.toml"
    path.write_text(text)
    with pytest.raises(BadExpectations, match=what):
        read_expectations(path)
