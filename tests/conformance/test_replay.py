"""A trace is played again on whatever subject is named, and the end says what became of its breach."""

import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from pagedkv.conformance.campaign.expectations import Avoided
from pagedkv.conformance.campaign.runs import Run, random_run, replay_moves
from pagedkv.conformance.replay import Ending, ReplayedStep, ending_of, replay_trace, trace_of_run
from pagedkv.conformance.subjects import Subject, reference
from pagedkv.conformance.worlds import MIXES
from pagedkv.invariants.breach import Breach
from pagedkv.reference import KVCacheManager
from pagedkv.spec.clauses import config, hit, pool
from pagedkv.spec.moves import BeginPass, Evict, Move, Reset
from pagedkv.spec.outcomes import Allocated, Answered, Found, Nothing, Outcome, Raised, Stepped
from pagedkv.spec.trace import RecordedBreach, Trace, TracedSubject, read_trace, write_trace

from .planted import HIT_STORY, STORY, WORLD, Blind, Fails, KeepsKeys, planted


def trace_of(subject: Subject, moves: tuple[Move, ...]) -> Trace:
    """What a story is on a subject."""
    return trace_of_run(replay_moves(subject, WORLD, moves), subject, 5, 6)


def replayed(trace: Trace, subject: Subject) -> tuple[Ending, ReplayedStep]:
    """The end and the last step of a replay, of which only the last may be out of the ordinary."""
    *steps, last = replay_trace(trace, subject)
    assert [step.number for step in steps] == [*range(1, last.number)]
    assert not any(step.breaches or step.obstacle or step.before or step.after for step in steps)
    return ending_of(trace, last), last


def test_a_run_with_a_breach_is_a_trace_up_to_it() -> None:
    trace = trace_of(planted(KeepsKeys), STORY)
    assert trace.subject == TracedSubject("planted", "0.9")
    assert (trace.seed, trace.number, trace.world) == (5, 6, WORLD)
    assert tuple(step.move for step in trace.steps) == STORY[:6]
    assert trace.steps[2].outcome == Allocated(4, ((1, 2),), Found(0, ((),)))
    assert trace.breach is not None
    assert (trace.breach.clause, "block 1" in trace.breach.because) == (pool.EVICT_TAKES_KEYS.id, True)


def test_the_same_breach_comes_again_with_the_states_around_it() -> None:
    ending, last = replayed(trace_of(planted(KeepsKeys), STORY), planted(KeepsKeys))
    assert (ending, last.number, last.outcome) == (Ending.SAME_BREACH, 6, Nothing())
    assert last.breaches[0].clause is pool.EVICT_TAKES_KEYS
    assert last.before is not None and last.after is not None
    assert last.before.queue == last.after.queue == (3, 4, 5, 2, 1)


def test_another_subject_breaks_another_clause() -> None:
    trace = trace_of(planted(KeepsKeys), (*HIT_STORY, Evict((2,))))
    ending, last = replayed(trace, planted(Blind))
    assert (ending, last.number, last.is_new_answer) == (Ending.ANOTHER_BREACH, 8, True)
    assert last.breaches[0].clause is hit.LONGEST


def test_the_same_clause_in_another_kind_of_move_is_another_breach() -> None:
    trace = trace_of(planted(KeepsKeys), STORY)
    ending, last = replayed(replace(trace, steps=(*trace.steps, *trace.steps[:1])), planted(KeepsKeys))
    assert (ending, last.number) == (Ending.ANOTHER_BREACH, 6)


def test_another_clause_in_the_same_move_is_another_breach() -> None:
    trace = trace_of(planted(KeepsKeys), STORY)
    breach = RecordedBreach(pool.COUNT_IS_HOLDERS.id, "it was another")
    ending, last = replayed(replace(trace, breach=breach), planted(KeepsKeys))
    assert (ending, last.number) == (Ending.ANOTHER_BREACH, 6)


def test_a_breach_that_was_mended_does_not_come_again() -> None:
    ending, last = replayed(trace_of(planted(KeepsKeys), STORY), reference())
    assert (ending, last.number, last.outcome) == (Ending.NO_BREACH, 6, Nothing())


def test_of_a_step_that_raised_only_the_state_before_is_known() -> None:
    ending, last = replayed(trace_of(planted(Fails), STORY), planted(Fails))
    assert (ending, last.number) == (Ending.SAME_BREACH, 7)
    assert last.outcome == Raised("OSError", "\x1b[2Jno such\ndevice")
    assert last.before is not None and last.after is None


def test_only_the_type_of_an_error_tells_answers_apart() -> None:
    def step(recorded: Outcome | None, outcome: Outcome | None) -> ReplayedStep:
        return ReplayedStep(1, Reset(), recorded, outcome)

    assert not step(Raised("OSError", "at 0x1"), Raised("OSError", "at 0x2")).is_new_answer
    assert step(Raised("OSError", "a"), Raised("KeyError", "a")).is_new_answer
    assert step(Answered(True), Answered(False)).is_new_answer
    assert step(None, Answered(True)).is_new_answer
    assert not step(Answered(True), None).is_new_answer


@pytest.mark.parametrize(
    ("subject", "moves", "number", "obstacle"),
    [
        (reference(), (BeginPass(), BeginPass()), 2, "the state that the earlier answers led to"),
        (
            replace(reference(), missing={"evict": "it never does"}),
            STORY,
            6,
            "reference has no evict: it never does",
        ),
        (replace(reference(), refuses=lambda world: "too small"), STORY, 1, "too small"),
    ],
)
def test_what_cannot_be_played_is_not_judged(
    subject: Subject, moves: tuple[Move, ...], number: int, obstacle: str
) -> None:
    trace = trace_of(reference(), STORY)
    steps = tuple(replace(trace.steps[0], move=move) for move in moves)
    ending, last = replayed(replace(trace, steps=steps), subject)
    assert (ending, last.number, last.outcome) == (Ending.DIVERGED, number, None)
    assert last.obstacle.startswith(obstacle)


