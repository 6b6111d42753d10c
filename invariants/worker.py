"""The worker: a memory whose slots hold *which prefix they belong to* instead of numbers.

It knows only what a real worker is sent: tables of new requests, entries appended to running ones,
copies, and which tokens to compute. It never looks at the manager. What it reads is the ground truth of
the specification.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from pagedkv.spec import World
from pagedkv.spec.clauses import Clause, worker
from pagedkv.spec.snapshot import HandOffName, KeyName, Rows, Snapshot

from .breach import Breach

CHECKED = (
    worker.READS_ITS_PREFIX,
    worker.KEYS_TELL_THE_TRUTH,
    worker.TABLES_AGREE,
    worker.HAND_OFF_IS_THE_STATE,
)
"""The clauses that a worker sees broken."""

Prefix = tuple[int, int]
"""A prefix as ``World.name`` names it: what the KV of its last token, or the state after it, stands for."""


class Content(NamedTuple):
    """What a block holds: the KV of one group by position, or its one state."""

    group: int
    prefixes: tuple[Prefix | None, ...]


class Work(NamedTuple):
    """What a step computes for one request."""

    request: str
    prompt: int
    start: int
    end: int
    rows: Rows
    is_new: bool
    """Whether ``rows`` is the whole table, or what is appended to it."""


class Worker:
    """Memory and tables of one worker."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._prefixes = [
            tuple(world.name(p, n) for n in range(1, len(prompt.tokens) + 1))
            for p, prompt in enumerate(world.prompts)
        ]
        self.memory: dict[int, Content] = {}
        self.tables: dict[str, list[list[int]]] = {}
        self.computed: dict[str, tuple[int, int]] = {}

    def copy(self) -> "Worker":
        """An independent worker in the same state."""
        twin = Worker.__new__(Worker)
        twin._world, twin._prefixes = self._world, self._prefixes
        twin.memory = self.memory.copy()
        twin.tables = {request: [row.copy() for row in rows] for request, rows in self.tables.items()}
        twin.computed = self.computed.copy()
        return twin

    def drop(self, request: str) -> None:
        """Forget a request."""
        self.tables.pop(request, None)
        self.computed.pop(request, None)

    def step(self, copies: Sequence[tuple[int, int]], work: Sequence[Work]) -> Iterator[Breach]:
        """Run one step: copies, then the forward of every request. Yields what it read wrongly.

        All copies read what was there before. States are read before anything is written; attention
        writes a layer before it reads it.
        """
        for item in work:
            rows = self.tables.setdefault(item.request, [[] for _ in item.rows])
            if item.is_new:
                rows[:] = [[] for _ in item.rows]
            for row, new in zip(rows, item.rows, strict=True):
                row.extend(new)
            self.computed[item.request] = (item.prompt, item.end)
        before = self.memory.copy()
        for src, dst in copies:
            if src in before:
                self.memory[dst] = before[src]
            else:
                self.memory.pop(dst, None)
        for item in work:
            yield from self._read_states(item.request, item.prompt, item.start)
        for item in work:
            for g, group in enumerate(self._world.groups):
                if group.kind == "mamba":
                    self._write_state(item, g)
                else:
                    self._write_attention(item, g)
        # Whoever runs reads on: not only the requests of this step must find their prefix.
        for request, (prompt, computed) in self.computed.items():
            yield from self._read_attention(request, prompt, computed)
            yield from self._read_states(request, prompt, computed)

    def check_tables(self, snapshot: Snapshot[KeyName]) -> Iterator[Breach]:
        """Compare the tables kept here with the manager's."""
        for request, rows in self.tables.items():
            theirs = snapshot.tables.get(request, ())
            for g, (mine, their) in enumerate(zip(rows, theirs, strict=False)):
                if len(mine) != len(their) or any(b not in (0, a) for a, b in zip(mine, their, strict=True)):
                    yield Breach(
                        worker.TABLES_AGREE,
                        f"request {request}, group {g}: the worker has {mine}, the manager {list(their)}",
                    )

    def check_keys(self, snapshot: Snapshot[KeyName]) -> Iterator[Breach]:
        """Compare what the keyed blocks hold with what their keys say."""
        for block, keys in enumerate(snapshot.keys):
            for key in keys:
                yield from self._expect(
                    worker.KEYS_TELL_THE_TRUTH, f"block {block} with key {_name(key)}", key.group, key, block
                )

    def check_hand_offs(
        self, hand_offs: Sequence[HandOffName], prompts: Mapping[str, int]
    ) -> Iterator[Breach]:
        """Compare what handed-over blocks hold with the states they are said to be."""
        for entry in hand_offs:
            key = KeyName(entry.group, prompts[entry.request], entry.num_tokens)
            yield from self._expect(
                worker.HAND_OFF_IS_THE_STATE,
                f"block {entry.block}, handed over for request {entry.request} at {entry.num_tokens} tokens",
                entry.group,
                key,
                entry.block,
            )

    def _expect(self, clause: Clause, what: str, group: int, key: KeyName, block: int) -> Iterator[Breach]:
        """The block holds the group's part of the key's prefix that ends with it."""
        shape = self._world.groups[group]
        first = (
            key.num_tokens - 1
            if shape.kind == "mamba"
            else (key.num_tokens - 1) // shape.block_size * shape.block_size
        )
        wanted = self._prefixes[key.prompt][first : key.num_tokens]
        found = self._slots(block, group, len(wanted))
        if found != wanted:
            yield Breach(clause, f"{what} holds {_show(found)}, not {_show(wanted)}")

    def _slots(self, block: int, group: int, count: int) -> tuple[Prefix | None, ...]:
        content = self.memory.get(block)
        found = content.prefixes[:count] if content and content.group == group else ()
        return found + (None,) * (count - len(found))

    def _write_attention(self, item: Work, g: int) -> None:
        size = self._world.groups[g].block_size
        for i in range(item.start // size, -(-item.end // size)):
            a, b = max(item.start, i * size), min(item.end, (i + 1) * size)
            block = self._entry(item.request, g, i)
            before = self._slots(block, g, a - i * size)
            old = self.memory.get(block)
            after = old.prefixes[b - i * size :] if old and old.group == g else ()
            self.memory[block] = Content(g, before + self._prefixes[item.prompt][a:b] + after)

    def _write_state(self, item: Work, g: int) -> None:
        block = self._entry(item.request, g, (item.end - 1) // self._world.groups[g].block_size)
        self.memory[block] = Content(g, (self._prefixes[item.prompt][item.end - 1],))

    def _read_attention(self, request: str, prompt: int, computed: int) -> Iterator[Breach]:
        for g, group in enumerate(self._world.groups):
            if group.kind == "full":
                size = group.block_size
                for first in range(0, computed, size):
                    wanted = self._prefixes[prompt][first : min(first + size, computed)]
                    block = self._entry(request, g, first // size)
                    yield from self._read(request, g, block, wanted)

    def _read_states(self, request: str, prompt: int, computed: int) -> Iterator[Breach]:
        for g, group in enumerate(self._world.groups):
            if group.kind == "mamba" and computed:
                block = self._entry(request, g, (computed - 1) // group.block_size)
                yield from self._read(request, g, block, self._prefixes[prompt][computed - 1 : computed])

    def _read(self, request: str, g: int, block: int, wanted: tuple[Prefix, ...]) -> Iterator[Breach]:
        found = self._slots(block, g, len(wanted))
        if not block:
            because = f"request {request}, group {g}: has no block for what it reads, {_show(wanted)}"
            yield Breach(worker.READS_ITS_PREFIX, because)
        elif found != wanted:
            yield Breach(
                worker.READS_ITS_PREFIX,
                f"request {request}, group {g}, block {block}: reads {_show(found)} where its prefix is "
                f"{_show(wanted)}",
            )

    def _entry(self, request: str, g: int, i: int) -> int:
        row = self.tables[request][g]
        return row[i] if i < len(row) else 0


def _name(key: KeyName) -> str:
    return f"p{key.prompt}:{key.num_tokens} of group {key.group}"


def _show(prefixes: Sequence[Prefix | None]) -> str:
    return "[" + ", ".join("nothing" if p is None else f"p{p[0]}:{p[1]}" for p in prefixes) + "]"
