"""Random choice among enabled moves."""

from collections.abc import Sequence
from random import Random

from pagedkv.spec.moves import (
    Admit,
    BeginPass,
    CommonPrefix,
    Continue,
    EndPass,
    Evict,
    Finish,
    Loaded,
    Move,
    Preempt,
    Reset,
    Schedule,
    Settle,
    Submit,
    Truncate,
)

WEIGHTS: dict[type[Move], float] = {
    Submit: 6,
    Continue: 8,
    BeginPass: 12,
    Admit: 14,
    Schedule: 20,
    Preempt: 0.7,
    Finish: 1.5,
    EndPass: 5,
    Settle: 8,
    Loaded: 8,
    Evict: 0.8,
    Reset: 0.3,
    Truncate: 0.5,
    CommonPrefix: 0.5,
}
"""How often a kind of move is chosen while it is enabled, in relation to the others."""


def choose_move(rng: Random, moves: Sequence[Move]) -> Move:
    """One of ``moves``: first its kind by weight, then one of that kind, each as likely."""
    kinds = list(dict.fromkeys(type(move) for move in moves))
    (kind,) = rng.choices(kinds, [WEIGHTS[kind] for kind in kinds])
    return rng.choice([move for move in moves if type(move) is kind])
