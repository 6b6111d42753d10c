"""``pagedkv clauses``."""

from collections import Counter
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
    """List the rules, each with its sentence and with what checks it: what exactly, for a family or one rule.

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
        _show(output, clause, is_detailed=name is not None)
    output.line()
    output.line(
        f"{len(chosen)} of {len(clauses.ALL)} clauses. Beside these checks, every answer and every state "
        "of a subject that is `exact` is compared with the reference's."
    )


def _show(output: Output, clause: Clause, is_detailed: bool) -> None:
    output.line(clause.id, "bold")
    output.line(_indented(output, "  ", "  ", clause.text))
    checks = list(checks_of(clause))
    if is_detailed:
        for check in checks:
            output.line(_indented(output, "    - ", "      ", f"{check.kind}: {check.meaning}"), "dim")
    else:
        kinds = Counter(check.kind for check in checks)
        words = [f"{count} {kind}{'s' if count > 1 else ''}" for kind, count in kinds.items()]
        output.line(_indented(output, "  ", "  ", f"[{', '.join(words) or 'tests only'}]"), "dim")


def _indented(output: Output, first: str, next_ones: str, text: str) -> str:
    lines = wrap(
        text, output.width, initial_indent=first, subsequent_indent=next_ones, break_on_hyphens=False
    )
    return "\n".join(lines)
