"""Random worlds: small deployments in which sharing, eviction and waiting are frequent."""

from collections.abc import Sequence
from math import lcm
from random import Random
from typing import Any

from pagedkv.spec.world import KINDS, PLAIN, REACHING, Embed, Group, Image, Options, Prompt, World

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
)
"""The mixes of groups that are drawn from; ``full+full`` have different specs."""


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
                eagle=eagle == "full" and kind == "full",
                speculative=min(speculative, sizes["mamba"] - 1) if kind == "mamba" else 0,
                variant=counts[kind] if kind == "full" else rng.choice((1, counts[kind])),
                reach=rng.randint(2, 3 * sizes[kind] + 1) if kind in REACHING else 0,
            )
        )
    sizes_used = [group.block_size for group in groups]
    block = max(sizes_used)
    longest = block * rng.randint(2, 5) + rng.randrange(block)
    prompts = _random_prompts(rng, longest, block)
    per_request = sum(
        3 + group.speculative if group.kind == "mamba" else -(-longest // group.block_size)
        for group in groups
    )
    num_blocks = 2 + per_request + rng.randrange(2 * per_request + 1)
    return World(
        groups=tuple(groups),
        num_blocks=num_blocks,
        unit=unit,
        prompts=prompts,
        max_requests=rng.choice((2, 3, 4)),
        max_step_tokens=rng.choice((block, 2 * block, 3 * block + 1, 2 * longest)),
        use_eagle=eagle == "all",
        enable_caching=rng.random() > 0.08,
        chunk_limits=tuple(sorted({rng.randint(1, 2 * block) for _ in range(2)})),
        options=_random_options(rng, groups, lcm(*sizes_used), options),
        # In every third world, by what is drawn already.
        events=num_blocks % 3 == 0,
    )


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
