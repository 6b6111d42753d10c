"""``pagedkv prove``."""

import click

from pagedkv.conformance.campaign.campaign import Exit
from pagedkv.conformance.faults.patching import BadPatch
from pagedkv.conformance.proofs.fault_matrix import prove_faults
from pagedkv.conformance.proofs.gate import CrossHairMissing, prove

from .errors import CannotRun
from .options import SECONDS
from .output import Output


@click.command("prove")
@click.option(
    "--faults", is_flag=True, help="Plant faults into the rules instead, and see that each is refuted."
)
@click.option(
    "--timeout",
    type=SECONDS,
    default=120.0,
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
    if one is refuted, or not confirmed although it has to be. With --faults each contract has to refute the
    faults of its rule, planted one after the other; ends with 1 if one survives. Needs the extra `prove`.

    \b
    Examples:
      pagedkv prove --timeout 30
      pagedkv prove --faults
    """
    output = Output()
    try:
        is_good = (prove_faults if faults else prove)(output.line, timeout, jobs)
    except CrossHairMissing as error:
        raise CannotRun(str(error)) from error
    except BadPatch as error:
        raise CannotRun(f"a fault does not fit this version of the package: {error}") from error
    if faults:
        words = "every fault of a rule is refuted" if is_good else "a fault of a rule survives"
    else:
        words = "every contract stands" if is_good else "a contract does not stand"
    output.verdict(words, is_good)
    ctx.exit(Exit.FOUND_NOTHING if is_good else Exit.FOUND_FAULTS)
