"""Managers that users bring as ``module:factory``."""

import inspect
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from pagedkv.spec import Snapshot, World, init_none_hash, require, sha256
from pagedkv.spec.clauses import Clause, allocation, copies, events
from pagedkv.spec.clauses import hit as hit_clauses
from pagedkv.spec.event_names import EventName
from pagedkv.spec.life import Life
from pagedkv.spec.outcomes import Found
from pagedkv.spec.snapshot import HandOffName, KeyName, Rows
from pagedkv.spec.world import PLAIN

from .event_forms import neutral_events
from .group_text import MIX_IN_WORDS, fault_in_mix
from .instance import Ask, Instance
from .live_requests import LiveRequests
from .standard import StandardInstance
from .subjects import FIRST_FOUR, OwnRequests, Subject, SubjectUnavailable, standard_arguments
from .worlds import mix_of


def subject_of_factory(name: str, factory: Callable[..., Any]) -> Subject:
    """A subject of a factory, made once on a small world to see what it offers.

    A factory that takes ``scheduler_block_size`` makes managers with the standard names; any other is
    called with a ``World`` and makes a ``pagedkv.spec.interface.Manager``. Its attribute ``groups`` names
    the mixes of groups it can manage, such as ``("full", "full+mamba")``; without it, all with standard
    names, else ``("full",)``. Raises ``SubjectUnavailable`` for what is no factory and names no mixes.
    """
    try:
        is_standard = "scheduler_block_size" in inspect.signature(factory).parameters
    except (TypeError, ValueError) as error:
        raise SubjectUnavailable(f"{name!r} is not a factory: {error}") from error
    if is_standard:
        has_snapshot, has_events = hasattr(factory, "snapshot"), hasattr(factory, "take_events")
        return Subject(
            name,
            _version(factory),
            "exact" if has_snapshot else "safety",
            lambda world: _standard(world, factory, has_snapshot, has_events),
            {} if has_events else {"events": "it has no method `take_events`"},
            mixes=_declared_mixes(name, factory, None),
        )
    trial = _trial(name, factory)
    missing = {
        capability: f"its manager has no method `{method}`"
        for capability, method in (
            ("evict", "evict"),
            ("reset", "reset"),
            ("state", "snapshot"),
            ("events", "events"),
        )
        if not hasattr(trial, method)
    }
    for capability in (
        "truncate",
        "common prefix",
        "divergent lookup",
        "skipped lookup",
        "pop",
        "withdraw",
        "continue",
    ):
        missing[capability] = "the least interface of a manager does not have it"
    return Subject(
        name,
        _version(factory),
        "safety",
        lambda world: OwnInstance(world, factory(world)),
        missing,
        refuses=lambda world: (
            "the least interface of a manager is asked for tokens alone" if world.options != PLAIN else None
        ),
        mixes=_declared_mixes(name, factory, ("full",)),
    )


def _declared_mixes(
    name: str, factory: Callable[..., Any], otherwise: tuple[str, ...] | None
) -> tuple[str, ...] | None:
    """The mixes of groups that a factory says it can manage."""
    if not hasattr(factory, "groups"):
        return otherwise
    mixes = factory.groups
    form = f"it has to be a tuple of mixes, each {MIX_IN_WORDS}"
    if not isinstance(mixes, (tuple, list)) or not mixes or not all(isinstance(mix, str) for mix in mixes):
        raise SubjectUnavailable(f"{name!r} has an attribute `groups` that is {mixes!r}: {form}")
    for mix in mixes:
        fault = fault_in_mix(mix)
        if fault:
            raise SubjectUnavailable(f"{name!r} has {mix!r} in its attribute `groups`, and {fault}: {form}")
    return tuple(mixes)


def _trial(name: str, factory: Callable[..., Any]) -> Any:
    try:
        manager = factory(FIRST_FOUR)
    except (Exception, SystemExit) as error:
        raise SubjectUnavailable(
            f"{name!r} raised {type(error).__name__} for a world of {FIRST_FOUR.num_blocks} blocks: {error}"
        ) from error
    lacking = [m for m in ("lookup", "allocate", "free", "step") if not callable(getattr(manager, m, None))]
    if lacking:
        raise SubjectUnavailable(
            f"{name!r} made a {type(manager).__name__} without {', '.join(lacking)}: "
            "see pagedkv.spec.interface.Manager"
        )
    return manager


def _standard(world: World, factory: Callable[..., Any], has_snapshot: bool, has_events: bool) -> Instance:
    init_none_hash(sha256, seed="pagedkv")
    manager = factory(world.kv_cache_config(), **standard_arguments(world, has_events))
    snapshot = type(manager).snapshot if has_snapshot else None
    return StandardInstance(world, manager, OwnRequests(world), snapshot, has_events=has_events)


def _version(factory: Callable[..., Any]) -> str:
    module = inspect.getmodule(factory)
    return str(getattr(module, "__version__", "unknown"))


