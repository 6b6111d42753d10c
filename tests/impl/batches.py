"""Batches of calls in random states, and what was special about each."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from hypothesis.strategies import DrawFn, composite, integers, lists, none, sampled_from

from pagedkv.conformance.loop import LoopState
from pagedkv.conformance.worlds import random_world
from pagedkv.impl import KVCacheManager
from pagedkv.spec import BlockHashWithGroupId, Request, RequestStatus, Snapshot, World

from .lives import manager_of, requests_of, twin_of


@dataclass(frozen=True)
class Step:
    """Calls of one batch."""

    requests: list[Request]
    """One that is there twice is the same object."""
    counts: list[int]
    tokens: list[list[int]] | None
    """What is appended to each first."""


@dataclass(frozen=True)
class Plan:
    """Batches one after the other on a manager in some state, by request and number of tokens."""

    state: LoopState
    requests: list[Request]
    wanted: list[list[tuple[int, int]]]
    """Per batch, which request is to get how many tokens, if it may have as many."""
    appended: list[list[int]] | None

    def twin(self) -> tuple[KVCacheManager, list[Request]]:
        """An independent manager in that state, and requests of its own."""
        return manager_of(self.state).copy(), [twin_of(self.state.world, r) for r in self.requests]

    def step(self, number: int, own: Sequence[Request]) -> Step:
        """The calls of one batch on a twin's requests that none of its guards refuses."""
        longest = self.state.world.max_model_len
        calls = [
            (own[i], min(count, longest - own[i].num_computed_tokens))
            for i, count in self.wanted[number]
            if own[i].num_computed_tokens < longest
        ]
        tokens = None if self.appended is None else [self.appended[i % 6] for i in range(len(calls))]
        return Step([request for request, _ in calls], [count for _, count in calls], tokens)


def advance(step: Step, served: Sequence[bool]) -> None:
    """Let those that were served have computed what they asked for, and have a token to go on with."""
    ends = [r.num_computed_tokens + n for r, n in zip(step.requests, step.counts, strict=True)]
    for request, end, is_served in zip(step.requests, ends, served, strict=True):
        if is_served:
            request.num_computed_tokens = min(end, request.num_tokens)
        if request.num_computed_tokens == request.num_tokens:
            request.append_output_token_ids(0)


@composite
def worlds(draw: DrawFn, mix: str, enable_caching: bool) -> tuple[World, Random]:
    """A world of these groups, in which blocks may be scarce, and the state of chance after it."""
    rng = Random(draw(integers(0, 2**32 - 1)))
    world = random_world(rng, (mix,))
    num_blocks = max(8, world.num_blocks * draw(sampled_from((2, 3, 4, 6, 12))) // 4)
    options = replace(world.options, watermark_percent=rng.choice((0, 0, 10, 30)))
    return replace(
        world,
        max_requests=6,
        num_blocks=num_blocks,
        enable_caching=enable_caching,
        events=True,
        options=options,
    ), rng


@composite
def plans(draw: DrawFn, state: LoopState, rng: Random) -> Plan:
    """A few batches."""
    known = requests_of(state)
    if draw(integers(0, 3)):
        known = [request for request in known if state.lives[request.request_id].is_running]
    for request in known:
        request.num_in_flight_tokens = rng.choice((0, 0, min(2, request.num_computed_tokens)))
        request.status = rng.choice((RequestStatus.RUNNING, RequestStatus.RUNNING, RequestStatus.WAITING))
    # Mostly everybody once, as in a step.
    again = draw(lists(integers(0, 5), max_size=2)) if known and draw(integers(0, 3)) == 3 else []
    chosen = rng.sample(range(len(known)), len(known)) + [i % len(known) for i in again]
    size = state.world.scheduler_block_size
    longest = draw(sampled_from((1, 2, size, 2 * size)))
    wanted = [[(i, draw(integers(1, longest))) for i in chosen] for _ in range(3)]
    appended = draw(none() | lists(lists(integers(0, 2), max_size=2), min_size=6, max_size=6))
    return Plan(state, known, wanted, appended)


def traits(
    world: World,
    step: Step,
    before: Snapshot[BlockHashWithGroupId],
    after: Snapshot[BlockHashWithGroupId],
    served: list[bool],
) -> dict[str, bool]:
    """What was special about a batch and its state."""
    ids = [request.request_id for request in step.requests]
    held = [block for table in before.tables.values() for row in table for block in row if block]
    let_go = [
        block
        for request_id in before.tables.keys() & set(ids)
        for old, new in zip(before.tables[request_id], after.tables[request_id], strict=True)
        for block in set(old) - set(new) - {0}
    ]
    more_holders = [len(new) > len(before.index.get(key, ())) > 0 for key, new in after.index.items()]
    return {
        "a request comes twice": len(set(ids)) < len(ids),
        "a request has no table": not before.tables.keys() >= set(ids),
        "one is refused before one that is served": served != sorted(served, reverse=True),
        "tokens are appended": any(step.tokens or ()),
        "steps are in flight": any(request.num_in_flight_tokens for request in step.requests),
        "the watermark holds for one with a table": bool(world.options.watermark_percent)
        and any(r.status is RequestStatus.WAITING and r.request_id in before.tables for r in step.requests),
        "nothing is cached": not world.enable_caching,
        "hits are given up for EAGLE": bool(world.eagle_groups),
        "hits end inside blocks": world.is_fine_grained,
        "there are speculative blocks": any(group.speculative for group in world.groups),
        "there are kinds of groups": len({group.spec() for group in world.groups}) > 1,
        "a partial entry moves": len(after.copies) > len(before.copies),
        "blocks are shared": len(set(held)) < len(held),
        "a block with keys is let go": any(before.keys[block] for block in let_go),
        "a block without keys is let go": any(not before.keys[block] for block in let_go),
        "a key gets another holder": any(more_holders),
        "a key is evicted": not before.index.keys() <= after.index.keys(),
    }
