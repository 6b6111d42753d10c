"""The tokens of a traced request, made when they are asked for: whole traces would not fit in memory."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import overload

from .trace import HASH_TOKENS


@dataclass(frozen=True)
class RequestTokens(Sequence[int]):
    """Prompt and output of one request. Two ids have no token in common, and no other request has its output.

    Token ``i`` of an id is ``id`` * 512 + ``i``; outputs are negative.
    """

    hash_ids: tuple[int, ...]
    input_length: int
    output_length: int
    outputs_before: int
    """Output tokens of all requests before this one."""

    def __len__(self) -> int:
        return self.input_length + self.output_length

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[int, ...]: ...
    def __getitem__(self, index: int | slice) -> int | tuple[int, ...]:
        chosen = range(len(self))[index]
        if isinstance(chosen, int):
            return next(chain.from_iterable(self._between(chosen, chosen + 1)))
        if chosen.step != 1:
            return tuple(self[i] for i in chosen)
        return tuple(chain.from_iterable(self._between(chosen.start, chosen.stop)))

    def _between(self, start: int, end: int) -> Iterator[range]:
        """The tokens from ``start`` to before ``end``, block by block."""
        while start < min(end, self.input_length):
            i, within = divmod(start, HASH_TOKENS)
            stop = min(end, self.input_length, (i + 1) * HASH_TOKENS)
            first = self.hash_ids[i] * HASH_TOKENS + within
            yield range(first, first + stop - start)
            start = stop
        if start < end:
            first = -1 - self.outputs_before - (start - self.input_length)
            yield range(first, first - (end - start), -1)
