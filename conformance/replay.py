"""A trace played again on any subject, step by step, to the first broken clause."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from pagedkv.invariants.breach import Breach
from pagedkv.spec import PreconditionError, Snapshot
from pagedkv.spec.moves import Move
from pagedkv.spec.outcomes import Outcome, Raised
from pagedkv.spec.snapshot import KeyName
from pagedkv.spec.trace import (
    BadContent,
    RecordedBreach,
    Step,
    Trace,
    TracedSubject,
    outcome_from_json,
    outcome_to_json,
)
from pagedkv.spec.trace.limits import MAX_NAME, MAX_TEXT

from .campaign.runs import Run
from .differences import differences
from .enabled import is_enabled
from .judge import Bout
from .subjects import Subject, needs


class Ending(Enum):
    """How a replay ended, beside what the trace tells."""

    SAME_BREACH = "the same breach again"
    ANOTHER_BREACH = "another breach"
    NO_BREACH = "no breach"
    DIVERGED = "diverged: cannot be played"


@dataclass(frozen=True)
class ReplayedStep:
    """One step of a replay."""

    number: int
    move: Move
    recorded: Outcome | None
    """What the trace tells; None: nothing, as the process ended in this step or a later one."""
    outcome: Outcome | None
    """What the subject answered now; None: the move cannot be played."""
    breaches: tuple[Breach, ...] = ()
    before: Snapshot[KeyName] | None = None
    """Of a step that broke something, the state before it, if the subject tells."""
    after: Snapshot[KeyName] | None = None
    """The state after it; None as well when it raised."""
    obstacle: str = ""
    """Why the move cannot be played."""

    @property
    def is_new_answer(self) -> bool:
        """Whether the subject answered otherwise than the trace tells. Of errors only the types count."""
        if isinstance(self.recorded, Raised) and isinstance(self.outcome, Raised):
            return self.recorded.error != self.outcome.error
        return self.outcome is not None and self.outcome != self.recorded


def replay_trace(trace: Trace, subject: Subject) -> Iterator[ReplayedStep]:
    """Play the trace on a new life of ``subject``, up to the first breach or obstacle.

    Which subject the trace names does not matter.

    An answer that the trace does not list as lawful is a breach of a subject that is exact. A subject
    that ends its process ends this one: play a trace with an unknown outcome in a child.
    """
    bout, obstacle = _new_bout(trace, subject)
    for number, step in enumerate(trace.steps, 1):
        obstacle = obstacle or _obstacle(bout, subject, step.move)
        if bout is None or obstacle:
            yield ReplayedStep(number, step.move, step.outcome, None, obstacle=obstacle)
            return
        before = bout.snapshot
        breaches = bout.play(step.move)
        if subject.strictness == "exact":
            breaches += _unlawful(step, bout.outcome)
        if not breaches:
            yield ReplayedStep(number, step.move, step.outcome, bout.outcome)
            continue
        after = None if isinstance(bout.outcome, Raised) else bout.snapshot
        yield ReplayedStep(number, step.move, step.outcome, bout.outcome, tuple(breaches), before, after)
        return


def ending_of(trace: Trace, last: ReplayedStep) -> Ending:
    """How a replay ended that had ``last`` as its last step.

    A breach is the same when it is of the same clause in the same kind of move.
    """
    if last.obstacle:
        return Ending.DIVERGED
    if not last.breaches:
        return Ending.NO_BREACH
    is_same = (
        trace.breach is not None
        and trace.breach.clause == last.breaches[0].clause.id
        and type(last.move) is type(trace.steps[-1].move)
    )
    return Ending.SAME_BREACH if is_same else Ending.ANOTHER_BREACH


def trace_of_run(run: Run, subject: Subject, seed: int, number: int) -> Trace:
    """What the run was, as data that can be written.

    Of long texts the beginning is kept. An answer that is no such value becomes the error ``NotAnAnswer``.
    """
    # A run that ended its process has no outcomes and no events.
    outcomes = (*map(_written, run.outcomes), *[None] * (len(run.moves) - len(run.outcomes)))
    events = (*run.events, *[()] * (len(run.moves) - len(run.events)))
    return Trace(
        TracedSubject(_cut(subject.name, MAX_NAME), _cut(subject.version, MAX_NAME)),
        seed,
        number,
        run.world,
        tuple(
            Step(move, outcome, events=told)
            for move, outcome, told in zip(run.moves, outcomes, events, strict=True)
        ),
        RecordedBreach(run.breaches[0].clause.id, _cut(run.breaches[0].because)) if run.breaches else None,
    )


def _new_bout(trace: Trace, subject: Subject) -> tuple[Bout | None, str]:
    reason = subject.refuses(trace.world)
    if reason is not None:
        return None, reason
    try:
        return Bout(trace.world, subject), ""
    except PreconditionError as refusal:
        return None, f"{subject.name} refuses the deployment: {refusal}"


def _obstacle(bout: Bout | None, subject: Subject, move: Move) -> str:
    for name in needs(move):
        if name in subject.missing:
            return f"{subject.name} has no {name}: {subject.missing[name]}"
    if bout is None or is_enabled(bout.state, move):
        return ""
    return "the state that the earlier answers led to does not allow the move"


def _unlawful(step: Step, outcome: Outcome) -> Iterator[Breach]:
    if step.lawful and outcome not in step.lawful:
        others = " or ".join(map(str, step.lawful))
        for breach in differences(step.move, step.lawful[0], outcome, None, None):
            yield Breach(breach.clause, f"answered {outcome}, and lawful here is {others}")


def _written(outcome: Outcome) -> Outcome:
    if isinstance(outcome, Raised):
        return Raised(_cut(outcome.error, MAX_NAME), _cut(outcome.message))
    try:
        return outcome_from_json(outcome_to_json(outcome))
    except BadContent as error:
        return Raised("NotAnAnswer", _cut(str(error)))


def _cut(text: str, longest: int = MAX_TEXT) -> str:
    """The beginning of the text, without surrogates, which no file of text can hold."""
    text = text.encode(errors="backslashreplace").decode()
    return text if len(text) <= longest else text[: longest - 1] + "…"
