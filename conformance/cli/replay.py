"""``pagedkv replay``."""

import subprocess
import sys
from pathlib import Path

import click

from pagedkv.conformance.campaign.campaign import Exit
from pagedkv.conformance.explain import explain
from pagedkv.conformance.replay import Ending, ending_of, replay_trace
from pagedkv.conformance.subject_names import subject_named
from pagedkv.conformance.torch_subject import DEVICE
from pagedkv.spec.trace import Trace, read_trace

from .errors import CannotRun
from .options import SECONDS
from .output import Output

BUILT_IN = ("reference", "impl", "vllm")
"""Subjects that a trace may be played on because it names them: they are part of this package."""


@click.command("replay")
@click.argument("path", metavar="TRACE", type=click.Path(path_type=Path))
@click.option("--on", "name", metavar="SUBJECT", help="What to play it on, whatever the trace names.")
@click.option(
    "--timeout",
    type=SECONDS,
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="For all of a trace that ended its process.",
)
@click.option("--in-this-process", is_flag=True, hidden=True)
@click.pass_context
def replay_command(
    ctx: click.Context, path: Path, name: str | None, timeout: float, in_this_process: bool
) -> None:
    """Play TRACE again, step by step, to the first broken clause.

    Ends with 1 if a clause breaks, 0 if none does, 2 if it cannot be played. A trace is data: nothing is
    imported because of what it says, so a subject that is not built in has to be named with --on.

    \b
    Example:
      pagedkv replay report/traces/fault.jsonl --on mymanager:make
    """
    trace = read_trace(path)
    if name is None:
        name = trace.subject.name
        if name.partition(DEVICE)[0] not in BUILT_IN:
            raise CannotRun(
                f"{path} was written for {name!r}, which is never imported because a file says so: "
                "name what to play it on with --on SUBJECT"
            )
    if not in_this_process and any(step.outcome is None for step in trace.steps):
        ctx.exit(_in_a_child(trace, path, name, timeout))
    subject = subject_named(name)
    steps = list(replay_trace(trace, subject))
    Output().line(explain(trace, path, name, steps).rstrip())
    ending = ending_of(trace, steps[-1])
    if ending is Ending.DIVERGED:
        ctx.exit(Exit.COULD_NOT_RUN)
    ctx.exit(Exit.FOUND_NOTHING if ending is Ending.NO_BREACH else Exit.FOUND_FAULTS)


def _in_a_child(trace: Trace, path: Path, name: str, timeout: float) -> int:
    """Play a trace that has ended its process in another one; answers how this one ends."""
    command = [sys.executable, "-m", "pagedkv", "replay", str(path), "--on", name, "--in-this-process"]
    output = Output()
    try:
        played = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        again = f"It happened again: no end within {timeout:g} s."
    else:
        # Whoever comes to the end of the trace has explained it.
        if played.returncode == Exit.COULD_NOT_RUN or played.stdout:
            output.line(played.stdout.rstrip())
            return played.returncode
        again = f"It happened again: the process died with exit code {played.returncode}."
    output.line(explain(trace, path, name).rstrip())
    output.heading(again)
    return Exit.FOUND_FAULTS
