"""``pagedkv bench``."""

import json
from collections.abc import Sequence
from importlib.metadata import version
from typing import get_args

import click
from rich.table import Table

from pagedkv.conformance.bench.bench import MEMORY, Asked, Result, bench, cases_named, names_of_cases
from pagedkv.conformance.bench.candidate import Candidate
from pagedkv.conformance.bench.candidates import Against, all_candidates
from pagedkv.conformance.bench.json_form import result_as_json
from pagedkv.conformance.bench.machine import Machine
from pagedkv.conformance.bench.memory import DOES, NUM_BLOCKS, Memory
from pagedkv.conformance.bench.timing import FEWEST, WARM_UP, CaseResult
from pagedkv.conformance.campaign.campaign import Exit

from .errors import CannotRun
from .options import interrupted_by_termination
from .output import Output
from .progress import bench_progress

_EXITS = {None: Exit.FOUND_NOTHING, "wrong answer": Exit.FOUND_FAULTS, "interrupted": Exit.INTERRUPTED}


@click.command("bench")
@click.option(
    "--against",
    type=click.Choice(get_args(Against)),
    default="reference",
    show_default=True,
    help="What the ratios compare with.",
)
@click.option("--json", "as_json", is_flag=True, help="Write the result as JSON, and nothing else.")
@click.option(
    "--case",
    "names",
    multiple=True,
    metavar="NAME",
    help=f"Measure this alone; may be given again. One of {', '.join(names_of_cases())}.",
)
@click.option(
    "--rounds",
    type=click.IntRange(FEWEST, 1000),
    default=30,
    show_default=True,
    metavar="N",
    help="How often each operation is timed; less often where that takes long.",
)
@click.option(
    "--device", default="cpu", show_default=True, metavar="DEVICE", help="Where impl has its tensors."
)
@click.pass_context
def bench_command(
    ctx: click.Context, against: Against, as_json: bool, names: Sequence[str], rounds: int, device: str
) -> None:
    """Measure what the torch manager costs, beside the model or vLLM's manager.

    Candidates take turns in one process and have to answer the same blocks, round after round. A ratio is the
    median of the base's time divided by the candidate's in the same round: above 1 means faster. Times
    alone depend on the machine and its load; compare ratios. Ends with 1 if an answer differs.

    \b
    Examples:
      pagedkv bench
      pagedkv bench --against vllm --case decode --case lookup-8k --rounds 100
    """
    unknown = [name for name in names if name not in names_of_cases()]
    if unknown:
        raise CannotRun(f"there is no case {unknown[0]!r}: take one of {', '.join(names_of_cases())}")
    asked = Asked(
        against,
        device,
        rounds,
        cases_named(names),
        not names or MEMORY in names,
    )
    candidates = all_candidates(against, device)
    machine = Machine.here(device)
    output = Output()
    if not as_json:
        _open(output, asked, candidates, machine)
    result = _measured(output, asked, candidates, as_json)
    if as_json:
        output.line(json.dumps(result_as_json(asked, candidates, machine, result), indent=2))
    elif result.stopped == "wrong answer":
        output.verdict(f"the candidates disagree in {result.wrong_answer}", False)
    if result.stopped == "interrupted":
        raise KeyboardInterrupt
    ctx.exit(_EXITS[result.stopped])


def _measured(output: Output, asked: Asked, candidates: Sequence[Candidate], as_json: bool) -> Result:
    def found(part: CaseResult | tuple[Memory, ...]) -> None:
        if not as_json:
            _show(output, part, asked.rounds)

    with bench_progress(asked.effort(candidates)) as progress, interrupted_by_termination():
        return bench(asked, candidates, progress, found)


def _open(output: Output, asked: Asked, candidates: Sequence[Candidate], machine: Machine) -> None:
    """What is measured, and where."""
    versions = {candidate.name: candidate.version for candidate in candidates if not candidate.is_batched}
    output.line(f"pagedkv {version('pagedkv')}: {', '.join(f'{n} {v}' for n, v in versions.items())}")
    output.line(machine.in_words())
    output.line(
        f"{asked.rounds} rounds after {WARM_UP} to warm up, impl on {asked.device}, one thread; "
        f"ratio: time of {asked.against} / time of the candidate, median and quartiles"
    )


def _show(output: Output, part: CaseResult | tuple[Memory, ...], asked_rounds: int) -> None:
    if isinstance(part, CaseResult):
        output.heading(f"{part.case.name}: {part.case.does}")
        output.table(_timings(part))
        if part.rounds < asked_rounds:
            output.line(f"{part.rounds} rounds only, as they take long")
    else:
        output.heading(f"{MEMORY}: {NUM_BLOCKS:,} blocks, {DOES}")
        output.table(_footprints(part))


def _timings(result: CaseResult) -> Table:
    table = Table("candidate", "us", f"us per {result.case.unit}", "ratio", "quartiles")
    for column in table.columns[1:]:
        column.justify = "right"
    for timing in result.timings:
        ratio, median = timing.ratio, timing.microseconds.median
        table.add_row(
            timing.candidate,
            f"{median:,.1f}",
            f"{median / result.case.units:,.2f}",
            f"{ratio.median:.3g}",
            f"{ratio.lower_quartile:.3g} to {ratio.upper_quartile:.3g}",
        )
    return table


def _footprints(memory: Sequence[Memory]) -> Table:
    table = Table("candidate", "empty", "cached", "tensors, empty", "tensors, cached", "ratio, cached")
    for column in table.columns[1:]:
        column.justify = "right"
    base = memory[0].cached.resident
    for row in memory:
        own = row.cached.resident
        table.add_row(
            row.candidate,
            *_bytes(row.empty.resident, row.cached.resident, row.empty.tensors, row.cached.tensors),
            f"{base / own:.3g}" if base and own else "-",
        )
    return table


def _bytes(*values: float | None) -> list[str]:
    return ["-" if value is None else f"{value:,.1f}" for value in values]
