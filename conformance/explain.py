"""What a failure is told with: the clause, the values, the steps, the state, and how to see it again."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from pagedkv.spec import clauses
from pagedkv.spec.clauses import Clause
from pagedkv.spec.moves import Move
from pagedkv.spec.trace import RecordedBreach, Trace

from .campaign.campaign import Finding
from .campaign.faults import operation_name
from .replay import Ending, ReplayedStep, ending_of, replay_trace, trace_of_run
from .state_text import state_lines
from .subjects import Subject
from .wording import printable, step_in_words, with_key_names, world_in_words
from .worlds import mix_of

_MOST_BECAUSE = 1500
"""Characters of the values that are shown; the trace has more of them."""


def explain_finding(finding: Finding, subject: Subject, seed: int, path: Path) -> str:
    """The text for a fault that a check of ``subject`` found; ``path`` is where its trace is or will be.

    Plays the run again to see the states, unless it ended its process. Writes nothing.
    """
    trace = trace_of_run(finding.run, subject, seed, finding.number)
    steps = list(replay_trace(trace, subject)) if finding.run.outcomes else []
    return explain(trace, path, subject.name, steps)


def explain(trace: Trace, path: Path, on: str, steps: Sequence[ReplayedStep] = ()) -> str:
    """The text for a trace, and for its replay on the subject named ``on``: ``steps``, none without one.

    Nothing in it but line ends is unprintable.
    """
    last = steps[-1] if steps else None
    lines = [*_head(trace, on, last), "", "World (p1:4 names the first 4 tokens of prompt p1)"]
    lines += [f"  {line}" for line in world_in_words(trace.world)]
    lines += ["", "Steps", *_steps(trace, steps)]
    if last is not None and last.before is not None:
        lines += ["", f"State before and after step {last.number}"]
        lines += [f"  {line}" for line in state_lines(last.before, last.after)]
        if last.after is None:
            lines.append("  The step raised: no state after it is known.")
    elif last is not None and last.breaches:
        lines += ["", f"{on} does not tell its state."]
    lines += ["", f"Trace: {path}", f"Again: {replay_command(path, on)}"]
    return "\n".join(map(printable, lines)) + "\n"


def replay_command(path: Path, on: str) -> str:
    """What to type to see the trace on the subject named ``on``."""
    return shlex.join(["pagedkv", "replay", str(path), "--on", on])


def _head(trace: Trace, on: str, last: ReplayedStep | None) -> list[str]:
    recorded = trace.breach
    if last is None:
        if recorded is None:
            return [f"No clause broke on {trace.subject.name}."]
        return _broken(trace, trace.steps[-1].move, recorded)
    if last.breaches:
        first = last.breaches[0]
        lines = _broken(trace, last.move, RecordedBreach(first.clause.id, first.because))
        if recorded is not None and ending_of(trace, last) is Ending.ANOTHER_BREACH:
            lines.append(f"  The trace tells of another breach: {recorded.clause}.")
        return lines
    told = f"The trace tells of a breach of {recorded.clause}." if recorded else "The trace tells of none."
    if last.obstacle:
        return [f"Step {last.number} cannot be played on {on}: {last.obstacle}.", f"  {told}"]
    return [f"No clause broke on {on}.", f"  {told}"]


def _broken(trace: Trace, move: Move, breach: RecordedBreach) -> list[str]:
    because = with_key_names(breach.because)
    if len(because) > _MOST_BECAUSE:
        because = f"{because[:_MOST_BECAUSE]}... ({len(because)} characters in all)"
    clause = _clause(breach.clause)
    sentence = clause.text if clause else "This version of the specification has no such clause."
    return [
        f"{breach.clause} is broken by {operation_name(move)} with {mix_of(trace.world)}",
        f"  {sentence}",
        f"  Because: {because}",
    ]


def _clause(clause_id: str) -> Clause | None:
    return next((clause for clause in clauses.ALL if clause.id == clause_id), None)


def _steps(trace: Trace, replayed: Sequence[ReplayedStep]) -> list[str]:
    lines = []
    for number, step in enumerate(trace.steps, 1):
        now = replayed[number - 1] if number <= len(replayed) else None
        outcome = now.outcome if now and not now.obstacle else step.outcome
        is_last = number == len(trace.steps)
        words = step_in_words(step.move, outcome, is_last)
        if now and now.obstacle:
            words += " (recorded; not played)"
        elif now and now.is_new_answer and (step.outcome or is_last):
            words += " (the trace has another answer)"
        lines.append(f"  {number}. {words}")
    return lines
