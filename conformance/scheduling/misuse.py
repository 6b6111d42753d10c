"""Calls that a scheduler has to refuse."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pagedkv.invariants.breach import Breach
from pagedkv.reference.step import SchedulerOutput
from pagedkv.spec import PreconditionError
from pagedkv.spec.clauses import schedule


def wrongly_taken(
    scheduler: Any, settled: Sequence[SchedulerOutput], flying: Sequence[SchedulerOutput]
) -> Iterator[Breach]:
    """What the scheduler does although it has to refuse: requests that it knows, steps settled again, and the
    oldest steps in flight settled with more tokens than they can give. A refusal changes nothing.
    """
    for entry in [*scheduler.requests.values()]:
        if not _is_refused(scheduler.add_request, entry.request):
            yield Breach(schedule.ARRIVES_ONCE, f"{entry.request.request_id} arrives again and is taken")
    for output in settled:
        if not _is_refused(scheduler.update_from_output, output, {}):
            yield Breach(schedule.SETTLED_IN_ORDER, f"step {output.step_seq} is settled again")
    for output in flying:
        tokens = {
            name: (0,) * (2 + len(part.draft_token_ids))
            for name, part in output.scheduled.items()
            if name in scheduler.requests and scheduler.requests[name].admission == part.admission
        }
        if tokens and not _is_refused(scheduler.update_from_output, output, tokens):
            yield Breach(schedule.SETTLED_IN_ORDER, f"step {output.step_seq} is settled with {tokens}")


def _is_refused(call: Callable[..., object], *arguments: object) -> bool:
    try:
        call(*arguments)
    except PreconditionError:
        return True
    return False
