"""What can be judged: how to make an instance of it, and what it declares."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, Literal

from pagedkv.reference import KVCacheManager, Scheduler
from pagedkv.spec import BlockHash, Request, World, get_request_block_hasher, init_none_hash, sha256
from pagedkv.spec.life import Life
from pagedkv.spec.moves import Admit, CommonPrefix, Continue, Evict, Finish, Move, Preempt, Reset, Truncate
from pagedkv.spec.world import Group, Prompt

from .instance import Instance
from .standard import StandardInstance

Strictness = Literal["exact", "renamed", "safety"]


class SubjectUnavailable(Exception):
    """A subject cannot be made here; the message says what to do."""


@dataclass(frozen=True)
class Subject:
    """A manager under test."""

    name: str
    version: str
    strictness: Strictness
    """``exact``: equal to the reference in block ids and eviction order; ``renamed``: up to names of
    blocks; ``safety``: the laws and the worker alone."""
    make: Callable[[World], Instance]
    """A new instance in a world."""
    missing: Mapping[str, str] = field(default_factory=dict)
    """Capabilities that it does not have, each with the reason."""
    refuses: Callable[[World], str | None] = lambda world: None
    """Why a world is not for it, or None."""
    mixes: tuple[str, ...] | None = None
    """The mixes of groups that it can manage; None: all."""
    scheduler: Callable[..., Any] = Scheduler
    """What makes the scheduler of its scheduled lives."""

    def can(self, move: Move) -> bool:
        """Whether the subject has what the move asks for."""
        return self.missing.keys().isdisjoint(needs(move))


FIRST_FOUR = World((Group("full", 1),), 4, 1, (Prompt((0, 0), 1),), 1, 1)
"""The smallest world worth a try."""


def needs(move: Move) -> tuple[str, ...]:
    """The capabilities that a move asks for, beyond those that every subject has."""
    match move:
        case Continue():
            return ("continue",)
        case Evict():
            return ("evict",)
        case Reset():
            return ("reset",)
        case Truncate():
            return ("truncate",)
        case CommonPrefix():
            return ("common prefix",)
        case Admit(valid=valid) if valid is not None:
            return ("evict",)
        case Admit(lookup="divergent"):
            return ("divergent lookup",)
        case Admit(lookup="skip"):
            return ("skipped lookup",)
        case Preempt(withdraw=True, pop=pop):
            return ("withdraw", "pop") if pop else ("withdraw",)
        case Preempt(pop=True) | Finish(pop=True):
            return ("pop",)
    return ()


class OwnRequests:
    """Requests of this project's vocabulary, or of a copy of it."""

    def __init__(
        self,
        world: World,
        request_type: Callable[..., Any] = Request,
        hasher: Callable[[Any], list[BlockHash]] | None = None,
    ) -> None:
        self._world = world
        self._request_type = request_type
        self._hasher = hasher or get_request_block_hasher(world.unit, sha256)

    def make(self, life: Life) -> Any:
        prompt = self._world.prompts[life.prompt]
        return self._request_type(
            life.request,
            prompt.tokens[: prompt.length],
            block_hasher=self._hasher,
            cache_salt=prompt.salt,
            lora_name=prompt.lora,
            mm_features=prompt.features(),
            prompt_embeds=prompt.embeddings(),
        )

    def tell_status(self, request: Any, is_running: bool) -> None:
        request.status = type(request.status)["RUNNING" if is_running else "WAITING"]

    def copy(self, request: Any) -> Any:
        twin = copy.copy(request)
        twin._tokens = request._tokens.copy()
        twin.block_hashes = request.block_hashes.copy()
        return twin


def standard_arguments(world: World, has_events: bool = True) -> dict[str, Any]:
    """What a manager with the standard names is made from; of options only those that the world has.

    Without ``has_events`` it is not asked for any.
    """
    arguments: dict[str, Any] = {
        "max_model_len": world.max_model_len,
        "scheduler_block_size": world.scheduler_block_size,
        "hash_block_size": world.unit,
        "enable_caching": world.enable_caching,
        "use_eagle": world.use_eagle,
    }
    if world.events and has_events:
        arguments["enable_kv_cache_events"] = True
    if world.options.max_in_flight_tokens is not None:
        arguments["max_in_flight_tokens"] = world.options.max_in_flight_tokens
    if world.options.watermark_percent:
        arguments["watermark"] = world.options.watermark_percent / 100
    if world.options.retention_interval is not None:
        arguments["retention_interval"] = world.options.retention_interval
    if world.num_ranks > 1:
        arguments |= {"dcp_world_size": world.dcp, "pcp_world_size": world.pcp}
    if world.options.resend_boundaries:
        arguments["resend_boundaries"] = True
    return arguments


def make_reference(world: World) -> StandardInstance:
    """An instance of the model. Fixes the seed of hashes, so that every run has the same."""
    init_none_hash(sha256, seed="pagedkv")
    manager = KVCacheManager(world.kv_cache_config(), **standard_arguments(world))
    return StandardInstance(world, manager, OwnRequests(world), KVCacheManager.snapshot)


def reference() -> Subject:
    """The model itself."""
    return Subject("reference", version("pagedkv"), "exact", make_reference)
