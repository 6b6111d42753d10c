"""Values that commands take."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn, get_args

import click

from pagedkv.spec.world import GroupKind

from .errors import CannotRun

KINDS: tuple[str, ...] = get_args(GroupKind)
MOST_GROUPS = 4


class Seed(click.ParamType):
    """A whole number, or ``random``, which is None."""

    name = "seed"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | None:
        """The number; fails with a sentence."""
        if value is None or isinstance(value, int) or value == "random":
            return value if isinstance(value, int) else None
        if not value.lstrip("-").isdecimal() or abs(int(value)) >= 2**63:
            self.fail(f"{value!r} is no seed: name a whole number of at most 63 bits, or `random`", param, ctx)
        return int(value)


SEED = Seed()


def checked_mix(text: str) -> str:
    """A mix of groups as it was written. Raises ``CannotRun`` for what is none."""
    groups = text.split("+")
    unknown = [group for group in groups if group not in KINDS]
    if unknown or len(groups) > MOST_GROUPS:
        fault = f"there is no kind of group {unknown[0]!r}" if unknown else f"{len(groups)} groups are too many"
        raise CannotRun(
            f"--groups {text}: {fault}: name one to {MOST_GROUPS} of {', '.join(KINDS)} with + between them, "
            "such as full+mamba"
        )
    return text


@contextmanager
def interrupted_by_termination() -> Iterator[None]:
    """A polite request to end is an interrupt in here, so that what was found is kept."""

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
