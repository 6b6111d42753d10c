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
    Embed,
    Group,
    Image,
    Options,
    Prompt,
    World,
)

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
        replace(group, block_size=-(-longest // unit) * unit) if group.kind == "mamba-none" else group
        for group in groups
    ]
    prompts = _random_prompts(rng, longest, block)
    if "cross" in mix:
        prompts = tuple(replace(p, encoder_tokens=rng.randint(1, 3 * sizes["cross"])) for p in prompts)
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
    return block_size * rng.randint(1, 2) if kind == "sink" else rng.randint(2, 3 * block_size + 1)


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


def _random_prompts(rng: Random, longest: int, block: int) -> tuple[Prompt, ...]:
    """A few token sequences that grow from each other, with prompts that end at telling places."""
    sequences = [[rng.randrange(3) for _ in range(longest)]]
    for _ in range(rng.randint(0, 2)):
        parent = rng.choice(sequences)
        fork = rng.randrange(longest)
        sequences.append(parent[:fork] + [rng.randrange(3) for _ in range(longest - fork)])
    prompts = []
    for _ in range(rng.randint(1, 4)):
        tokens = tuple(rng.choice(sequences))
        length = rng.randint(1, longest - 1)
        if rng.random() < 0.3:
            length = min(longest - 1, max(1, length // block * block))
        salt = rng.choice(("a", "b")) if rng.random() < 0.1 else None
        lora = rng.choice(("a", "b")) if rng.random() < 0.1 else None
        images: tuple[Image, ...] = ()
        if rng.random() < 0.1:
            offset = rng.randrange(length)
            images = (Image(rng.choice(("x", "y")), offset, 1),)
        embeds: tuple[Embed, ...] = ()
        if rng.random() < 0.1:
            embeds = _random_embeds(rng, 0, length)
        prompts.append(Prompt(tokens, length, salt, lora, images, embeds))
    if rng.random() < 0.5:
        prompts.append(_continuation(rng, rng.choice(prompts)))
    if rng.random() < 0.25:
        return _random_twins(rng, prompts[0])
    return tuple(prompts)


def _random_embeds(rng: Random, start: int, end: int) -> tuple[Embed, ...]:
    """Embeddings at the positions of a span."""
    first = rng.randrange(start, end)
    return tuple(
        Embed(at, rng.choice(("x", "y"))) for at in range(first, min(end, first + rng.randint(1, 3)))
    )


def _continuation(rng: Random, prompt: Prompt) -> Prompt:
    """What a request for the prompt can go on with, in place of one of its output tokens."""
    kept = rng.randrange(prompt.length, len(prompt.tokens))
    tokens = (*prompt.tokens[:kept], *(rng.randrange(3) for _ in prompt.tokens[kept:]))
    length = rng.randint(kept + 1, len(tokens))
    images, embeds = prompt.images, prompt.embeds
    if rng.random() < 0.4:
        images += (Image(rng.choice(("x", "y")), rng.randrange(kept, length), 1),)
    if rng.random() < 0.4:
        embeds += _random_embeds(rng, kept, length)
    return Prompt(tokens, length, prompt.salt, prompt.lora, images, embeds)


def _random_twins(rng: Random, prompt: Prompt) -> tuple[Prompt, ...]:
    """The same tokens with other salts, adapters, images and embeddings: none may be taken for another."""
    first = rng.randrange(prompt.length)
    other = first ^ 1 if first ^ 1 < prompt.length else first // 2
    return (
        Prompt(prompt.tokens, prompt.length, salt="a"),
        Prompt(prompt.tokens, prompt.length, lora="a"),
        Prompt(prompt.tokens, prompt.length, images=(Image("x", first, 1),)),
        Prompt(prompt.tokens, prompt.length, images=(Image("y", first, 1),)),
        Prompt(prompt.tokens, prompt.length, images=(Image("x", other, 1),)),
        Prompt(prompt.tokens, prompt.length, embeds=(Embed(first, "x"),)),
        Prompt(prompt.tokens, prompt.length, embeds=(Embed(first, "y"),)),
        Prompt(prompt.tokens, prompt.length, embeds=(Embed(other, "x"),)),
    )
