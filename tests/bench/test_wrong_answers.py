"""A candidate that answers other blocks than the base ends the measurement, with the place named."""

from collections.abc import Sequence
from typing import Any

import pytest

from pagedkv.conformance.bench.candidate import WrongAnswer
from pagedkv.conformance.bench.cases import Case
from pagedkv.conformance.bench.timing import measure
from pagedkv.reference import KVCacheBlocks, KVCacheManager
from pagedkv.spec import Request

from .sides import ADMIT, DECODE, LOOKUP, MODEL, Batched, variant, with_ids


def wrong(case: Case, manager_type: type[KVCacheManager], **changes: Any) -> str:
    """What is said of a manager."""
    with pytest.raises(WrongAnswer) as caught:
        measure(case, [MODEL, variant("wrong", manager_type, **changes)], 3)
    return str(caught.value)


class OtherBlock(KVCacheManager):
    """Answers that a request's new block is another one. Its table is right."""

    def allocate_slots(self, request: Request, *arguments: Any, **named: Any) -> KVCacheBlocks | None:
        answer = super().allocate_slots(request, *arguments, **named)
        if answer is None or request.request_id != "r2" or request.num_tokens <= 258:
            return answer
        return with_ids(self, lambda ids: [block_id + 1 for block_id in ids], answer)


class OneMoreBlock(KVCacheManager):
    """Answers a block too many to a request that is decoded."""

    def allocate_slots(self, request: Request, *arguments: Any, **named: Any) -> KVCacheBlocks | None:
        answer = super().allocate_slots(request, *arguments, **named)
        return with_ids(self, lambda ids: [*ids, 5], answer) if not arguments[1:] else answer


class TurnsDown(KVCacheManager):
    """Serves no token of output."""

    def allocate_slots(self, request: Request, *arguments: Any, **named: Any) -> KVCacheBlocks | None:
        return super().allocate_slots(request, *arguments, **named) if arguments[1:] else None


class FromTheBack(KVCacheManager):
    """Takes the last of the free blocks for a prompt."""

    def allocate_slots(self, request: Request, *arguments: Any, **named: Any) -> KVCacheBlocks | None:
        self.block_pool.queue = self.block_pool.queue[::-1]
        return super().allocate_slots(request, *arguments, **named)


class ShortHit(KVCacheManager):
    """Finds a block less than there is."""

    def get_computed_blocks(self, request: Request) -> tuple[KVCacheBlocks, int, int]:
        blocks, hit, junction = super().get_computed_blocks(request)
        return with_ids(self, lambda ids: ids[:-1], blocks), max(0, hit - 16), junction


class SwapsAnswers(Batched):
    """Gives the first request what is the last one's."""

    def allocate_slots_batch(
        self, requests: Sequence[Request], num_new_tokens: int
    ) -> tuple[list[bool], list[KVCacheBlocks | None]]:
        served, answers = super().allocate_slots_batch(requests, num_new_tokens)
        return served, answers[::-1]


class DropsAPrompt(KVCacheManager):
    """Serves no prompt at all."""

    def allocate_slots(self, request: Request, *arguments: Any, **named: Any) -> KVCacheBlocks | None:
        return None if arguments[1:] else super().allocate_slots(request, *arguments, **named)


def test_another_block_in_a_later_round() -> None:
    # r2 has 258 tokens, so its 273rd, the first of a new block, comes in the 15th round.
    with pytest.raises(WrongAnswer) as caught:
        measure(DECODE, [MODEL, variant("wrong", OtherBlock)], 15)
    said = str(caught.value)
    assert said.startswith("small, round 15: at r2[0] wrong has ")
    left, right = map(int, said.partition("wrong has ")[2].split(" and reference "))
    assert left == right + 1


def test_a_block_too_many() -> None:
    assert wrong(DECODE, OneMoreBlock) == "small, round 1: at r0[1] wrong has 5 and reference no more"


def test_a_request_that_is_not_served() -> None:
    said = wrong(DECODE, TurnsDown)
    assert said.startswith("small, round 1: at r0 wrong has no answer and reference blocks [")


def test_a_request_that_is_not_served_where_no_block_is_due() -> None:
    class OnlyWithBlocks(KVCacheManager):
        """Serves only requests that need a block."""

        def allocate_slots(self, request: Request, *arguments: Any, **named: Any) -> KVCacheBlocks | None:
            answer = super().allocate_slots(request, *arguments, **named)
            return answer if answer and answer.get_block_ids() != ([],) else None

    assert wrong(DECODE, OnlyWithBlocks) == (
        "small, round 1: at r1 wrong has no answer and reference blocks []"
    )


def test_another_order_of_the_queue() -> None:
    assert wrong(ADMIT, FromTheBack).startswith("small, round 1: at r0[0] wrong has ")
    assert wrong(DECODE, FromTheBack).startswith("small, before the first round: at r0[0] wrong has ")


def test_a_shorter_hit() -> None:
    assert wrong(LOOKUP, ShortHit) == "small, round 1: at hit[0] wrong has 112 and reference 128"


def test_a_batched_call_that_differs_from_single_calls() -> None:
    said = wrong(DECODE, SwapsAnswers, is_batched=True)
    assert said.startswith("small, round 1: at r0[0] wrong has ")


def test_a_prompt_that_is_not_served() -> None:
    assert wrong(ADMIT, DropsAPrompt) == "wrong has 64 free blocks and does not serve 4 of them"