class OwnInstance:
    """A life of a manager with the least interface."""

    def __init__(self, world: World, manager: Any) -> None:
        init_none_hash(sha256, seed="pagedkv")
        self.world = world
        self.manager = manager
        self._requests = LiveRequests(world, OwnRequests(world))
        self._tables: dict[str, list[list[int]]] = {}

    def go_on(self, life: Life, prompt: int) -> None:
        raise NotImplementedError

    def lookup(self, life: Life, divergent: bool, skip: bool = False) -> Found:
        answer = self.manager.lookup(self._requests.of(life))
        require(
            isinstance(answer, Sequence) and len(answer) == 2 and type(answer[0]) is int,
            hit_clauses.BLOCKS_COVER_IT,
            f"lookup answered {answer!r}: it has to be the number of tokens cached and the blocks per group, "
            f"(0, {[[]] * len(self.world.groups)}) for none",
        )
        hit, blocks = answer
        require(
            0 <= hit < life.num_tokens,
            hit_clauses.LEAVES_A_TOKEN,
            f"lookup answered a hit of {hit!r} for a request of {life.num_tokens} tokens",
        )
        return Found(hit, self._rows("lookup", hit_clauses.BLOCKS_COVER_IT, blocks))

    def truncate(self, life: Life, num_tokens: int) -> Rows:
        raise NotImplementedError

    def allocate(self, life: Life, ask: Ask) -> Rows | None:
        request = self._requests.of(life)
        request.num_computed_tokens = life.computed + ask.hit
        blocks = self.manager.allocate(request, ask.num_new_tokens)
        if blocks is None:
            return None
        rows = self._rows("allocate", allocation.ANSWERS_NEW_ENTRIES, blocks)
        table = self._tables.setdefault(life.request, [[] for _ in rows])
        for row, new in zip(table, rows, strict=True):
            row.extend(new)
        return rows

    def table(self, life: Life) -> Rows:
        return tuple(tuple(row) for row in self._tables[life.request])

    def free(self, life: Life, withdraw: bool, pop: bool) -> None:
        self.manager.free(self._requests.of(life))
        self._tables.pop(life.request, None)

    def publish(self, life: Life) -> None:
        raise NotImplementedError

    def zero_again(self, life: Life) -> None:
        raise NotImplementedError

    def take_zeroed(self) -> list[int]:
        raise NotImplementedError

    def pop(self, life: Life, withdraw: bool) -> list[int]:
        raise NotImplementedError

    def free_popped(self) -> None:
        raise NotImplementedError

    def forget(self, life: Life) -> None:
        self._requests.forget(life)

    def begin_pass(self) -> None:
        self.manager.step()

    def take_copies(self) -> list[tuple[int, int]]:
        if not hasattr(self.manager, "copies"):
            return []
        answer = self.manager.copies()
        pairs = self._ids_in(answer)
        require(
            pairs is not None and all(len(pair) == 2 for pair in pairs),
            copies.DRAINED_IN_ORDER,
            f"copies answered {answer!r}: it has to be (source, destination) for each copy, as ids from 0 to "
            f"{self.world.num_blocks - 1}",
        )
        return [(src, dst) for src, dst in pairs or ()]

    def release(self) -> None:
        """The manager keeps the ends of its copies itself."""

    def take_hand_offs(self) -> list[HandOffName]:
        return []

    def evict(self, blocks: Sequence[int]) -> None:
        self.manager.evict(list(blocks))

    def reset(self) -> bool:
        return bool(self.manager.reset())

    def common_prefix(self, life: Life) -> list[int]:
        raise NotImplementedError

    def snapshot(self) -> Snapshot[KeyName] | None:
        if not hasattr(self.manager, "snapshot"):
            return None
        state = self.manager.snapshot()
        if not isinstance(state, Snapshot):
            raise TypeError(
                f"snapshot answered a {type(state).__name__}: it has to be a pagedkv.spec.Snapshot"
            )
        renamed: Snapshot[KeyName] = state.renamed(self._requests.names.key_name)
        return renamed

    def keyed(self, blocks: Collection[int]) -> None:
        """The least interface of a manager tells keys in a snapshot only."""

    def num_free_blocks(self) -> None:
        """Nor how many blocks are free."""

    def take_events(self) -> tuple[EventName, ...] | None:
        if not self.world.events or not hasattr(self.manager, "events"):
            return None
        answer = self.manager.events()
        told = f"events answered {answer!r}: it has to be what was announced since it was asked last"
        require(isinstance(answer, Iterable), events.TAKEN_ONCE, told)
        return tuple(neutral_events(self.world, answer, self._requests.names.key_name))

    def copy(self) -> "OwnInstance":
        raise NotImplementedError

    def _rows(self, method: str, clause: Clause, blocks: Any) -> Rows:
        """The blocks that a method answered. Refuses what cannot be ids of the pool, per group."""
        rows = self._ids_in(blocks)
        require(
            rows is not None and len(rows) == len(self.world.groups),
            clause,
            f"{method} answered {blocks!r} as blocks: it has to be a row of ids from 0 to "
            f"{self.world.num_blocks - 1} for each group of {mix_of(self.world)}",
        )
        return rows or ()

    def _ids_in(self, answer: Any) -> Rows | None:
        """Rows of ids of the pool; None if the answer is no such thing."""
        parts = tuple(answer) if isinstance(answer, Iterable) else (None,)
        rows = tuple(tuple(row) for row in parts if isinstance(row, Iterable))
        ids = [block for row in rows for block in row]
        are_ids = all(type(block) is int and 0 <= block < self.world.num_blocks for block in ids)
        return rows if len(rows) == len(parts) and are_ids else None
