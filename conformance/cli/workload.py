"""``pagedkv workload`` and ``pagedkv workload-trace``."""

import json
import re
from pathlib import Path
from time import monotonic

import click

from pagedkv.conformance.campaign.campaign import Exit
from pagedkv.conformance.group_text import LENGTHS_IN_WORDS, groups_of
from pagedkv.conformance.subject_names import subject_named
from pagedkv.conformance.subjects import Subject
from pagedkv.conformance.workload.conversations import made_requests
from pagedkv.conformance.workload.deployment import Deployment, world_of
from pagedkv.conformance.workload.replay import replay_requests
from pagedkv.conformance.workload.report import (
    WorkloadAsked,
    breach_lines,
    conclusion,
    lines_of,
    opening,
    replay_as_json,
)
from pagedkv.conformance.workload.trace import read_requests, trace_text
from pagedkv.conformance.worlds import mix_of
from pagedkv.spec import PreconditionError, World

from .errors import CannotRun
from .options import interrupted_by_termination, refuse_mix, seed_of
from .output import Output
from .progress import workload_progress

COUNT = click.IntRange(min=1)
_EVERY = 499


def every_of(ctx: click.Context, param: click.Parameter, text: str) -> int | None:
    """How many moves are from one that the laws are asked about to the next; None for ``off``."""
    if text == "off":
        return None
    if not re.fullmatch("every=[1-9][0-9]{0,8}", text, re.ASCII):
        raise click.BadParameter(f"{text!r} is neither `off` nor `every=N` with N from 1 to 999999999")
    return int(text.removeprefix("every="))


@click.command("workload")
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path))
@click.option(
    "--on", "name", metavar="SUBJECT", default="reference", show_default=True, help="What serves it."
)
@click.option(
    "--hash-unit", "unit", type=COUNT, default=64, show_default=True, metavar="N", help="Tokens per hash."
)
@click.option(
    "--groups",
    default="full:256,mamba:512",
    show_default=True,
    metavar="LIST",
    help=f"Kinds with block sizes in tokens, {LENGTHS_IN_WORDS}, such as full:64,window:64:256.",
)
@click.option(
    "--blocks",
    type=click.IntRange(2, 10_000_000),
    default=4096,
    show_default=True,
    metavar="N",
    help="Blocks, the null block among them.",
)
@click.option(
    "--max-running", type=COUNT, default=64, show_default=True, metavar="N", help="Requests at the same time."
)
@click.option(
    "--budget", type=COUNT, default=8192, show_default=True, metavar="N", help="The most tokens of a pass."
)
@click.option("--closed-loop", is_flag=True, help="Ignore time: requests arrive as soon as they may run.")
@click.option("--limit", type=COUNT, metavar="N", help="Take the first N requests of the file only.")
@click.option(
    "--laws",
    "every",
    callback=every_of,
    default=f"every={_EVERY}",
    show_default=True,
    metavar="every=N|off",
    help="Ask the laws about every N-th move, and let a worker read in every pass; or only count.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
@click.pass_context
def workload_command(
    ctx: click.Context,
    path: Path,
    name: str,
    unit: int,
    groups: str,
    blocks: int,
    max_running: int,
    budget: int,
    closed_loop: bool,
    limit: int | None,
    every: int | None,
    as_json: bool,
) -> None:
    """Replay a real request trace through the engine loop, and count hits, evictions and the like.

    FILE has a JSON object in each line: `timestamp` in ms, `input_length` and `output_length` in tokens, and
    `hash_ids`, one for each started 512 tokens of the prompt. The tokens of an id are made from the id, and
    the output of a request is its own. A pass takes 50 ms of trace time; time that nobody uses is skipped.
    Requests are served first come first served; when slots run out the latest gives way.

    \b
    Examples:
      pagedkv workload conversation_trace.jsonl --limit 200
      pagedkv workload trace.jsonl --on mymanager:make --groups full:16 --hash-unit 16 --laws off
    """
    subject = subject_named(name)
    deployment = Deployment(groups_of(groups, ",", 16, 999_999), blocks, unit, budget, max_running)
    requests = read_requests(path, limit)
    world = world_of(path, requests, deployment)
    _refuse(subject, world)
    asked = WorkloadAsked(path, len(requests), subject, deployment, closed_loop, every)
    arrivals = None if closed_loop else [request.timestamp for request in requests]
    output = Output()
    if not as_json:
        output.line(opening(asked))
    started = monotonic()
    with workload_progress(world) as progress, interrupted_by_termination():
        try:
            replay = replay_requests(world, subject, arrivals, max_running, every, progress)
        except PreconditionError as error:
            raise CannotRun(f"{subject.name} refuses the deployment: {error}") from error
    seconds = monotonic() - started
    if as_json:
        output.line(json.dumps(replay_as_json(asked, replay, seconds), indent=2))
    else:
        for paragraph in ("\n".join(breach_lines(asked, replay)), "\n".join(lines_of(replay, seconds))):
            if paragraph:
                output.line()
                output.line(paragraph)
        output.verdict(conclusion(asked, replay), not replay.breaches and not replay.was_interrupted)
    ctx.exit(_exit_of(replay.was_interrupted, bool(replay.breaches)))


def _refuse(subject: Subject, world: World) -> None:
    """Raise ``CannotRun`` where the subject is not for the world."""
    refuse_mix(subject, mix_of(world), "name such groups with --groups")
    refusal = subject.refuses(world)
    if refusal:
        raise CannotRun(f"{refusal}: name other sizes with --groups and --hash-unit")


def _exit_of(was_interrupted: bool, is_broken: bool) -> Exit:
    if was_interrupted:
        return Exit.INTERRUPTED
    return Exit.FOUND_FAULTS if is_broken else Exit.FOUND_NOTHING


@click.command("workload-trace")
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path))
@click.option(
    "--requests",
    "number",
    type=click.IntRange(1, 1_000_000),
    default=100,
    show_default=True,
    metavar="N",
    help="Lines.",
)
@click.option(
    "--seed", callback=seed_of, default="0", show_default=True, metavar="N|random", help="Choice of requests."
)
def workload_trace_command(path: Path, number: int, seed: int) -> None:
    """Write a small trace that `pagedkv workload` can replay: conversations that go on, turn by turn.

    The same seed writes the same file on every machine. A file that is there is replaced.

    \b
    Example:
      pagedkv workload-trace small.jsonl --requests 40 --seed 1
    """
    try:
        path.write_text(trace_text(made_requests(number, seed)), encoding="utf-8")
    except OSError as error:
        raise CannotRun(f"{path} cannot be written ({error.strerror}): name another file") from error
    Output().line(f"{path}: {number:,} requests, seed {seed}")
