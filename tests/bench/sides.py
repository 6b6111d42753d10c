"""Candidates for small measurements: the model, and managers that differ from it in one thing."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from pagedkv.conformance.bench.candidate import Candidate
from pagedkv.conformance.bench.candidates import candidate_named
from pagedkv.conformance.bench.cases import AdmitAndFree, Case, Decode, Load, Lookup
from pagedkv.reference import KVCacheBlocks, KVCacheManager
from pagedkv.spec import Request

MODEL = candidate_named("reference", "cpu")


def small(kind: Callable[..., Load], size: int, *, units: int = 1, has_batch: bool = False) -> Case:
    """A case of a kind, in a size that takes no time."""
    return Case("small", "something small", "thing", units, partial(kind, size=size), has_batch)


DECODE = small(Decode, 32, units=32, has_batch=True)
LOOKUP = small(Lookup, 128)
ADMIT = small(AdmitAndFree, 64)


def variant(name: str, manager_type: type[KVCacheManager], **changes: Any) -> Candidate:
    """The model with another manager."""

    def make_manager(world: Any) -> Any:
        manager = MODEL.make_manager(world)
        manager.__class__ = manager_type
        return manager

    return replace(MODEL, name=name, make_manager=make_manager, **changes)


def with_ids(manager: KVCacheManager, change: Callable[[list[int]], list[int]], blocks: Any) -> KVCacheBlocks:
    """An answer with other ids in its only group."""
    (ids,) = blocks.get_block_ids()
    blocks_by_id = manager.block_pool.blocks
    return manager.create_kv_cache_blocks(([blocks_by_id[i] for i in change(ids)],))


class Batched(KVCacheManager):
    """Has the batched call, by single ones."""

    def allocate_slots_batch(
        self, requests: Sequence[Request], num_new_tokens: int
    ) -> tuple[list[bool], list[KVCacheBlocks | None]]:
        answers = [self.allocate_slots(request, num_new_tokens) for request in requests]
        return [answer is not None for answer in answers], answers
