"""One life of one manager, as the engine loop drives it."""

from collections.abc import Callable, Collection, Sequence
from typing import Any, Protocol, Self

from pagedkv.spec import Snapshot, World
from pagedkv.spec.life import Life
from pagedkv.spec.outcomes import Found
from pagedkv.spec.snapshot import HandOffName, KeyName, Rows


class Instance(Protocol):
    """What the loop asks of a manager. Every method may raise; that is judged, not caught, here.

    A method that a manager does not have is declared in its subject's capabilities, and the loop
    does not call it.
    """

    def lookup(self, life: Life, divergent: bool) -> Found:
        """The request's hit; the blocks are kept for ``allocate`` and ``truncate``."""
        ...

    def truncate(self, life: Life, num_tokens: int) -> Rows:
        """The last hit looked up, cut at ``num_tokens``."""
        ...

    def allocate(self, life: Life, num_new_tokens: int, hit: int) -> Rows | None:
        """Slots for ``num_new_tokens`` tokens after the computed ones and ``hit`` of the last lookup."""
        ...

    def table(self, life: Life) -> Rows:
        """The request's whole table."""
        ...

    def free(self, life: Life, withdraw: bool, pop: bool) -> None:
        """Let the request go."""
        ...

    def forget(self, life: Life) -> None:
        """The request has ended: what was made for it can go."""
        ...

    def begin_pass(self) -> None:
        """Open a pass."""
        ...

    def take_copies(self) -> list[tuple[int, int]]:
        """Drain the copies; their ends stay held until ``release``."""
        ...

    def release(self) -> None:
        """Free the ends of the copies that were drained."""
        ...

    def take_hand_offs(self) -> list[HandOffName]:
        """Drain the hand-offs."""
        ...

    def evict(self, blocks: Sequence[int]) -> None:
        """Take the keys off blocks."""
        ...

    def reset(self) -> bool:
        """Reset the cache."""
        ...

    def common_prefix(self, life: Life) -> list[int]:
        """Common prefix blocks per group."""
        ...

    def snapshot(self) -> Snapshot[KeyName] | None:
        """The state, or None if the manager does not tell."""
        ...

    def keyed(self, blocks: Collection[int]) -> Collection[int] | None:
        """Those of ``blocks`` that have a key, or None if the manager does not tell."""
        ...

    def num_free_blocks(self) -> int | None:
        """How many blocks nobody holds, or None if the manager does not tell."""
        ...

    def copy(self) -> Self:
        """An independent instance in the same state."""
        ...


class Names:
    """Which prefix a hash names, learnt from the requests that carry it."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._by_hash: dict[bytes, tuple[int, int]] = {}
        self._by_name: dict[tuple[int, int], bytes] = {}
        self._by_key: dict[bytes, KeyName] = {}

    def learn(self, prompt: int, hashes: Sequence[bytes], since: int) -> None:
        """Take in a request's hashes from unit ``since`` on. ``HashClash`` for one with two meanings."""
        for i in range(since, len(hashes)):
            name = self._world.name(prompt, (i + 1) * self._world.unit)
            known = self._by_hash.setdefault(bytes(hashes[i]), name)
            same = self._by_name.setdefault(name, bytes(hashes[i]))
            if known != name or same != bytes(hashes[i]):
                raise HashClash(known, name)

    def key_name(self, key: bytes) -> KeyName:
        """The name of a hash followed by its group in 4 bytes."""
        if key not in self._by_key:
            prompt, num_tokens = self._by_hash[key[:-4]]
            self._by_key[key] = KeyName(int.from_bytes(key[-4:], "big"), prompt, num_tokens)
        return self._by_key[key]


class HashClash(Exception):
    """One hash for two prefixes, or two for one."""

    def __init__(self, known: tuple[int, int], name: tuple[int, int]) -> None:
        super().__init__(f"prefixes (prompt, tokens) {known} and {name}")


class RequestMaker(Protocol):
    """How a subject's requests are made."""

    def make(self, life: Life) -> Any:
        """A request with the prompt only."""
        ...

    def copy(self, request: Any) -> Any:
        """An independent request in the same state."""
        ...


