"""``pagedkv faults``."""

from collections.abc import Sequence
from pathlib import Path

import click

from pagedkv.conformance.campaign.campaign import Exit
from pagedkv.conformance.explain import explain
from pagedkv.conformance.faults.catalogue import all_faults
from pagedkv.conformance.faults.fault import PlantedFault
from pagedkv.conformance.faults.hunt import HuntResult, hunt
from pagedkv.conformance.faults.patching import BadPatch
from pagedkv.conformance.faults.subject import faulty_subject
from pagedkv.conformance.replay import replay_trace, trace_of_run
from pagedkv.conformance.subjects import SubjectUnavailable
from pagedkv.conformance.torch_subject import require_torch

from .errors import CannotRun
from .output import Output


@click.command("faults")
@click.argument("name", metavar="[NAME]", required=False)
@click.option("--list", "lists", is_flag=True, help="List the faults without planting them.")
@click.pass_context
def faults_command(ctx: click.Context, name: str | None, lists: bool) -> None:
    """Plant known kinds of faults, one after the other, and see that each is found.

    Most are planted into the model, those in tensors into the torch manager; without torch they are skipped.

    A check that cannot fail proves nothing. Each fault has to be reported by a clause that it breaks, within
    the operations of the quick profile, and must stay unseen where it does not matter. With NAME only that
    fault is planted, and the way to it is shown. Ends with 1 if one is missed.

    \b
    Examples:
      pagedkv faults
      pagedkv faults touched-block-stays-queued
    """
    output = Output()
    chosen = [fault for fault in all_faults() if name in (None, fault.name)]
    if not chosen:
        raise CannotRun(f"there is no planted fault {name!r}: see `pagedkv faults --list`")
    width = max(len(fault.name) for fault in chosen)
    if lists:
        for fault in chosen:
            output.line(f"{fault.name:{width}}  {fault.does}")
        return
    planted = _plantable(chosen, output)
    missed = 0
    for fault in planted:
        # Tensors take their time: a run is shortened when it will be shown.
        result = _hunted(fault, shortens=name is not None or not fault.is_in_tensors)
        missed += not _is_caught(result)
        output.line(_row(result, width), "" if _is_caught(result) else "bold red")
        if name:
            _tell(output, result)
    output.verdict(_conclusion(planted, missed, len(chosen) - len(planted)), not missed)
    ctx.exit(Exit.FOUND_FAULTS if missed else Exit.FOUND_NOTHING)


def _plantable(chosen: Sequence[PlantedFault], output: Output) -> Sequence[PlantedFault]:
    """Those that can be planted here; says which are skipped. Raises ``CannotRun`` when that is all."""
    in_model = [fault for fault in chosen if not fault.is_in_tensors]
    if len(in_model) == len(chosen):
        return chosen
    try:
        require_torch()
    except SubjectUnavailable as error:
        if not in_model:
            raise CannotRun(str(error)) from error
        output.line(f"{len(chosen) - len(in_model)} of {len(chosen)} faults are skipped: {error}")
        return in_model
    return chosen


def _hunted(fault: PlantedFault, shortens: bool) -> HuntResult:
    try:
        return hunt(fault, shortens=shortens)
    except BadPatch as error:
        raise CannotRun(f"{fault.name} does not fit this version of the package: {error}") from error


def _is_caught(result: HuntResult) -> bool:
    return result.found and result.shown_elsewhere is None


def _row(result: HuntResult, width: int) -> str:
    if result.found:
        words = f"found in {result.operations:4,} operations by {result.clause}"
    elif result.clause:
        words = f"MISSED: reported by {result.clause}, not {' or '.join(map(str, result.fault.clauses))}"
    else:
        words = f"MISSED in {result.operations:,} operations"
    if result.shown_elsewhere:
        words += f"; AND WHERE IT MUST NOT SHOW: {result.shown_elsewhere}"
    return f"{result.fault.name:{width}}  {result.seconds:5.1f} s  {words}"


def _tell(output: Output, result: HuntResult) -> None:
    """The change, and the way from it to the breach."""
    fault = result.fault
    output.heading(fault.does)
    output.line(f"It stands for: {fault.stands_for}.")
    output.heading(fault.patch.file)
    for sign, text in (("-", fault.patch.old), ("+", fault.patch.new)):
        output.line("\n".join(f"{sign} {line}" for line in text.splitlines()))
    if result.run:
        with faulty_subject(fault) as subject:
            trace = trace_of_run(result.run, subject, 0, 0)
            steps = list(replay_trace(trace, subject))
        output.line()
        # There is no file, and no subject by this name outside of here.
        text = explain(trace, Path(), fault.name, steps)
        output.line(text.partition("\nTrace: ")[0].rstrip())


def _conclusion(planted: Sequence[PlantedFault], missed: int, skipped: int) -> str:
    if missed:
        words = f"{missed} of {len(planted)} planted faults missed"
    else:
        words = "every planted fault is found" if len(planted) > 1 else "the planted fault is found"
    return f"{words}, {skipped} skipped" if skipped else words
