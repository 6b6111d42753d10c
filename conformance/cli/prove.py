"""``pagedkv prove``."""

import click

from pagedkv.conformance.campaign.campaign import Exit
from pagedkv.conformance.proofs.gate import CrossHairMissing, prove

from .errors import CannotRun
from .output import Output


@click.command("prove")
@click.option(
    "--faults", is_flag=True, help="Plant faults into the rules instead, and see that each is refuted."
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="CPU time for each contract.",
)
@click.option(
    "--jobs", type=click.IntRange(1, 256), default=2, show_default=True, metavar="N", help="Processes."
)
@click.pass_context
def prove_command(ctx: click.Context, faults: bool, timeout: float, jobs: int) -> None:
    """Have CrossHair search the contracts of the rules for a counterexample.

    A contract states for every argument what a rule answers, without the rule's own way to it. Ends with 1
    if one is refuted, or not confirmed although it has to be. Needs the extra `prove`.

    \b
    Example:
      pagedkv prove --timeout 30
    """
    output = Output()
    try:
        stands = prove(output.line, timeout, jobs)
    except CrossHairMissing as error:
        raise CannotRun(str(error)) from error
    output.verdict("every contract stands" if stands else "not every contract stands", stands)
    ctx.exit(Exit.FOUND_NOTHING if stands else Exit.FOUND_FAULTS)
