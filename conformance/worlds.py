"""Random worlds: small deployments in which sharing, eviction and waiting are frequent."""

from collections.abc import Sequence
from dataclasses import replace
from math import lcm
from random import Random
from typing import Any

from pagedkv.spec.world import (
    KINDS,
    PLAIN,
    REACHING,
    STATES,
    WHOLE,
    Group,
    Options,
    World,
)

from .prompts import random_prompts, with_more_output

MIXES_WITHOUT_WINDOWS = ("full", "mamba", "full+mamba", "full+full+mamba", "full+mamba+mamba")
MIXES = (
    *MIXES_WITHOUT_WINDOWS,
    "window",
    "chunk",
    "full+window",
    "full+chunk",
    "window+window",
    "window+mamba",
    "full+window+mamba",
    "full+chunk+mamba",
    "full+full+window",
    "full+window+window",
    "full+full",
    "full+full+full",
    "full+full+chunk",
    "full+full+mamba+mamba",
    "full+full+window+mamba",
    "full+window+chunk",
    "full+window+window+mamba",
    "window+chunk",
    "window+window+mamba",
    "chunk+chunk",
    "chunk+mamba",
    "mamba+mamba",
    "latent",
    "full+latent",
    "latent+latent",
    "latent+mamba",
    "latent+window",
    "latent+chunk",
    "latent+mamba+mamba",
    "full+latent+mamba",
    "latent+latent+mamba",
    "latent+window+mamba",
    "mamba+latent",
    "window+full",
    "mamba-all",
    "full+mamba-all",
    "latent+mamba-all",
    "window+mamba-all",
    "chunk+mamba-all",
    "full+full+mamba-all",
    "full+window+mamba-all",
    "full+mamba-all+mamba-all",
    "mamba-none",
    "full+mamba-none",
    "window+mamba-none",
    "full+window+mamba-none",
    "latent+mamba-none+mamba-none",
    "reference",
    "full+reference",
    "latent+reference",
    "reference+reference",
    "reference+window",
    "reference+mamba",
    "reference+mamba-all",
    "sink",
    "full+sink",
    "sink+mamba",
    "sink+window",
    "sink+reference",
    "sink+mamba-all",
    "sink+sink+mamba",
    "sink+cross",
    "cross",
    "full+cross",
    "latent+cross",
    "chunk+cross",
    "full+window+cross",
    "full+mamba+cross",
)
"""The mixes of groups that are drawn from; groups of full attention in one have different specs, groups of
another kind may have equal ones."""
UNCACHED = ("mamba-none", "cross")
"""Kinds beside which caching is off."""


def mix_of(world: World) -> str:
    """The kinds of the world's groups."""
    return "+".join(group.kind for group in world.groups)


