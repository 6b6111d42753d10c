"""A plainer world for a run that shows a fault."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any

from pagedkv.spec import World
from pagedkv.spec.moves import Admit, Move, Schedule
from pagedkv.spec.trace.worlds import reason_against
from pagedkv.spec.world import PLAIN, Embed, Prompt

from .minimise import is_same, minimise
from .runs import Run

Play = Callable[[World, Sequence[Move]], Run | None]
"""Plays moves in a world, None where the subject is not for it."""

_Variant = tuple[World, tuple[Move, ...]]
_Variants = Callable[[World, tuple[Move, ...]], Iterator[_Variant]]


def simplify_world(run: Run, play: Play) -> Run:
    """The fault of the run in a world without what it does not need, and in no more calls than before.

    Steps become as long as they can be, prompts and blocks as short; draft models, speculative blocks, salts,
    adapters and images go, and so do spare blocks.
    """
    best = run
    while True:
        simpler = best
        others: tuple[_Variants, ...] = (
            _longer_steps,
            _without_options,
            *_SIZES,
            *_other_prompts(run.world),
        )
        for variants in others:
            simpler = _first_better(simpler, variants(simpler.world, simpler.moves), play)
        if simpler is best:
            return best
        best = _minimised(simpler, play)


def _minimised(run: Run, play: Play) -> Run:
    return minimise(run, lambda moves: play(run.world, moves) or run)


def _first_better(run: Run, variants: Iterator[_Variant], play: Play) -> Run:
    for world, moves in variants:
        # Smaller sizes may no longer go together.
        candidate = None if reason_against(world) else play(world, moves)
        if candidate and is_same(candidate, run) and _weight(candidate) < _weight(run):
            return candidate
    return run


def _weight(run: Run) -> tuple[int, ...]:
    """What is to become less, the most important first. Calls come before all, so it never grows for good."""
    world, prompts = run.world, run.world.prompts
    return (
        run.operations,
        len(run.moves),
        sum(getattr(world.options, f.name) != f.default for f in fields(PLAIN)),
        len(world.eagle_groups),
        sum(group.speculative for group in world.groups),
        sum(value != getattr(PLAIN, name) for name, value in vars(world.options).items()),
        sum(group.block_size for group in world.groups),
        sum((p.salt is not None) + (p.lora is not None) + len(p.images) + len(p.embeds) for p in prompts),
        world.num_blocks,
        sum(len(p.tokens) for p in prompts),
        sum(p.length for p in prompts),
        len(world.chunk_limits),
        sum(isinstance(m, (Admit, Schedule)) and m.limit < world.max_model_len for m in run.moves),
        abs(world.max_step_tokens - _longest_step(world)),
        world.events,
    )


def _longest_step(world: World) -> int:
    return world.max_model_len * world.max_requests


def _longer_steps(world: World, moves: tuple[Move, ...]) -> Iterator[_Variant]:
    longest = world.max_model_len
    if world.max_step_tokens != _longest_step(world) or world.chunk_limits:
        long_steps = replace(world, max_step_tokens=_longest_step(world), chunk_limits=())
        yield long_steps, tuple(_with_limit(move, longest) for move in moves)
        yield long_steps, moves
    for i, move in enumerate(moves):
        if isinstance(move, (Admit, Schedule)) and move.limit < longest:
            yield world, (*moves[:i], _with_limit(move, longest), *moves[i + 1 :])


def _with_limit(move: Move, limit: int) -> Move:
    return replace(move, limit=limit) if isinstance(move, (Admit, Schedule)) else move


def _without_options(world: World, moves: tuple[Move, ...]) -> Iterator[_Variant]:
    if world.options != PLAIN:
        yield replace(world, options=PLAIN), moves
        for option in fields(PLAIN):
            default: dict[str, Any] = {option.name: option.default}
            off = replace(world.options, **default)
            if off != world.options:
                yield replace(world, options=off), moves
    plain = tuple(replace(group, eagle=False, speculative=0) for group in world.groups)
    if world.eagle_groups or plain != world.groups:
        yield replace(world, use_eagle=False, groups=plain), moves
    if world.eagle_groups:
        same = tuple(replace(group, eagle=False) for group in world.groups)
        yield replace(world, use_eagle=False, groups=same), moves
    if world.num_ranks > 1:
        yield replace(world, dcp=1, pcp=1), moves
    if world.events:
        yield replace(world, events=False), moves
    if any(group.speculative for group in world.groups):
        yield replace(world, groups=tuple(replace(group, speculative=0) for group in world.groups)), moves
    for name, value in vars(PLAIN).items():
        if getattr(world.options, name) != value:
            yield replace(world, options=replace(world.options, **{name: value})), moves


def _units_of_one_token(world: World, moves: tuple[Move, ...]) -> Iterator[_Variant]:
    unit = world.unit
    if unit > 1:
        groups = tuple(
            replace(group, block_size=group.block_size // unit, reach=-(-group.reach // unit))
            for group in world.groups
        )
        prompts = tuple(
            replace(
                prompt,
                tokens=prompt.tokens[::unit],
                length=-(-prompt.length // unit),
                encoder_tokens=-(-prompt.encoder_tokens // unit),
                images=tuple(replace(i, offset=i.offset // unit, length=1) for i in prompt.images),
                embeds=tuple(replace(e, position=e.position // unit) for e in _one_a_unit(prompt, unit)),
            )
            for prompt in world.prompts
        )
        yield replace(world, unit=1, groups=groups, prompts=prompts), moves


def _one_a_unit(prompt: Prompt, unit: int) -> Collection[Embed]:
    return {embed.position // unit: embed for embed in prompt.embeds}.values()


def _smaller_blocks(kind: str, world: World, moves: tuple[Move, ...]) -> Iterator[_Variant]:
    if any(group.kind == "chunk" for group in world.groups):
        return
    sizes = [group.block_size for group in world.groups if group.kind == kind]
    if sizes and all(size % (2 * world.unit) == 0 for size in sizes):
        yield (
            replace(
                world,
                groups=tuple(
                    replace(group, block_size=group.block_size // 2) if group.kind == kind else group
                    for group in world.groups
                ),
            ),
            moves,
        )


def _fewer_blocks(world: World, moves: tuple[Move, ...]) -> Iterator[_Variant]:
    for fewer in _steps_down(world.num_blocks, 2):
        yield replace(world, num_blocks=fewer), moves


_SIZES: tuple[_Variants, ...] = (
    _units_of_one_token,
    partial(_smaller_blocks, "full"),
    partial(_smaller_blocks, "mamba"),
    partial(_smaller_blocks, "window"),
    _fewer_blocks,
)


def _other_prompts(world: World) -> Iterator[_Variants]:
    for p in range(len(world.prompts)):
        for others in (
            _without_extras,
            _with_shorter_output,
            _with_shorter_prompt,
            _with_longer_prompt,
            _with_shorter_encoding,
        ):
            yield partial(_with_prompt, p, others)


def _with_prompt(
    p: int, others: Callable[[Prompt], Iterator[Prompt]], world: World, moves: tuple[Move, ...]
) -> Iterator[_Variant]:
    for prompt in others(world.prompts[p]):
        yield replace(world, prompts=(*world.prompts[:p], prompt, *world.prompts[p + 1 :])), moves


def _without_extras(prompt: Prompt) -> Iterator[Prompt]:
    plain = replace(prompt, salt=None, lora=None, images=(), embeds=())
    if plain != prompt:
        yield plain


def _with_shorter_output(prompt: Prompt) -> Iterator[Prompt]:
    for length in _steps_down(len(prompt.tokens), prompt.length):
        yield replace(prompt, tokens=prompt.tokens[:length])


def _with_shorter_prompt(prompt: Prompt) -> Iterator[Prompt]:
    ends = (image.offset + image.length for image in prompt.images)
    least = max([1, *ends, *(embed.position + 1 for embed in prompt.embeds)])
    for length in _steps_down(prompt.length, least):
        yield replace(prompt, length=length)


def _with_longer_prompt(prompt: Prompt) -> Iterator[Prompt]:
    # Output comes token by token, each in a pass of its own.
    for more in _steps_down(len(prompt.tokens) - prompt.length, 0):
        yield replace(prompt, length=len(prompt.tokens) - more)


def _with_shorter_encoding(prompt: Prompt) -> Iterator[Prompt]:
    for made in _steps_down(prompt.encoder_tokens, 0):
        yield replace(prompt, encoder_tokens=made)


def _steps_down(number: int, least: int) -> Iterator[int]:
    """Smaller numbers, the smallest first, then ever closer to ``number``."""
    step = number - least
    while step > 0:
        yield number - step
        step //= 2
