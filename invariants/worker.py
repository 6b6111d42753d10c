"""The worker: a memory whose slots hold *which prefix they belong to* instead of numbers.

Slots are kept as runs, so that a read costs blocks and not tokens.

It knows only what a real worker is sent: tables of new requests, entries appended to running ones,
copies, and which tokens to compute. It never looks at the manager. What it reads is the ground truth of
the specification.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence

from pagedkv.spec import World
from pagedkv.spec.clauses import worker
from pagedkv.spec.prefixes import Run
from pagedkv.spec.snapshot import HandOffName, KeyName, Snapshot
from pagedkv.spec.world import STATES

from .breach import Breach
from .memory import Content, Memory
from .slots import NOTHING, Runs, between, in_words, invalid_of
from .work import Work

CHECKED = (
    worker.READS_ITS_PREFIX,
    worker.STATES_OF_DRAFTS,
    worker.INVALID_LOADS,
    worker.KEYS_TELL_THE_TRUTH,
    worker.TABLES_AGREE,
    worker.HAND_OFF_IS_THE_STATE,
)
"""The clauses that a worker sees broken."""


class Worker(Memory):
    """Memory and tables of one worker."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.num_steps = 0
        self.failed: tuple[int, ...] = ()
        """The steps, by number, in which a load failed, until that is forgotten."""
        self.misled: dict[str, int] = {}
        """Requests that compute from what a load left invalid: of which step, in place of their prompt."""
        self.tables: dict[str, list[list[int]]] = {}
        self.computed: dict[str, tuple[int, int]] = {}
        self.state_entries: dict[str, int] = {}

    def copy(self) -> "Worker":
        """An independent worker in the same state."""
        twin = Worker.__new__(Worker)
        twin._world, twin._prefixes, twin._window = self._world, self._prefixes, self._window
        twin.memory, twin.misled = self.memory.copy(), self.misled.copy()
        twin.num_steps, twin.failed = self.num_steps, self.failed
        twin.tables = {request: [row.copy() for row in rows] for request, rows in self.tables.items()}
        twin.computed = self.computed.copy()
        twin.state_entries = self.state_entries.copy()
        return twin

    def drop(self, request: str) -> None:
        """Forget a request."""
        self.tables.pop(request, None)
        self.computed.pop(request, None)
        self.state_entries.pop(request, None)
        self.misled.pop(request, None)

    def forget_invalid(self, number: int, snapshot: Snapshot[KeyName] | None) -> Iterator[Breach]:
        """Make what loads in the first ``number`` steps left invalid content of nobody.

        By then it is to have been taken back: yields whoever still runs on it, and keys that still name it.
        """
        gone, oldest = self.forget(number), invalid_of(number)
        for request in sorted(request for request, tag in self.misled.items() if tag >= oldest):
            yield Breach(worker.INVALID_LOADS, f"request {request} goes on from an invalid load")
            del self.misled[request]
        for block, keys in enumerate(snapshot.keys if snapshot else ()):
            if keys and block in gone:
                yield Breach(worker.INVALID_LOADS, f"block {block} has {list(keys)} and invalid content")
        self.failed = tuple(step for step in self.failed if step > number)

    def step(
        self, copies: Sequence[tuple[int, int]], work: Sequence[Work], zeroed: Sequence[int] = ()
    ) -> Iterator[Breach]:
        """Run one step: zeroing, copies, loads, then the forward of every request.

        Yields what it read wrongly. All copies read what was there before. States are read before anything
        is written; attention writes a layer before it reads it. What follows from a load that failed in part
        is as invalid as that.
        """
        self.num_steps += 1
        starts_at = self.state_entries
        self.state_entries = self.state_entries.copy()
        for item in work:
            rows = self.tables.setdefault(item.request, [[] for _ in item.rows])
            if item.is_whole:
                rows[:] = [[] for _ in item.rows]
            for row, new in zip(rows, item.rows, strict=True):
                row.extend(new)
            self.computed[item.request] = (item.prompt, item.right_end)
        for block in zeroed:
            self.memory.pop(block, None)
        before = self.memory.copy()
        for src, dst in copies:
            if src in before:
                self.memory[dst] = before[src]
            else:
                self.memory.pop(dst, None)
        for item in work:
            if item.loaded_from < item.start:
                table = tuple(tuple(row) for row in self.tables[item.request])
                valid = item.start if item.valid is None else item.valid
                self.load(item.prompt, table, item.loaded_from, item.start, valid, invalid_of(self.num_steps))
        for item in work:
            entry = starts_at.get(item.request)
            yield from self._read_states(item.request, item.prompt, item.start, entry)
        for item in work:
            made = self._made_of(item, starts_at.get(item.request))
            for g, group in enumerate(self._world.groups):
                if group.kind in STATES:
                    yield from self._write_states(item._replace(prompt=made), g)
                elif group.kind == "cross":
                    self._write_encoded(item, g)
                else:
                    row = self.tables[item.request][g]
                    self._write(row, g, made, item.start, item.right_end)
                    self._write(row, g, None, item.right_end, item.end)
        # Whoever runs reads on: not only the requests of this step must find their prefix.
        starts = {item.request: item.start for item in work}
        for request, (prompt, computed) in self.computed.items():
            yield from self._read_attention(request, prompt, starts.get(request, computed), computed)
            yield from self._read_states(request, prompt, computed, self.state_entries.get(request))

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
                holds = self._other_than(key, block)
                if holds:
                    name = f"p{key.prompt}:{key.num_tokens} of group {key.group}"
                    yield Breach(worker.KEYS_TELL_THE_TRUTH, f"block {block} with key {name} {holds}")

    def check_hand_offs(
        self, hand_offs: Sequence[HandOffName], prompts: Mapping[str, int]
    ) -> Iterator[Breach]:
        """Compare what handed-over blocks hold with the states they are said to be."""
        for entry in hand_offs:
            key = KeyName(entry.group, prompts[entry.request], entry.num_tokens)
            holds = self._other_than(key, entry.block)
            if holds:
                yield Breach(
                    worker.HAND_OFF_IS_THE_STATE,
                    f"block {entry.block}, handed over for request {entry.request} at {entry.num_tokens} "
                    f"tokens, {holds}",
                )

    def _made_of(self, item: Work, entry: int | None) -> int:
        """What the request computes from: its prompt, or what a load left invalid, in place of that."""
        if item.valid is not None:
            self.failed = (*self.failed, self.num_steps)
            self.misled.setdefault(item.request, invalid_of(self.num_steps))
        elif self.failed:
            # Reading tells: those before it have written.
            deque(self._read_states(item.request, item.prompt, item.start, entry), 0)
            deque(self._read_attention(item.request, item.prompt, item.start, item.start), 0)
        return self.misled.get(item.request, item.prompt)

    def _write_states(self, item: Work, g: int) -> Iterator[Breach]:
        """Write the step's states, then that at each block boundary that drafts' right tokens cross.

        The latter goes into the boundary's entry, in mode "all" without drafts, too. Yields lacking places.
        """
        group, row = self._world.groups[g], self.tables[item.request][g]
        states = item.states(group.block_size)
        places = {self._entry(item.request, g, i) for i, _ in states}
        if item.drafts and (0 in places or len(places) < len(states)):
            because = f"request {item.request}, group {g}: states by (entry, tokens) {states}, table {row}"
            yield Breach(worker.STATES_OF_DRAFTS, because)
        for i, num_tokens in states:
            self._put_state(row, g, i, item.prompt if num_tokens <= item.right_end else None, num_tokens)
        self.state_entries.pop(item.request, None)
        entry = item.state_entry_after(group.block_size)
        if entry is not None:
            self.state_entries[item.request] = entry
        if item.drafts or group.kind == "mamba-all":
            for i in range(item.start // group.block_size, item.right_end // group.block_size):
                if i < len(row) and row[i]:
                    self._put_state(row, g, i, item.prompt, (i + 1) * group.block_size)

    def _write_encoded(self, item: Work, g: int) -> None:
        """The request's first step runs the encoder, whose output no prefix names: positions stand for it."""
        size, made = self._world.groups[g].block_size, self._world.prompts[item.prompt].encoder_tokens
        for i in range(-(-made // size) if item.is_whole else 0):
            positions = Run(item.prompt, i * size, min(made, (i + 1) * size))
            self.memory[self._entry(item.request, g, i)] = Content(g, (positions,))

    def _read_attention(self, request: str, prompt: int, start: int, computed: int) -> Iterator[Breach]:
        """What the tokens from ``start`` on read, of the ``computed`` first ones."""
        for g, group in enumerate(self._world.groups):
            size, length = group.block_size, self._world.prompts[prompt].length
            if group.kind == "cross":
                made = self._world.prompts[prompt].encoder_tokens
                for i in range(-(-made // size)):
                    positions = Run(prompt, i * size, min(made, (i + 1) * size))
                    yield from self._read(request, g, i, 0, (positions,))
            elif group.kind == "reference":
                yield from self._read_part(request, g, prompt, 0, min(length, computed))
                yield from self._read_part(request, g, prompt, max(length, start - group.reach), computed)
            elif group.kind not in STATES:
                yield from self._read_part(request, g, prompt, self._first_read(g, start), computed)

    def _read_part(self, request: str, g: int, prompt: int, begin: int, end: int) -> Iterator[Breach]:
        """The positions ``begin`` to ``end`` of a group of attention."""
        size = self._world.groups[g].block_size
        for i in range(begin // size, -(-end // size)) if begin < end else ():
            first, last = max(begin, i * size), min((i + 1) * size, end)
            yield from self._read(request, g, i, first - i * size, self._made(prompt, first, last))

    def _first_read(self, g: int, position: int) -> int:
        """The first position that the token at ``position`` attends to."""
        group = self._world.groups[g]
        match group.kind:
            case "window":
                return max(0, position - group.reach + 1)
            case "chunk":
                return position // group.reach * group.reach
        return 0

    def _read_states(self, request: str, prompt: int, computed: int, entry: int | None) -> Iterator[Breach]:
        """The state after the ``computed`` tokens, in ``entry`` or in the one in which they end."""
        for g, group in enumerate(self._world.groups):
            if group.kind in STATES and computed:
                i = (computed - 1) // group.block_size if entry is None else entry
                yield from self._read(request, g, i, 0, self._made(prompt, computed - 1, computed))

    def _read(self, request: str, g: int, i: int, slot: int, wanted: Runs) -> Iterator[Breach]:
        """The slots of entry ``i`` from ``slot`` on hold what is ``wanted``."""
        block = self._entry(request, g, i)
        end = slot + sum(run.end - run.start for run in wanted)
        found = between(self._slots(block, g, end), slot, end)
        if not block:
            because = f"request {request}, group {g}: has no block for what it reads, {in_words(wanted)}"
            yield Breach(worker.READS_ITS_PREFIX, because)
        elif found != wanted:
            invalid = [run.prompt for run in found if run.prompt < NOTHING]
            if invalid:
                self.misled[request] = max(*invalid, self.misled.get(request, invalid[0]))
                return
            yield Breach(
                worker.READS_ITS_PREFIX,
                f"request {request}, group {g}, block {block}: reads {in_words(found)} where its prefix is "
                f"{in_words(wanted)}",
            )

    def _entry(self, request: str, g: int, i: int) -> int:
        row = self.tables[request][g]
        return row[i] if i < len(row) else 0
