"""Which keys a call makes, by positions."""

from collections.abc import Iterator

from pagedkv.spec import World
from pagedkv.spec.life import Life
from pagedkv.spec.snapshot import KeyName, Rows

from .shape import Shape, covering
from .view import Transition

Naming = tuple[int, KeyName]
"""A block and a key that it has."""


def boundaries(world: World, shape: Shape, g: int, prompt: int) -> set[int]:
    """Lengths of a prompt inside blocks of a group that are to become keys."""
    if not shape.is_fine:
        return set()
    length = world.prompts[prompt].length
    named = {length - length % world.unit, resent_boundary(world, shape, g, prompt)}
    return {n for n in named if n % shape.sizes[g]}


def resent_boundary(world: World, shape: Shape, g: int, prompt: int) -> int:
    """What a group keeps of a prompt so that the same prompt can hit as much as ever; 0 for nothing."""
    if not world.options.resend_boundaries:
        return 0
    # A state is read at the hit itself, attention also what the draft model gives up.
    given_up = world.resend_margin if shape.is_state[g] else 0
    length = world.prompts[prompt].length
    return max((n for n in range(0, length, world.unit) if n + given_up < length), default=0)


class Names:
    """What a request's blocks become keys of, once ``end`` tokens are computed.

    ``reached``: up to where earlier calls have made keys; ``first``: per group the first block that has none.
    ``went_on_from``: the prompt for which they were, if the request has gone on with another since.
    """

    def __init__(
        self,
        t: Transition,
        shape: Shape,
        life: Life,
        rows: Rows,
        first: tuple[int, ...],
        reached: int,
        end: int,
        went_on_from: int | None = None,
    ) -> None:
        self._t = t
        self._went_on_from = went_on_from
        self._shape = shape
        self._life = life
        self._rows = rows
        self._first = first
        self._reached = reached
        self._end = end
        self.request = life.request
        self.length = t.world.prompts[life.prompt].length
        self.whole = frozenset(self._whole())
        """Blocks that are filled, with the keys that these become."""
        self.partial = frozenset(self._partial())
        """Blocks with a boundary of the prompt inside, with that as key, where it is made now."""
        self.resent = frozenset(
            (block, key)
            for block, key in self.partial
            if key.num_tokens == resent_boundary(t.world, shape, key.group, life.prompt)
            and key.num_tokens < self.length - self.length % t.world.unit
        )
        """Those that are not the prompt's end and are kept for the same prompt sent again."""
        self.counted = tuple(max(first[g], self._up_to(g, end) // size) for g, size in enumerate(shape.sizes))
        """Per group up to which block keys were made then."""

    def _up_to(self, g: int, num_tokens: int) -> int:
        """Up to which token a call that computes ``num_tokens`` tokens makes keys in group ``g``."""
        final = self._shape.alike(min(num_tokens, self._life.num_tokens), self.length)
        if self._shape.is_fine or not self._shape.is_hybrid:
            return final
        whole = final - final % self._shape.alignment
        return min(final, whole + self._shape.sizes[g]) if whole and g in self._shape.eagle else whole

    def _whole(self) -> Iterator[Naming]:
        for g, size in enumerate(self._shape.sizes):
            for i in range(self._first[g], self._up_to(g, self._end) // size):
                if self._is_kept(g, i):
                    yield from self._named(g, i, (i + 1) * size)

    def _partial(self) -> Iterator[Naming]:
        for g, size in enumerate(self._shape.sizes):
            world, shape = self._t.world, self._shape
            for n in boundaries(world, shape, g, self._life.prompt):
                reached = self._up_to(g, self._reached) if self._reached else 0
                if self._went_on_from is not None:
                    # Keys may have passed an end that the prompt did not have before.
                    reached = max(boundaries(world, shape, g, self._went_on_from), default=0)
                if self._end == n if self._shape.is_state[g] else reached < n <= self._up_to(g, self._end):
                    yield from self._named(g, n // size, n)

    def _is_kept(self, g: int, i: int) -> bool:
        """Whether a hit that is meant to be found can read block ``i``, if others are left out."""
        shape, world = self._shape, self._t.world
        size, alignment, interval = shape.sizes[g], shape.alignment, world.options.retention_interval
        is_window, is_state = shape.reads[g] == "window", shape.is_state[g]
        if not (is_window or (is_state and interval is not None)):
            return True
        spare = is_window and g in shape.eagle
        every = alignment if interval is None else interval
        width = 1 if is_state else covering(shape.reach[g] - 1, size) + spare
        if every and every <= size * width:
            return True
        ends = [*range(every, (i + 1) * size + every + 1, every)] if every else []
        if interval is not None:
            asked = [self.length - 1, self._life.junction]
            if world.options.resend_boundaries:
                asked.append(self.length - 1 - world.resend_margin)
            ends += [n - n % alignment for n in asked]
        if is_state:
            return any(n // size == i + 1 for n in ends)
        return any(n > 0 and (i in shape.read_entries(g, n) or (spare and i == n // size)) for n in ends)

    def _named(self, g: int, i: int, num_tokens: int) -> Iterator[Naming]:
        row = self._rows[g]
        if 0 <= i < len(row) and row[i]:
            yield row[i], KeyName(g, *self._t.world.name(self._life.prompt, num_tokens))
