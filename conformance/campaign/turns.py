"""Which mix of groups each run of a campaign has: all take turns, so that none is left out by chance."""

from collections.abc import Sequence
from itertools import islice
from random import Random

from pagedkv.conformance.subjects import Subject
from pagedkv.conformance.worlds import turns

from .runs import RUNS_PER_SCHEDULED, Avoids, is_scheduled, refusals_of_run

TRIES = 200
"""Worlds of a mix that are drawn before the subject counts as refusing them all."""


def mix_in_turn(seed: int, number: int, mixes: Sequence[str]) -> str:
    """The mix of a run: the same for the same arguments.

    The seed says in which order they come. Runs under the scheduler take turns apart from the others: each
    mix has both sorts, whatever its number is.
    """
    places = turns(mixes)
    order = Random(f"{seed}/mixes").sample(places, len(places))
    scheduled = number // RUNS_PER_SCHEDULED
    place = scheduled if is_scheduled(number) else number - scheduled
    return order[place % len(order)]


def untaken(subject: Subject, mixes: Sequence[str], avoided: Avoids) -> dict[str, str]:
    """The mixes of which no world is for the subject, each with a reason. Draws worlds, changes nothing."""
    reasons = {}
    for mix in mixes:
        refusals = list(islice(refusals_of_run(0, 0, (mix,), subject, avoided), TRIES))
        if len(refusals) == TRIES:
            reasons[mix] = refusals[-1]
    return reasons
