"""``pagedkv clauses``."""

from textwrap import wrap

import click

from pagedkv.conformance.report.checks import checks_of
from pagedkv.spec import clauses
from pagedkv.spec.clauses import Clause

from .errors import CannotRun
from .output import Output


@click.command("clauses")
@click.argument("name", metavar="[FAMILY|ID]", required=False)
def clauses_command(name: str | None) -> None:
    """List the rules, each with its sentence and with what checks it.

    \b
    Examples:
      pagedkv clauses
      pagedkv clauses Pool
      pagedkv clauses Pool/freed_tails_first
    """
    chosen = [clause for clause in clauses.ALL if name in (None, clause.id, clause.id.partition("/")[0])]
    if not chosen:
        families = ", ".join(dict.fromkeys(clause.id.partition("/")[0] for clause in clauses.ALL))
        raise CannotRun(f"there is no clause or family {name!r}: the families are {families}")
    output = Output()
    for i, clause in enumerate(chosen):
        if i:
            output.line()
        _show(output, clause)
    output.line()
    output.line(
        f"{len(chosen)} of {len(clauses.ALL)} clauses. Beside these checks, every answer and every state of a "
        "subject that is `exact` is compared with the reference's."
    )


def _show(output: Output, clause: Clause) -> None:
    output.line(clause.id, "bold")
    indent = {"initial_indent": "  ", "subsequent_indent": "  "}
    output.line("\n".join(wrap(clause.text, output.width, **indent)))
    for check in checks_of(clause):
        hanging = {"initial_indent": "    - ", "subsequent_indent": "      "}
        output.line("\n".join(wrap(f"{check.kind}: {check.meaning}", output.width, **hanging)), "dim")