def random_world(rng: Random, mixes: tuple[str, ...] = MIXES, options: Sequence[str] | None = None) -> World:
    """A world with one of ``mixes``; the same ``rng`` state gives the same world.

    ``options`` are the names of those that it has; None: chance says which.
    """
    mix = rng.choice(mixes).split("+")
    unit = rng.choice((1, 1, 2, 4))
    sizes = dict.fromkeys(KINDS, unit)
    if len(mix) > 1:
        sizes |= {"full": unit * rng.choice((1, 1, 2, 4)), "mamba": unit * rng.choice((1, 2, 2, 2, 4))}
    if "window" in mix and len(mix) > 1:
        sizes["window"] = unit * rng.choice((1, 1, 2))
    if "latent" in mix and len(mix) > 1:
        sizes["latent"] = unit * rng.choice((1, 1, 2, 4))
    if "mamba-all" in mix and len(mix) > 1:
        sizes["mamba-all"] = unit * rng.choice((1, 2, 2, 4))
    if "reference" in mix and len(mix) > 1:
        sizes["reference"] = unit * rng.choice((1, 1, 2, 4))
    if "sink" in mix and len(mix) > 1:
        sizes["sink"] = unit * rng.choice((1, 1, 2, 4))
    if "cross" in mix:
        sizes["cross"] = unit * rng.choice((1, 2, 4))
    if "chunk" in mix:
        sizes = dict.fromkeys(KINDS, sizes["full"])
    eagle = rng.choice(("none", "none", "all", "full"))
    if eagle == "all" and "chunk" in mix:
        eagle = "none"
    speculative = rng.choice((0, 0, 1, 2))
    counts = dict.fromkeys(KINDS, 0)
    groups = []
    for kind in mix:
        counts[kind] += 1
        groups.append(
            Group(
                KINDS[kind],
                sizes[kind],
                # A draft model reads any of the attention groups: windows in some worlds, by what is drawn.
                eagle=eagle == "full" and (kind in WHOLE or (kind == "window" and unit == 1)),
                speculative=min(speculative, sizes[kind] - 1) if kind in STATES else 0,
                variant=counts[kind] if kind == "full" else rng.choice((1, counts[kind])),
                reach=_random_reach(rng, kind, sizes[kind]) if kind in REACHING else 0,
            )
        )
    block = max(group.block_size for group in groups)
    longest = block * rng.randint(2, 5) + rng.randrange(block)
    groups = [
        replace(group, block_size=-(-longest // unit) * unit, speculative=min(speculative, longest - 1))
        if group.kind == "mamba-none"
        else group
        for group in groups
    ]
    prompts = random_prompts(rng, longest, block)
    if "cross" in mix:
        prompts = tuple(replace(p, encoder_tokens=rng.randint(1, 3 * sizes["cross"])) for p in prompts)
    if "reference" in mix:
        # What lies behind a window matters, also to those whose prompt has it.
        prompts = tuple(with_more_output(rng, p) if rng.random() < 0.5 else p for p in prompts)
    made = max(prompt.encoder_tokens for prompt in prompts)
    per_request = 0
    for group in groups:
        covered = made if group.kind == "cross" else longest
        per_request += group.speculative + (3 if group.kind == "mamba" else -(-covered // group.block_size))
    per_request = per_request or 1
    num_blocks = 2 + per_request + rng.randrange(2 * per_request + 1)
    dcp, pcp = _random_ranks(rng, groups) if "latent" in mix else (1, 1)
    num_blocks += sum(group.reach // group.block_size for group in groups if group.kind == "sink")
    return World(
        groups=tuple(groups),
        num_blocks=num_blocks,
        unit=unit,
        prompts=prompts,
        max_requests=rng.choice((2, 3, 4)),
        max_step_tokens=rng.choice((block, 2 * block, 3 * block + 1, 2 * longest)),
        use_eagle=eagle == "all",
        enable_caching=rng.random() > 0.08 and set(UNCACHED).isdisjoint(mix),
        chunk_limits=tuple(sorted({rng.randint(1, 2 * block) for _ in range(2)})),
        options=_random_options(rng, groups, lcm(*(group.block_size for group in groups)), options),
        dcp=dcp,
        pcp=pcp,
        # In every third world, by what is drawn already.
        events=num_blocks % 3 == 0,
    )


def _random_reach(rng: Random, kind: str, block_size: int) -> int:
    if kind == "sink":
        return block_size * rng.randint(1, 2)
    # It has to end before the output does.
    return rng.randint(1, block_size) if kind == "reference" else rng.randint(2, 3 * block_size + 1)


def turns(mixes: Sequence[str]) -> tuple[str, ...]:
    """Which mixes take turns: of all, those in which hits may end inside blocks more often than others."""
    if len(mixes) < len(MIXES):
        return tuple(mixes)
    inside = [mix for mix in mixes if "mamba" in mix.split("+") and set(mix.split("+")) <= {*WHOLE, "mamba"}]
    return (*mixes, *[mix for mix in inside if set(mix.split("+")) != {"mamba"}] * 4)


def _random_ranks(rng: Random, groups: Sequence[Group]) -> tuple[int, int]:
    """Ranks of decode and prefill, where all can be spread: latent attention is what most often is."""
    spread = [group for group in groups if group.kind not in STATES]
    can_be = all(g.block_size % 4 == 0 and g.kind not in ("window", "chunk") for g in spread)
    is_one = len({group.spec() for group in groups}) == 1
    return rng.choice(((1, 1), (2, 1), (4, 1), *([(1, 2), (2, 2)] if is_one else ()))) if can_be else (1, 1)


def _random_options(
    rng: Random, groups: Sequence[Group], scheduler_block_size: int, names: Sequence[str] | None
) -> Options:
    """These options, or else often a few, each with values small enough to matter."""
    if names is None and rng.random() < 0.4:
        return PLAIN
    drops = max((group.speculative for group in groups), default=0)
    chosen: dict[str, Any] = {
        "num_lookahead_tokens": rng.randint(1, 3),
        "max_drafts": drops or rng.randint(1, 3),
        "max_in_flight": rng.randint(1, 2),
        "max_in_flight_tokens": rng.randint(1, 3 * scheduler_block_size),
        "full_sequence_must_fit": True,
        "watermark_percent": rng.choice((3, 10, 25)),
        "needs_zeroing": True,
        "retention_interval": scheduler_block_size * rng.randint(0, 3),
        "resend_boundaries": True,
        "has_connector": True,
    }
    if names is None:
        names = rng.sample(sorted(chosen), rng.randint(1, 4))
        # A load can fail in part only where attention is alone: that is one mix of many.
        if all(group.kind == "full" for group in groups):
            names.append("has_connector")
    return Options(**{name: chosen[name] for name in names})
