"""Small worlds that are searched to the end, each with the behaviours that it claims to show."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pagedkv.spec.world import Group, Prompt, World

from . import coverage


@dataclass(frozen=True)
class Scope:
    """A world, and what its search must have seen before it may be said to prove anything."""

    name: str
    meaning: str
    world: World
    shows: tuple[str, ...]
    """Behaviours that occur in it, of ``coverage.ALL``."""


_LIFE_OF_A_KEY = (
    coverage.HIT,
    coverage.EVICTION,
    coverage.FAILED,
    coverage.DUPLICATE,
    coverage.PREEMPTED,
    coverage.WITHDRAWN,
    coverage.WITHDRAWN_KEYS,
    coverage.EVICT,
    coverage.RESET,
    coverage.RESET_REFUSED,
)
_PARTS_OF_BLOCKS = (
    coverage.PARTIAL_HIT,
    coverage.OWNER_MOVE,
    coverage.HAND_OFF,
    coverage.DEFERRAL,
    coverage.JUNCTION,
    coverage.CHUNK_WAIT,
)

_FULL = World(
    groups=(Group("full", 1),),
    num_blocks=5,
    unit=1,
    prompts=(Prompt((0, 0, 0), 1), Prompt((0, 1, 1), 2)),
    max_requests=2,
    max_step_tokens=3,
    max_submits=2,
    max_disturbances=2,
    chunk_limits=(1,),
)
_HYBRID = World(
    groups=(Group("full", 2), Group("mamba", 2)),
    num_blocks=8,
    unit=1,
    prompts=(Prompt((0, 0, 0, 0, 0, 0, 0), 5), Prompt((0, 0, 0, 0, 1, 1, 1), 5)),
    max_requests=2,
    max_step_tokens=7,
    max_submits=2,
    max_disturbances=2,
)

SCOPES: Mapping[str, Scope] = {
    scope.name: scope
    for scope in (
        Scope(
            "full",
            "one group of full attention: 4 blocks beside null, two requests, two disturbances",
            _FULL,
            (*_LIFE_OF_A_KEY, coverage.RESUMED),
        ),
        Scope(
            "hybrid",
            "full attention beside mamba, hits inside blocks: two requests, two disturbances; minutes",
            _HYBRID,
            (*_PARTS_OF_BLOCKS, *_LIFE_OF_A_KEY, coverage.RESUMED, coverage.HAND_OFF_DROPPED),
        ),
        Scope(
            "small-full",
            "`full` with 2 blocks, two requests in all and one disturbance: a few seconds",
            replace(
                _FULL,
                num_blocks=3,
                prompts=(Prompt((0, 0), 1), Prompt((0, 1), 1)),
                max_step_tokens=2,
                max_submits=2,
                max_disturbances=1,
            ),
            _LIFE_OF_A_KEY,
        ),
        Scope(
            "small-hybrid",
            "`hybrid` with shorter prompts and no disturbance: a few seconds",
            replace(
                _HYBRID,
                prompts=(Prompt((0, 0, 0, 0), 3), Prompt((0, 0, 0, 1), 4)),
                max_step_tokens=5,
                max_disturbances=0,
            ),
            (*_PARTS_OF_BLOCKS, coverage.HIT, coverage.DUPLICATE),
        ),
    )
}
"""By name."""
