"""The requests of a life, as a subject has them, and what their hashes name."""

from collections.abc import Sequence
from typing import Any, Protocol

from pagedkv.spec import World
from pagedkv.spec.life import Life
from pagedkv.spec.snapshot import KeyName


class RequestMaker(Protocol):
    """How a subject's requests are made."""

    def make(self, life: Life) -> Any:
        """A request with the prompt only."""
        ...

    def tell_status(self, request: Any, is_running: bool) -> None:
        """Set the status that a scheduler has given the request."""
        ...

    def copy(self, request: Any) -> Any:
        """An independent request in the same state."""
        ...


class LiveRequests:
    """A subject's own request for each life, brought up to date whenever it is asked for."""

    def __init__(self, world: World, maker: RequestMaker) -> None:
        self.names = Names(world)
        self._world = world
        self._maker = maker
        self._by_id: dict[str, Any] = {}

    def of(self, life: Life) -> Any:
        """The request of a life, made when there is none."""
        request = self._by_id.get(life.request)
        known = 0
        if request is None:
            request = self._by_id[life.request] = self._maker.make(life)
        else:
            known = len(request.block_hashes)
        tokens = self._world.prompts[life.prompt].tokens[request.num_tokens : life.num_tokens]
        if tokens:
            request.append_output_token_ids(list(tokens))
        self.names.learn(life.prompt, request.block_hashes, known)
        request.num_computed_tokens = life.computed
        request.num_in_flight_tokens = life.in_flight
        request.shared_prefix_boundary = life.junction
        self._maker.tell_status(request, life.is_running)
        return request

    def forget(self, life: Life) -> None:
        """Drop the request: its life has ended."""
        self._by_id.pop(life.request, None)

    def copy(self) -> "LiveRequests":
        """Independent requests in the same state."""
        twin = LiveRequests.__new__(LiveRequests)
        vars(twin).update(vars(self))
        twin._by_id = {request_id: self._maker.copy(r) for request_id, r in self._by_id.items()}
        return twin


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