class StandardInstance:
    """A manager with the standard names."""

    def __init__(
        self,
        world: World,
        manager: Any,
        maker: RequestMaker,
        snapshot: Callable[[Any], Snapshot[Any]] | None,
        can_withdraw: bool = True,
    ) -> None:
        self.world = world
        self.manager = manager
        self._maker = maker
        self._snapshot = snapshot
        self._can_withdraw = can_withdraw
        self._names = Names(world)
        self._requests: dict[str, Any] = {}
        self._hits: dict[str, Any] = {}
        self._retained: list[list[Any]] = []

    def _request(self, life: Life) -> Any:
        """The subject's own request, brought up to date."""
        request = self._requests.get(life.request)
        known = 0
        if request is None:
            request = self._requests[life.request] = self._maker.make(life)
        else:
            known = len(request.block_hashes)
        tokens = self.world.prompts[life.prompt].tokens[request.num_tokens : life.num_tokens]
        if tokens:
            request.append_output_token_ids(list(tokens))
        if known < len(request.block_hashes):
            self._names.learn(life.prompt, request.block_hashes, known)
        request.num_computed_tokens = life.computed
        request.shared_prefix_boundary = life.junction
        return request

    def lookup(self, life: Life, divergent: bool) -> Found:
        request = self._request(life)
        if divergent:
            blocks, hit, junction, diverged = self.manager.get_computed_blocks_for_connector(request)
        else:
            blocks, hit, junction = self.manager.get_computed_blocks(request)
            diverged = False
        self._hits[life.request] = blocks
        return Found(hit, _rows(blocks), junction, diverged)

    def truncate(self, life: Life, num_tokens: int) -> Rows:
        return _rows(self.manager.truncate_computed_blocks(self._hits[life.request], num_tokens))

    def allocate(self, life: Life, num_new_tokens: int, hit: int) -> Rows | None:
        blocks = self._hits.get(life.request) if hit else None
        made = self.world.prompts[life.prompt].encoder_tokens
        encoder = {"num_encoder_tokens": made} if made and not life.is_running else {}
        answer = self.manager.allocate_slots(self._request(life), num_new_tokens, hit, blocks, **encoder)
        return None if answer is None else _rows(answer)

    def table(self, life: Life) -> Rows:
        return tuple(tuple(row) for row in self.manager.get_block_ids(life.request))

    def free(self, life: Life, withdraw: bool, pop: bool) -> None:
        request = self._request(life)
        arguments = {"withdraw": True} if withdraw and self._can_withdraw else {}
        if pop:
            blocks = self.manager.pop_blocks_for_free(request, **arguments)
            self.manager.block_pool.free_blocks(blocks[::-1])
        else:
            self.manager.free(request, **arguments)
        self._hits.pop(life.request, None)

    def forget(self, life: Life) -> None:
        """Drop the subject's request object: its life has ended."""
        self._requests.pop(life.request, None)

    def begin_pass(self) -> None:
        self.manager.new_step_starts()

    def take_copies(self) -> list[tuple[int, int]]:
        copies, retained = self.manager.take_kv_cache_block_copies()
        if retained:
            self._retained.append(list(retained))
        return [(copy.src_block_id, copy.dst_block_id) for copy in copies]

    def release(self) -> None:
        for blocks in self._retained:
            self.manager.block_pool.free_blocks(blocks)
        self._retained = []

    def take_hand_offs(self) -> list[HandOffName]:
        taken = self.manager.take_partial_tail_offloads()
        return [HandOffName(r, g, block, n) for r, entries in taken.items() for g, block, n in entries]

    def evict(self, blocks: Sequence[int]) -> None:
        self.manager.evict_blocks(set(blocks))

    def reset(self) -> bool:
        return bool(self.manager.reset_prefix_cache())

    def common_prefix(self, life: Life) -> list[int]:
        return list(self.manager.get_num_common_prefix_blocks(life.request))

    def snapshot(self) -> Snapshot[KeyName] | None:
        return self._snapshot(self.manager).renamed(self._names.key_name) if self._snapshot else None

    def keyed(self, blocks: Collection[int]) -> Collection[int]:
        views = self.manager.block_pool.blocks
        return [block for block in blocks if views[block].block_hash is not None]

    def num_free_blocks(self) -> int:
        return int(self.manager.block_pool.get_num_free_blocks())

    def copy(self) -> "StandardInstance":
        twin = StandardInstance.__new__(StandardInstance)
        vars(twin).update(vars(self))
        twin.manager = self.manager.copy()
        twin._requests = {request_id: self._maker.copy(r) for request_id, r in self._requests.items()}
        twin._hits = {}
        twin._retained = []
        return twin


def _rows(blocks: Any) -> Rows:
    return tuple(tuple(row) for row in blocks.get_block_ids())
