"""How commands write: plain text, coloured where a terminal reads it."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from pagedkv.conformance.wording import printable


class Output:
    """The standard output. Text is never taken for markup, and lines are never broken."""

    def __init__(self) -> None:
        self._console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)

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
        self._console.print(table)

    def verdict(self, text: str, is_good: bool) -> None:
        """The last line."""
        self.line()
        self.line(printable(f"Verdict: {text}"), "bold green" if is_good else "bold red")
