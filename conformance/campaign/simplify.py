"""A plainer world for a run that shows a fault."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from pagedkv.spec import World
from pagedkv.spec.moves import Admit, Move, Schedule
from pagedkv.spec.world import Prompt

from .minimise import is_same, minimise
from .runs import Run

Play = Callable[[World, Sequence[Move]], Run | None]
"""Plays moves in a world, None where the subject is not for it."""

Variant = tuple[World, tuple[Move, ...]]


def simplify_world(run: Run, play: Play) -> Run:
    """The fault of the run in a world without what it does not need, and in no more calls than before.

    Steps become as long as they can be, prompts as short; draft models, speculative blocks, salts, adapters
    and images go, and so do spare blocks.
    """
    best = run
    while simpler := _simpler(best, play):
        best = simpler
    return best


def _simpler(run: Run, play: Play) -> Run | None:
    for world, moves in _variants(run.world, run.moves):
        candidate = play(world, moves)
        if candidate and is_same(candidate, run) and candidate.operations <= run.operations:
            return minimise(candidate, lambda moves, world=world: play(world, moves) or candidate)
    return None


def _variants(world: World, moves: tuple[Move, ...]) -> Iterator[Variant]:
    longest = world.max_model_len
    most = longest * world.max_requests
    if world.max_step_tokens != most or world.chunk_limits:
        long_steps = replace(world, max_step_tokens=most, chunk_limits=())
        yield long_steps, tuple(_with_limit(move, longest) for move in moves)
        yield long_steps, moves
    for i, move in enumerate(moves):
        if isinstance(move, (Admit, Schedule)) and move.limit < longest:
            yield world, (*moves[:i], _with_limit(move, longest), *moves[i + 1 :])
    groups = world.groups
    if world.use_eagle or any(group.eagle for group in groups):
        yield replace(world, use_eagle=False, groups=tuple(replace(g, eagle=False) for g in groups)), moves
    if any(group.speculative for group in groups):
        yield replace(world, groups=tuple(replace(g, speculative=0) for g in groups)), moves
    if world.num_blocks > 2:
        yield replace(world, num_blocks=world.num_blocks - 1), moves
    for p, prompt in enumerate(world.prompts):
        for plainer in _plainer(prompt):
            yield replace(world, prompts=(*world.prompts[:p], plainer, *world.prompts[p + 1 :])), moves


def _with_limit(move: Move, limit: int) -> Move:
    return replace(move, limit=limit) if isinstance(move, (Admit, Schedule)) else move


def _plainer(prompt: Prompt) -> Iterator[Prompt]:
    if prompt.salt is not None:
        yield replace(prompt, salt=None)
    if prompt.lora is not None:
        yield replace(prompt, lora=None)
    if prompt.images:
        yield replace(prompt, images=())
    if len(prompt.tokens) > prompt.length:
        yield replace(prompt, tokens=prompt.tokens[:-1])
    if prompt.length > max((image.offset + image.length for image in prompt.images), default=1):
        yield replace(prompt, length=prompt.length - 1)
