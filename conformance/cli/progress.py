"""A bar for whoever watches. Where nobody does, nothing is drawn."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from pagedkv.conformance.campaign.campaign import Verdict
from pagedkv.conformance.explore import Exploration
from pagedkv.conformance.workload.replay import Replay
from pagedkv.spec import World

_MOVES_SHOWN = 100
"""Moves of a replay from one look at the bar to the next."""


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


@contextmanager
def bench_progress(effort: int) -> Iterator[Callable[[str, int], None]]:
    """What a benchmark calls, with what it measures and how much of the effort was just spent."""
    with _progress(BarColumn(), TimeRemainingColumn()) as progress:
        task = progress.add_task("", total=effort)

        def show(name: str, spent: int) -> None:
            progress.update(task, advance=spent, description=name)

        yield show


@contextmanager
def workload_progress(world: World) -> Iterator[Callable[[Replay], None]]:
    """What a replay of the world's prompts calls after each move."""
    # One call for each token of output, and some for each prompt.
    total = sum(
        len(prompt.tokens) - prompt.length + -(-prompt.length // world.max_step_tokens)
        for prompt in world.prompts
    )
    with _progress(BarColumn(), TimeRemainingColumn()) as progress:
        task = progress.add_task("", total=total)

        def show(replay: Replay) -> None:
            figures = replay.figures
            if figures.moves % _MOVES_SHOWN == 0:
                words = (
                    f"{figures.requests:,} of {len(world.prompts):,} requests, {figures.passes:,} passes, "
                    f"hit rate {figures.hit_rate:.2%}"
                )
                progress.update(task, completed=min(figures.served, total), description=words)

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