def test_a_deployment_that_a_subject_refuses_cannot_be_played() -> None:
    trace = replace(trace_of(reference(), STORY), world=replace(WORLD, unit=3))
    ending, last = replayed(trace, reference())
    assert (ending, last.number) == (Ending.DIVERGED, 1)
    assert last.obstacle.startswith(f"reference refuses the deployment: {config.SIZES_DIVIDE.id}: ")


def with_lawful(*lawful: Outcome) -> Trace:
    """The story with what may be answered to the first admission."""
    trace = trace_of(reference(), STORY)
    steps = [*trace.steps]
    steps[2] = replace(steps[2], lawful=lawful)
    return replace(trace, steps=tuple(steps))


SERVED = Allocated(4, ((1, 2),), Found(0, ((),)))
ELSEWHERE = Allocated(4, ((3, 4),), Found(0, ((),)))
LONGER = Allocated(2, ((2,),), Found(2, ((1,),)))


def test_any_of_the_lawful_answers_will_do() -> None:
    ending, last = replayed(with_lawful(ELSEWHERE, SERVED), planted(KVCacheManager))
    assert (ending, last.number) == (Ending.NO_BREACH, len(STORY))


def test_an_answer_that_is_not_listed_is_a_breach() -> None:
    ending, last = replayed(with_lawful(LONGER, ELSEWHERE), planted(KVCacheManager))
    assert (ending, last.number) == (Ending.ANOTHER_BREACH, 3)
    (breach,) = last.breaches
    assert breach.clause is hit.LONGEST
    assert breach.because == f"answered {SERVED}, and lawful here is {LONGER} or {ELSEWHERE}"


def test_a_subject_with_other_block_ids_is_not_held_to_the_list() -> None:
    ending, last = replayed(with_lawful(ELSEWHERE), planted(KVCacheManager, "safety"))
    assert (ending, last.number) == (Ending.NO_BREACH, len(STORY))


def test_an_unlawful_answer_to_any_move_has_a_clause() -> None:
    trace = trace_of(reference(), STORY)
    for number, step in enumerate(trace.steps, 1):
        changed = replace(step, lawful=(Raised("a", "b"),))
        steps = (*trace.steps[: number - 1], changed, *trace.steps[number:])
        _, last = replayed(replace(trace, steps=steps), reference())
        assert (last.number, len(last.breaches)) == (number, 1)


def test_a_run_that_ended_its_process_has_no_answers(tmp_path: Path) -> None:
    breach = Breach(pool.COUNT_IS_HOLDERS, "the process died with exit code -11")
    trace = trace_of_run(Run(WORLD, STORY, (), 12, Counter(), (breach,)), reference(), 0, 0)
    assert {step.outcome for step in trace.steps} == {None}
    write_trace(tmp_path / "a.jsonl", trace)
    assert read_trace(tmp_path / "a.jsonl") == trace


LONG = 20_000 * "x"


@pytest.mark.parametrize(
    ("answer", "written"),
    [
        (Answered(1.5), Raised("NotAnAnswer", "`value` is a float, and it has to be made of")),  # type: ignore[arg-type]
        (Answered((2**63,)), Raised("NotAnAnswer", f"`outcome.value[0]` is {2**63}, and it has to be")),
        (Stepped(((1,),), ()), Raised("NotAnAnswer", "`outcome.copies[0]` is a list of 1, and")),  # type: ignore[arg-type]
        (Raised("E", "half \ud800"), Raised("E", "half \\ud800")),
        (Raised(LONG, LONG), Raised(199 * "x" + "…", 9_999 * "x" + "…")),
        (Answered(True), Answered(True)),
    ],
    ids=["a fraction", "too large", "no pair", "no text", "too long", "an answer"],
)
def test_whatever_a_manager_answers_can_be_written(tmp_path: Path, answer: Outcome, written: Outcome) -> None:
    breach = Breach(pool.RESET_WHEN_IDLE, LONG)
    subject = replace(reference(), name=LONG, version="\ud800")
    trace = trace_of_run(Run(WORLD, (Reset(),), (answer,), 1, Counter(), (breach,)), subject, 0, 0)
    write_trace(tmp_path / "a.jsonl", trace)
    assert read_trace(tmp_path / "a.jsonl") == trace
    told = trace.steps[0].outcome
    if isinstance(told, Raised) and isinstance(written, Raised):
        assert told.error == written.error
        assert told.message.startswith(written.message)
    else:
        assert told == written


@pytest.mark.parametrize("number", range(3))
def test_a_random_run_is_played_again_from_its_file(tmp_path: Path, number: int) -> None:
    run = random_run(reference(), 1, number, MIXES, Avoided(frozenset()))
    write_trace(tmp_path / "a.jsonl", trace_of_run(run, reference(), 1, number))
    trace = read_trace(tmp_path / "a.jsonl")
    steps = list(replay_trace(trace, reference()))
    assert tuple(step.outcome for step in steps) == run.outcomes
    assert not any(step.is_new_answer for step in steps)
    assert ending_of(trace, steps[-1]) is Ending.NO_BREACH


def test_what_a_trace_names_is_never_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "trap.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    trace = replace(trace_of(reference(), STORY), subject=TracedSubject("trap:factory", "1"))
    write_trace(tmp_path / "a.jsonl", trace)
    ending, _ = replayed(read_trace(tmp_path / "a.jsonl"), reference())
    assert ending is Ending.NO_BREACH
    assert "trap" not in sys.modules
