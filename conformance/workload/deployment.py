"""What a trace is replayed on: the deployment, and the world that it is together with the requests."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from pagedkv.conformance.demand import most_blocks
from pagedkv.conformance.group_text import BadDeployment, group_in_words
from pagedkv.spec import World
from pagedkv.spec.trace.worlds import reason_against
from pagedkv.spec.world import Group, Prompt

from .tokens import RequestTokens
from .trace import BadWorkload, TracedRequest


@dataclass(frozen=True)
class Deployment:
    """Groups and limits."""

    groups: tuple[Group, ...]
    num_blocks: int
    """The null block among them."""
    unit: int
    """Tokens per hash."""
    budget: int
    """The most tokens of a pass."""
    max_running: int

    def groups_in_words(self) -> str:
        """The groups as they are asked for, such as ``full:256,mamba:512``."""
        return ",".join(map(group_in_words, self.groups))


def world_of(path: Path, requests: Sequence[TracedRequest], deployment: Deployment) -> World:
    """The world of these requests, read from ``path``: prompt ``i`` is that of request ``i``.

    Raises ``BadDeployment`` where no manager can be made, and ``BadWorkload`` for a request that may not fit
    into the pool even alone.
    """
    outputs = accumulate((request.output_length for request in requests), initial=0)
    prompts = tuple(
        Prompt(RequestTokens(r.hash_ids, r.input_length, r.output_length, before), r.input_length)
        for r, before in zip(requests, outputs, strict=False)
    )
    world = World(
        deployment.groups,
        deployment.num_blocks,
        deployment.unit,
        prompts,
        max_requests=len(requests),
        max_step_tokens=deployment.budget,
    )
    reason = reason_against(world)
    if reason:
        raise BadDeployment(f"no manager can be made with these sizes; they have to be such that {reason}")
    for request, prompt in zip(requests, prompts, strict=True):
        needed = len(world.sinks) + most_blocks(world, len(prompt.tokens), prompt.encoder_tokens)
        if needed >= world.num_blocks:
            raise BadWorkload(
                path,
                request.line,
                f"the request needs up to {needed} blocks for its {len(prompt.tokens)} tokens, and a pool of "
                f"{world.num_blocks} has {world.num_blocks - 1} beside the null block: raise --blocks to "
                f"{needed + 1}, or stop before it with --limit",
            )
    return world
