"""A replay as text and as JSON."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pagedkv.conformance.campaign.faults import operation_name
from pagedkv.conformance.subjects import Subject
from pagedkv.conformance.wording import printable, with_key_names
from pagedkv.spec import SPEC_VERSION

from .arrivals import MS_PER_PASS
from .deployment import Deployment
from .replay import Replay

_LABEL = 14
_MOST_BECAUSE = 1500
"""Characters of the values behind a breach that are shown."""


@dataclass(frozen=True)
class WorkloadAsked:
    """What was asked for."""

    path: Path
    num_requests: int
    subject: Subject
    deployment: Deployment
    is_closed_loop: bool
    every: int | None
    """Moves between two that the laws are asked about; None: nobody judges."""


def opening(asked: WorkloadAsked) -> str:
    """What is about to be done."""
    deployment, subject = asked.deployment, asked.subject
    time = "as soon as they may run" if asked.is_closed_loop else f"a pass for {MS_PER_PASS} ms of trace time"
    judges = f"the laws on every {asked.every:,}th move and a worker" if asked.every else "nobody"
    return printable(
        f"Replaying {asked.num_requests:,} requests of {asked.path} on {subject.name} {subject.version}: "
        f"groups {deployment.groups_in_words()}, {deployment.num_blocks:,} blocks, "
        f"{deployment.unit} tokens per hash, at most {deployment.budget:,} in a pass, "
        f"at most {deployment.max_running:,} running; {time}; judged by {judges}."
    )


def lines_of(replay: Replay, seconds: float) -> Iterator[str]:
    """The figures."""
    figures = replay.figures
    entries = {
        "Requests": f"{figures.requests:,} served in {figures.passes:,} passes with {figures.moves:,} moves, "
        f"{seconds:.1f} s",
        "Hit rate": f"{figures.hit_rate:.2%}, {figures.hit_tokens:,} of {figures.prompt_tokens:,} tokens",
        "Output": f"{figures.output_tokens:,} tokens",
        "Evictions": _or_unknown(figures.evictions),
        "Peak blocks": _or_unknown(figures.peak_blocks),
        "Preemptions": f"{figures.preemptions:,}",
        "Partial hits": f"{figures.partial_hits:,}",
        "Copies": f"{figures.copies:,}, {figures.hand_offs:,} states handed over",
        "Calls": f"{figures.served:,} for slots were served, {figures.refused:,} answered None",
        "Laws": f"asked about {replay.checked:,} moves",
    }
    return (f"{label:{_LABEL}}{text}" for label, text in entries.items())


def breach_lines(asked: WorkloadAsked, replay: Replay) -> Iterator[str]:
    """The broken clause, because of which values, in which move; nothing when none broke."""
    for breach in replay.breaches[:1]:
        assert replay.move is not None
        mix = "+".join(group.kind for group in asked.deployment.groups)
        because = with_key_names(breach.because)
        if len(because) > _MOST_BECAUSE:
            because = f"{because[:_MOST_BECAUSE]}... ({len(because)} characters in all)"
        yield printable(f"{breach.clause.id} is broken by {operation_name(replay.move)} with {mix}")
        yield f"  {breach.clause.text}"
        yield printable(f"  Because: {because}")
        yield printable(f"  In move {replay.figures.moves:,}: {replay.move}")


def conclusion(asked: WorkloadAsked, replay: Replay) -> str:
    """The verdict."""
    if replay.was_interrupted:
        return "interrupted; the figures are those until then."
    if replay.breaches:
        return "a clause broke."
    if not asked.every:
        return "every request was served; nobody judged."
    if not replay.checked:
        return (
            f"the worker saw nothing wrong; the laws were asked about no move: --laws every={asked.every} is "
            f"more than the {replay.figures.moves:,} moves there were."
        )
    return "no clause broke."


def replay_as_json(asked: WorkloadAsked, replay: Replay, seconds: float) -> dict[str, Any]:
    """All of it as JSON values."""
    deployment = asked.deployment
    breach = next(iter(replay.breaches), None)
    return {
        "format": "pagedkv-workload",
        "format_version": 1,
        "pagedkv_version": version("pagedkv"),
        "spec_version": SPEC_VERSION,
        "subject": {"name": asked.subject.name, "version": asked.subject.version},
        "trace": str(asked.path),
        "requests": asked.num_requests,
        "groups": deployment.groups_in_words(),
        "num_blocks": deployment.num_blocks,
        "hash_unit": deployment.unit,
        "budget": deployment.budget,
        "max_running": deployment.max_running,
        "closed_loop": asked.is_closed_loop,
        "laws_every": asked.every,
        "seconds": round(seconds, 3),
        "figures": replay.figures.as_json(),
        "checked_moves": replay.checked,
        "interrupted": replay.was_interrupted,
        "breach": breach
        and {
            "clause": breach.clause.id,
            "rule": breach.clause.text,
            "because": printable(breach.because),
            "move": replay.figures.moves,
            "operation": str(replay.move),
        },
    }


def _or_unknown(count: int | None) -> str:
    return "not told by this manager" if count is None else f"{count:,}"
