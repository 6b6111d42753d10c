"""Values that commands take."""

import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from math import isfinite
from types import FrameType
from typing import Any, NoReturn

import click

from pagedkv.conformance.campaign.campaign import random_seed
from pagedkv.conformance.torch_subject import DEVICE, NAME
from pagedkv.spec.world import KINDS

from .errors import CannotRun

MOST_GROUPS = 4


def seed_of(ctx: click.Context, param: click.Parameter, text: str) -> int:
    """The seed that a text names: a whole number, or a drawn one for ``random``."""
    if text == "random":
        return random_seed()
    if not re.fullmatch("-?[0-9]{1,18}", text):
        raise click.BadParameter(
            f"{text!r} is no seed: name a whole number of at most 18 digits, or `random`"
        )
    return int(text)


def checked_mix(text: str) -> str:
    """A mix of groups as it was written. Raises ``CannotRun`` for what is none."""
    groups = text.split("+")
    unknown = [group for group in groups if group not in KINDS]
    if unknown or len(groups) > MOST_GROUPS:
        fault = (
            f"there is no kind of group {unknown[0]!r}" if unknown else f"{len(groups)} groups are too many"
        )
        raise CannotRun(
            f"--groups {text}: {fault}: name one to {MOST_GROUPS} of {', '.join(KINDS)} with + between them, "
            "such as full+mamba"
        )
    return text


class _Seconds(click.FloatRange):
    """A time that ends: more than 0, and no `inf` or `nan`, which no clock ever reaches."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The seconds that a text names."""
        seconds = super().convert(value, param, ctx)
        if not isfinite(seconds):
            self.fail(f"{seconds:g} is no number of seconds", param, ctx)
        return seconds


SECONDS = _Seconds(min=0, min_open=True)
"""What the option `--timeout` takes."""

device_option = click.option(
    "--device",
    metavar="DEVICE",
    help="Where the torch manager `impl` keeps its state: cpu, which is the default, or cuda.",
)


def on_device(name: str, device: str | None) -> str:
    """The subject ``name`` on a device of torch. Raises ``CannotRun`` if it has none."""
    if device is None:
        return name
    if not device:
        raise CannotRun("--device is empty: name a device of torch, such as cpu or cuda")
    if name.partition(DEVICE)[0] == NAME and name != NAME:
        raise CannotRun(f"--device {device}: {name!r} names a device already: take one of the two")
    if name != NAME:
        raise CannotRun(f"--device {device}: {name!r} has none: only `{NAME}`, the torch manager, does")
    return NAME + DEVICE + device


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
