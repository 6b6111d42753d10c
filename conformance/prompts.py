"""Random prompts that share beginnings."""

from dataclasses import replace
from random import Random

from pagedkv.spec.world import Embed, Image, Prompt


def random_prompts(rng: Random, longest: int, block: int) -> tuple[Prompt, ...]:
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


def with_more_output(rng: Random, prompt: Prompt) -> Prompt:
    """The same tokens, of which perhaps fewer are the prompt."""
    begins = [image.offset for image in prompt.images] + [embed.position for embed in prompt.embeds]
    first = max(begins, default=0) + 1
    return replace(prompt, length=rng.randint(first, min(first + 2, prompt.length)))


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
