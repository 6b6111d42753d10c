"""``pagedkv check``."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic

import click
from rich.table import Column, Table

from pagedkv.conformance.campaign.campaign import PROFILES, Verdict, check
from pagedkv.conformance.campaign.children import ChildFailed
from pagedkv.conformance.campaign.expectations import Avoided, read_expectations
from pagedkv.conformance.campaign.runs import refusals_of_run
from pagedkv.conformance.campaign.turns import mix_in_turn
from pagedkv.conformance.group_text import MIX_IN_WORDS
from pagedkv.conformance.report.behaviours import are_counted, each_mix_must_show, must_be_shown
from pagedkv.conformance.report.files import trace_name, write_report, write_traces
from pagedkv.conformance.report.mixes import COLUMNS, Row
from pagedkv.conformance.report.report import Asked, Report
from pagedkv.conformance.report.text import (
    FEW_MIXES,
    conclusion,
    fault_texts,
    is_good,
    is_short,
    mixes_in_words,
    opening,
    summary,
)
from pagedkv.conformance.subject_names import subject_named
from pagedkv.conformance.subjects import Subject
from pagedkv.conformance.worlds import MIXES

from .errors import CannotRun
from .options import (
    SECONDS,
    checked_mix,
    device_option,
    interrupted_by_termination,
    on_device,
    refuse_mix,
    seed_of,
)
from .output import Output
from .progress import campaign_progress

TRACES = Path(".pagedkv") / "traces"
"""Where traces go without ``--report``."""


@click.command("check")
@click.argument("name", metavar="SUBJECT")
@click.option(
    "--profile",
    type=click.Choice(list(PROFILES)),
    default="quick",
    show_default=True,
    help="How much: " + ", ".join(f"{name} {count:,}" for name, count in PROFILES.items()) + " operations.",
)
@click.option("--ops", type=click.IntRange(min=1), metavar="N", help="Operations, instead of the profile's.")
@click.option(
    "--seed", callback=seed_of, default="0", show_default=True, metavar="N|random", help="Choice of runs."
)
@click.option(
    "--groups",
    "mixes",
    multiple=True,
    metavar="MIX",
    help=f"Kinds of groups: {MIX_IN_WORDS}. Can be repeated. Without it: all that the subject manages.",
)
@click.option(
    "--expect",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Known faults, which are no failures: TOML with tables [[expect]].",
)
@click.option(
    "--report",
    "folder",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write report.json and a trace for each fault into this folder.",
)
@click.option(
    "--jobs", type=click.IntRange(1, 256), default=2, show_default=True, metavar="N", help="Processes."
)
@click.option(
    "--timeout",
    type=SECONDS,
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="For one operation; whoever takes longer hangs, which is a fault.",
)
@click.option(
    "--table",
    "has_table",
    is_flag=True,
    help=f"Show what each mix of groups has shown, also where there are more than {FEW_MIXES}.",
)
@device_option
@click.pass_context
def check_command(
    ctx: click.Context,
    name: str,
    profile: str,
    ops: int | None,
    seed: int,
    mixes: Sequence[str],
    expect: Path | None,
    folder: Path | None,
    jobs: int,
    timeout: float,
    has_table: bool,
    device: str | None,
) -> None:
    """Hold SUBJECT to every clause, in random lives of small managers.

    SUBJECT is `reference`, `impl` (the torch manager), `vllm`, or `module:factory` for a manager of your
    own, as pagedkv.spec.interface describes it. An attribute `groups` of the factory says which mixes of
    groups it manages, such as ("full", "full+mamba"); without it that is full attention alone, or everything
    for a manager with the standard names. Each distinct fault is shown with its smallest life, and
    written as a trace that `pagedkv replay` plays again. The same seed gives the same lives everywhere.

    \b
    Example:
      pagedkv check mymanager:make --profile ci --report report
    """
    subject = subject_named(on_device(name, device))
    expectations = read_expectations(expect) if expect else ()
    asked = Asked(
        profile,
        ops or PROFILES[profile],
        seed,
        _mixes_for(subject, mixes),
        expectations,
        jobs,
        timeout,
    )
    output = Output()
    output.line(opening(subject, asked))
    _warn_of(folder)
    started = monotonic()
    verdict, stopped = _checked(subject, asked)
    report = _report_of(subject, asked, verdict, stopped, monotonic() - started, folder)
    for headline, text in fault_texts(report):
        output.heading(headline)
        output.line(text.rstrip())
    unwritten = _write(report, folder)
    output.heading("Summary")
    for line in summary(report, output.width):
        output.line(line)
    if has_table or is_short(asked):
        output.heading("Mixes of groups (-: none of its lives could have it, or it is not told)")
        output.table(_table(report.mixes))
    else:
        for line in mixes_in_words(report, output.width):
            output.line(line)
    output.verdict(conclusion(report), is_good(report))
    if stopped or unwritten:
        raise CannotRun(stopped or unwritten)
    ctx.exit(report.exit_code)


def _table(mixes: Mapping[str, Row]) -> Table:
    table = Table("groups", *(Column(name, justify="right") for name in COLUMNS))
    for mix, row in mixes.items():
        table.add_row(mix, *("-" if row[name] is None else f"{row[name]:,}" for name in COLUMNS))
    return table


def _mixes_for(subject: Subject, asked: Sequence[str]) -> tuple[str, ...]:
    able = subject.mixes or MIXES
    mixes = tuple(dict.fromkeys(map(checked_mix, asked))) or able
    for mix in mixes:
        refuse_mix(subject, mix, "ask for one of those")
    return mixes


def _checked(subject: Subject, asked: Asked) -> tuple[Verdict, str]:
    """What was found, and why no further run could be played if so."""
    latest = Verdict()

    with campaign_progress(asked.operations) as show, interrupted_by_termination():

        def progress(verdict: Verdict) -> None:
            nonlocal latest
            latest = verdict
            show(verdict)

        try:
            verdict = check(
                subject,
                asked.operations,
                asked.seed,
                asked.mixes,
                asked.expectations,
                asked.jobs,
                asked.seconds_per_operation,
                progress,
            )
        except ChildFailed as error:
            if not latest.runs:
                raise
            return latest, str(error)
    return verdict, ""


def _report_of(
    subject: Subject, asked: Asked, verdict: Verdict, stopped: str, seconds: float, folder: Path | None
) -> Report:
    avoided = Avoided.by(asked.expectations)
    must_show = must_be_shown(subject, asked.mixes, avoided) if asked.profile in ("ci", "deep") else ()
    kept = TRACES if folder is None else folder / "traces"
    return Report(
        subject,
        asked,
        verdict,
        seconds,
        must_show if are_counted(subject) else (),
        _refused(subject, asked, verdict),
        {fault: kept / trace_name(subject.name, fault) for fault in verdict.findings},
        stopped,
        each_mix_must_show(subject, asked.mixes, asked.profile),
    )


def _refused(subject: Subject, asked: Asked, verdict: Verdict) -> Counter[str]:
    """Why worlds were drawn in vain."""
    avoided = Avoided.by(asked.expectations)
    reasons: Counter[str] = Counter()
    for number in range(verdict.runs):
        mix = mix_in_turn(asked.seed, number, tuple(verdict.mixes))
        reasons.update(refusals_of_run(asked.seed, number, (mix,), subject, avoided))
    return reasons


def _warn_of(folder: Path | None) -> None:
    """Say now what would only be seen at the end: that the report cannot be written."""
    try:
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        click.echo(
            f"pagedkv: {folder} cannot be made ({error.strerror}): only the verdict will be left", err=True
        )


def _write(report: Report, folder: Path | None) -> str:
    """Write what is to be kept; answers why that was not possible."""
    try:
        write_traces(report)
        if folder is not None:
            write_report(report, folder)
    except OSError as error:
        where = error.filename or folder or TRACES
        return (
            f"the {'report' if folder else 'traces'} cannot be written to {where} ({error.strerror}): "
            "name another folder with --report"
        )
    return ""
