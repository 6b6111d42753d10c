"""The memory of a worker: what each block holds, and how it is written."""

from collections.abc import Sequence
from typing import NamedTuple

from pagedkv.spec import World
from pagedkv.spec.prefixes import Run
from pagedkv.spec.snapshot import KeyName, Rows
from pagedkv.spec.world import STATES

from .slots import NOTHING, Runs, between, in_words, invalid_of, is_invalid, joined, of_size


class Content(NamedTuple):
    """What a block holds: the KV of one group by position, or its one state.

    A prefix, as ``World.name`` names it, stands for the KV of its last token, or for the state after it.
    """

    group: int
    runs: Runs


class Memory:
    """What blocks hold.

    What a load in a step has left invalid, and all that is computed from that, belongs to the number of that
    step until it is forgotten: nobody takes it for anything else, and whoever reads it is not to blame yet.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._prefixes = world.prefixes
        windows = [group.reach for group in world.groups if group.kind == "reference"]
        self._window = min(windows, default=None)
        self.memory: dict[int, Content] = {}

    def load(
        self, prompt: int, table: Rows, start: int, end: int, valid: int, rest: int | None = None
    ) -> None:
        """Write the tokens ``start`` to ``valid`` of a prompt to its blocks; of a load that fails, the rest
        is content of nobody, or of the step that is named in place of a prompt.
        """
        for g, group in enumerate(self._world.groups):
            if group.kind == "cross":
                continue
            if group.kind not in STATES:
                self._write(table[g], g, prompt, start, min(valid, end))
                self._write(table[g], g, rest, max(start, valid), end)
            else:
                known = prompt if valid == end else rest
                self._put_state(table[g], g, (end - 1) // group.block_size, known, end)

    def forget(self, number: int) -> frozenset[int]:
        """Forget the blocks with what failed loads of the first ``number`` steps left; answers them."""
        gone = frozenset(
            block
            for block, content in self.memory.items()
            if any(invalid_of(number) <= run.prompt < NOTHING for run in content.runs)
        )
        self.memory = {block: content for block, content in self.memory.items() if block not in gone}
        return gone

    def _other_than(self, key: KeyName, block: int) -> str:
        """What the block holds instead of its part of the key's prefix, in words; empty if it holds that."""
        shape = self._world.groups[key.group]
        first = (
            key.num_tokens - 1
            if shape.kind in STATES
            else (key.num_tokens - 1) // shape.block_size * shape.block_size
        )
        wanted = self._prefixes.runs(key.prompt, first, key.num_tokens)
        found = self._slots(block, key.group, key.num_tokens - first)
        return (
            "" if found == wanted or is_invalid(found) else f"holds {in_words(found)}, not {in_words(wanted)}"
        )

    def _slots(self, block: int, group: int, count: int) -> Runs:
        content = self.memory.get(block)
        return of_size(content.runs if content and content.group == group else (), count)

    def _made(self, prompt: int, start: int, end: int) -> Runs:
        """What a request of the prompt computes at the positions ``start`` to ``end``, in every layer.

        Behind a reference window, whose gap the layers no longer see, that depends on where the prompt ends.
        """
        if prompt < NOTHING:
            return (Run(prompt, start, end),)
        length, runs = self._world.prompts[prompt].length, self._prefixes.runs
        if self._window is None or end <= length + self._window + 1:
            return runs(prompt, start, end)
        first_own = max(start, length + self._window + 1)
        own = (run._replace(behind=length) for run in runs(prompt, first_own, end))
        return (*runs(prompt, start, first_own), *own)

    def _write(self, row: Sequence[int], g: int, prompt: int | None, start: int, end: int) -> None:
        """Write the KV of the tokens ``start`` to ``end``; None: of guesses that were wrong."""
        size = self._world.groups[g].block_size
        for i in range(start // size, -(-end // size)) if start < end else ():
            a, b = max(start, i * size), min(end, (i + 1) * size)
            block = row[i] if i < len(row) else 0
            before = self._slots(block, g, a - i * size)
            old = self.memory.get(block)
            after = between(old.runs, b - i * size, size) if old and old.group == g else ()
            written = of_size((), b - a) if prompt is None else self._made(prompt, a, b)
            self.memory[block] = Content(g, joined(before, written, after))

    def _put_state(self, row: Sequence[int], g: int, i: int, prompt: int | None, num_tokens: int) -> None:
        """Put the state after so many tokens into an entry; None: of tokens that were wrong."""
        block = row[i] if i < len(row) else 0
        runs = of_size((), 1) if prompt is None else self._made(prompt, num_tokens - 1, num_tokens)
        self.memory[block] = Content(g, runs)
