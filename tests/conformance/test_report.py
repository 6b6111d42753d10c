"""What a check must have shown, and how its verdict is told."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

from pagedkv.conformance import coverage
from pagedkv.conformance.campaign.campaign import Exit, Finding, Verdict
from pagedkv.conformance.campaign.expectations import Avoided, Expectation
from pagedkv.conformance.campaign.faults import Fault
from pagedkv.conformance.campaign.mixes import OfMix
from pagedkv.conformance.campaign.runs import Run
from pagedkv.conformance.report.behaviours import each_mix_must_show, must_be_shown
from pagedkv.conformance.report.files import trace_name
from pagedkv.conformance.report.mixes import COLUMNS
from pagedkv.conformance.report.report import Asked, Report
from pagedkv.conformance.report.text import conclusion, mixes_in_words, summary
from pagedkv.conformance.scopes import SCOPES
from pagedkv.conformance.subjects import reference
from pagedkv.conformance.worlds import MIXES
from pagedkv.spec import World
from pagedkv.spec.clauses import pool
from pagedkv.spec.moves import Finish
from pagedkv.spec.outcomes import Nothing

NOTHING = Avoided(frozenset())
FAULT = Fault(pool.NO_LEAK, "finish", "full+mamba")
KNOWN = Expectation(pool.NO_LEAK.id, "known since spring")


def report_of(verdict: Verdict, must_show: tuple[str, ...] = (), profile: str = "ci") -> Report:
    asked = Asked(profile, 60_000, 0, MIXES, (KNOWN,), 2, 10.0)
    return Report(reference(), asked, verdict, 1.0, must_show, {}, {FAULT: Path("t.jsonl")})


def seen_by(*runs: Run) -> OfMix:
    seen = OfMix()
    for run in runs:
        seen.add(run)
    return seen


def verdict_of(runs: int, times: int, expected: Expectation | None) -> Verdict:
    finding = Finding(FAULT, Run(SCOPES["full"].world, (), (), 0), 0, 0, times, expected)
    return Verdict(runs * 100, runs, {FAULT: finding} if times else {})


def told(report: Report) -> str:
    return " ".join(" ".join(summary(report, 100)).split())


def test_a_subject_that_is_exact_must_show_everything_in_all_mixes() -> None:
    assert must_be_shown(reference(), MIXES, NOTHING) == coverage.ALL
    assert must_be_shown(reference(), tuple(reversed(MIXES)), NOTHING) == coverage.ALL


def test_nothing_must_be_shown_where_mixes_are_left_out_or_the_subject_may_differ() -> None:
    assert must_be_shown(reference(), MIXES[1:], NOTHING) == ()
    assert must_be_shown(replace(reference(), strictness="renamed"), MIXES, NOTHING) == ()


def test_what_the_subject_lacks_or_a_line_leaves_out_need_not_be_shown() -> None:
    lacks = replace(reference(), missing={"reset": "no such method"})
    owed = must_be_shown(lacks, MIXES, Avoided(frozenset({"withdraw"})))
    assert set(coverage.ALL) - set(owed) == {
        coverage.RESET,
        coverage.RESET_REFUSED,
        coverage.WITHDRAWN,
        coverage.WITHDRAWN_KEYS,
    }


def test_what_only_refused_worlds_can_show_need_not_be_shown() -> None:
    def refuses(world: World) -> str | None:
        return "no connector" if world.options.has_connector else None

    owed = must_be_shown(replace(reference(), refuses=refuses), MIXES, NOTHING)
    assert set(coverage.ALL) - set(owed) == {
        coverage.LOADED_IN_STEP,
        coverage.LOADED_BEHIND,
        coverage.LOAD_INVALID,
        coverage.LOAD_FAILED,
        coverage.LOAD_FAILED_IN_PART,
    }


def test_a_behaviour_that_was_not_shown_is_a_failure() -> None:
    verdict = verdict_of(10, 0, None)
    verdict.shown = Counter({coverage.HIT: 3})
    report = report_of(verdict, (coverage.HIT, coverage.DEFERRAL))
    assert report.exit_code is Exit.FOUND_FAULTS
    assert "The run has not shown: same-pass wait." in conclusion(report)
    assert report_of(verdict, (coverage.HIT,)).exit_code is Exit.FOUND_NOTHING
    assert conclusion(report_of(verdict, (coverage.HIT,))) == "nothing unexpected."


def test_mixes_without_a_life_are_told_with_the_verdict() -> None:
    verdict = verdict_of(10, 0, None)
    verdict.mixes = {mix: OfMix(lives=lives) for mix, lives in (("full", 9), ("mamba", 0), ("latent", 0))}
    told = "nothing unexpected. 2 of 3 mixes of groups had no life"
    assert conclusion(report_of(verdict, profile="quick")) == f"{told}: --profile ci has some of each."
    assert conclusion(report_of(verdict)) == f"{told}."
    verdict.was_interrupted = True
    assert "mixes" not in conclusion(report_of(verdict))


def test_every_mix_owes_lives_at_ci_and_all_that_it_can_have_at_deep() -> None:
    owed = {profile: each_mix_must_show(reference(), MIXES, profile) for profile in ("quick", "ci", "deep")}
    assert owed == {
        "quick": (),
        "ci": ("lives",),
        "deep": tuple(column for column in COLUMNS if column != "operations"),
    }
    assert each_mix_must_show(reference(), MIXES[1:], "deep") == ()
    assert each_mix_must_show(replace(reference(), strictness="renamed"), MIXES, "deep") == ()


def test_a_mix_at_0_fails_where_it_could_have_it_and_nowhere_else() -> None:
    verdict = verdict_of(10, 0, None)
    off = replace(SCOPES["full"].world, enable_caching=False)
    verdict.mixes = {
        "full": seen_by(Run(SCOPES["full"].world, (), (), 0)),
        "mamba": OfMix(),
        "window": seen_by(Run(off, (), (), 0)),
    }
    report = replace(report_of(verdict), each_mix_must_show=("lives", "hits", "copies"))
    assert report.not_shown == ("lives with mamba", "hits with full")
    assert report.exit_code is Exit.FOUND_FAULTS
    assert conclusion(report) == (
        "no fault, but that proves too little. The run has not shown: lives with mamba. "
        "The run has not shown: hits with full."
    )
    assert replace(report, each_mix_must_show=("copies",)).exit_code is Exit.FOUND_NOTHING
    assert replace(report, stopped="no device").not_shown == ()


def test_what_is_read_off_states_is_no_zero_where_a_subject_does_not_tell_them() -> None:
    verdict = verdict_of(1, 0, None)
    verdict.mixes = {"full": seen_by(Run(SCOPES["full"].world, (), (), 0))}
    report = report_of(verdict)
    assert report.mixes["full"]["evictions"] == 0
    silent = replace(report, subject=replace(reference(), missing={"state": "no snapshot"}))
    assert silent.mixes["full"]["evictions"] is None
    assert silent.mixes["full"]["hits"] == 0


def test_many_mixes_are_told_by_the_least_of_each_column_and_by_who_has_a_0() -> None:
    verdict = verdict_of(9, 0, None)
    run = Run(SCOPES["full"].world, (Finish("r0"),), (Nothing(),), 5)
    mixes = [f"m{i}" for i in range(9)]
    verdict.mixes = {mix: seen_by(*[run] * (1 + i)) for i, mix in enumerate(mixes)}
    verdict.mixes["m8"] = OfMix()
    text = " ".join(" ".join(mixes_in_words(report_of(verdict), 100)).split())
    assert text.startswith("Mixes 9, and the least ")
    assert "that any has: lives 0, operations 0, served 0, refused 0, hits 0, evictions 0, " in text
    assert "preemptions 0, steps 0, ends 1; --table shows all" in text
    assert "no lives with m8 no served with m0, m1, m2 and 5 more" in text
    assert "waits" not in text


def test_a_mix_that_took_no_turn_is_told_with_the_reason() -> None:
    verdict = verdict_of(1, 0, None)
    verdict.untaken = {"mamba": "no states here"}
    assert "Worlds none of mamba was taken: no states here" in told(report_of(verdict))


def test_an_interrupted_check_owes_nothing_and_says_so() -> None:
    verdict = verdict_of(10, 2, None)
    verdict.was_interrupted = True
    report = report_of(verdict, (coverage.HIT,))
    assert report.exit_code is Exit.INTERRUPTED
    assert conclusion(report) == "interrupted after 10 runs; until then 1 fault."


def test_a_check_that_was_stopped_owes_nothing_and_could_not_run() -> None:
    report = replace(report_of(verdict_of(10, 0, None), (coverage.HIT,)), stopped="no device")
    assert report.exit_code is Exit.COULD_NOT_RUN
    assert conclusion(report) == "stopped after 10 runs; until then 0 faults."


def test_a_warning_is_told_when_known_faults_end_more_than_half_of_the_runs() -> None:
    assert "Masked" not in told(report_of(verdict_of(10, 0, KNOWN)))
    half = told(report_of(verdict_of(10, 5, KNOWN)))
    assert "Masked 5 of 10 runs ended at an expected fault" in half
    assert "MORE THAN HALF" not in half
    assert "MORE THAN HALF" in told(report_of(verdict_of(10, 6, KNOWN)))
    assert report_of(verdict_of(10, 6, KNOWN)).exit_code is Exit.FOUND_NOTHING


def test_behaviours_are_told_with_counts_and_those_that_never_occurred_by_name() -> None:
    verdict = verdict_of(10, 0, None)
    verdict.shown = Counter({name: 7 for name in coverage.ALL if name != coverage.RESET_REFUSED})
    text = told(report_of(verdict))
    assert all(f"7 {name}" in text for name in coverage.ALL if name != coverage.RESET_REFUSED)
    assert text.endswith("Not once reset refused")


def test_worlds_that_are_not_for_the_subject_are_told_with_the_reason() -> None:
    report = replace(report_of(verdict_of(10, 0, None)), refused={"no such mix": 3})
    assert "Worlds 3 worlds left out: no such mix" in told(report)


def test_the_file_of_a_trace_tells_what_is_in_it_and_stays_in_its_folder() -> None:
    assert trace_name("reference", FAULT) == "reference-Pool_no_leak-finish-full_mamba.jsonl"
    name = trace_name("../../etc/x:" + "y" * 300, FAULT)
    assert "/" not in name
    assert len(name) < 120
