"""A bar for whoever watches. Where nobody does, nothing is drawn."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from pagedkv.conformance.campaign.campaign import Verdict
from pagedkv.conformance.explore import Exploration


@contextmanager
def campaign_progress(budget: int) -> Iterator[Callable[[Verdict], None]]:
    """What a check calls after each run."""
    with _progress(BarColumn(), TimeRemainingColumn()) as progress:
        task = progress.add_task("", total=budget)

        def show(verdict: Verdict) -> None:
            faults = len(verdict.unexpected)
            words = f"{verdict.operations:,} of {budget:,} operations, {verdict.runs:,} runs, {faults} faults"
            progress.update(task, completed=min(verdict.operations, budget), description=words)

        yield show


@contextmanager
def exploration_progress() -> Iterator[Callable[[Exploration, int], None]]:
    """What a search calls now and then. How much is left is not known before it ends."""
    with _progress() as progress:
        task = progress.add_task("", total=None)

        def show(seen: Exploration, waiting: int) -> None:
            words = f"{seen.states:,} states, {seen.edges:,} edges, depth {seen.depth}, {waiting:,} waiting"
            progress.update(task, description=words)

        yield show


def _progress(*columns: BarColumn | TimeRemainingColumn) -> Progress:
    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        *columns,
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
