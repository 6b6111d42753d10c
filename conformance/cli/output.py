"""How commands write: plain text, coloured where a terminal reads it."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from pagedkv.conformance.wording import printable

_WIDEST = 1000
"""Characters that no table needs."""


class Output:
    """The standard output. Text is never taken for markup, and lines are never broken."""

    def __init__(self) -> None:
        self._console = _console()

    @property
    def width(self) -> int:
        """Characters that fit in a line."""
        return min(self._console.width, 120)

    def line(self, text: str = "", style: str = "") -> None:
        """A line, or several."""
        self._console.print(Text(text, style))

    def heading(self, text: str) -> None:
        """A line that something begins with, with room before it."""
        self.line()
        self.line(printable(text), "bold")

    def table(self, table: Table) -> None:
        """Rows and columns."""
        # Cut cells tell nothing: where it is wider than the screen, its lines run on like others.
        wide = _console(_WIDEST)
        width = max(self._console.width, wide.measure(table).maximum)
        _console(width).print(table)

    def verdict(self, text: str, is_good: bool) -> None:
        """The last line."""
        self.line()
        self.line(printable(f"Verdict: {text}"), "bold green" if is_good else "bold red")


def _console(width: int | None = None) -> Console:
    return Console(highlight=False, markup=False, emoji=False, soft_wrap=True, width=width)
