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
from pagedkv.conformance.group_text import MIX_IN_WORDS, fault_in_mix
from pagedkv.conformance.subjects import Subject
from pagedkv.conformance.torch_subject import DEVICE, NAME

from .errors import CannotRun


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
    fault = fault_in_mix(text)
    if fault:
        raise CannotRun(f"--groups {text}: {fault}: name {MIX_IN_WORDS}")
    return text


def refuse_mix(subject: Subject, mix: str, advice: str) -> None:
    """Raise ``CannotRun`` for a mix of groups that the subject does not manage; ``advice`` is what to ask."""
    if subject.mixes is None or mix in subject.mixes:
        return
    fault = f"{subject.name} manages {', '.join(subject.mixes)} and not {mix}: {advice}"
    if ":" in subject.name:
        fault += ", or say with an attribute `groups` of the factory that it manages more, such as "
        fault += f"{subject.name.partition(':')[2]}.groups = {(*subject.mixes, mix)!r}"
    raise CannotRun(fault)


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
