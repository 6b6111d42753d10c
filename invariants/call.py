"""A call for slots, as the laws see it: what it must find, need and make, by positions."""

from collections.abc import Iterable, Iterator, Sequence

from pagedkv.spec.life import Life
from pagedkv.spec.outcomes import Allocated
from pagedkv.spec.snapshot import KeyName, Rows

from .shape import Shape, covering
from .view import Transition

Naming = tuple[int, KeyName]
"""A block and a key that it has."""


def queue_after_frees(
    queue: Sequence[int],
    counts: Sequence[int],
    keys: Sequence[Sequence[KeyName]],
    frees: Iterable[Iterable[int]],
    is_caching: bool,
) -> list[int]:
    """The free queue once each free has taken one holder off each of its blocks.

    What a free leaves unheld goes behind the queue where it can be hit again, else before it.
    """
    left = list(counts)
    expected = list(queue)
    for free in frees:
        unheld = []
        for block in free:
            left[block] -= 1
            if block and not left[block]:
                unheld.append(block)
        kept = [block for block in unheld if is_caching and keys[block]]
        expected = [block for block in unheld if block not in kept] + expected + kept
    return expected


class Call:
    """A request asks for the tokens ``start`` to ``end``; ``hit`` of these before ``start`` are its hit."""

    def __init__(self, t: Transition, shape: Shape, life: Life, outcome: Allocated, is_first: bool) -> None:
        self._t = t
        self._shape = shape
        self.request = life.request
        self.prompt = life.prompt
        self.is_first = is_first
        self.is_served = outcome.rows is not None
        self.answer: Rows = outcome.rows or ()
        self.hit = outcome.found.hit if outcome.found else 0
        self.computed = life.computed
        """Tokens computed before the call."""
        self.start = life.computed + self.hit
        self.end = self.start + outcome.num_new_tokens
        self.num_tokens = life.num_tokens
        self.encoder = t.world.prompts[life.prompt].encoder_tokens
        """Tokens that the request's encoder has made."""
        nothing: Rows = ((),) * len(t.world.groups)
        self.hit_rows = outcome.found.rows if outcome.found else nothing
        self.old_rows = self.hit_rows if is_first else t.before.tables.get(self.request, nothing)
        """Per group what the row starts with."""
        self.new_rows = t.after.tables.get(self.request, nothing) if self.is_served else nothing
        length = t.world.prompts[life.prompt].length
        self.boundary = length - length % t.world.unit if self._shape.is_fine else 0
        """The last unit boundary of the prompt."""

        self.skipped = [self._unread(g) for g in range(len(nothing))]
        """Per group the entries that no later step reads, the last first."""
        frees = ([row[i] for i in dead] for row, dead in zip(self.old_rows, self.skipped, strict=True))
        before = t.before
        self.queue = (
            queue_after_frees(before.queue, before.ref_counts, before.keys, frees, t.world.enable_caching)
            if any(self.skipped)
            else list(before.queue)
        )
        """The free queue after the skipped entries are let go."""
        self.touched = frozenset(block for row in self.hit_rows for block in row if block)
        self.moved = dict(self._own_entries())
        """By group the block of the request's own partial entry, where that moves away now."""
        self.new_copies = [
            [(copy.src, copy.dst) for copy in t.after.copies if copy.group == g][
                sum(copy.group == g for copy in before.copies) :
            ]
            for g in range(len(nothing))
        ]
        """Per group the copies that the call queued, as (source, destination)."""
        self.taken = list(self._taken()) if self.is_served else []
        """Blocks that the call took, in the order in which it should have taken them."""
        self.whole_names = frozenset(self._whole_names()) if self.is_served else frozenset()
        """Blocks that the call fills, with the keys that these become."""
        self.partial_names = frozenset(self._partial_names()) if self.is_served else frozenset()
        """Blocks with the prompt's last unit boundary, with that as key, where this call makes it."""

    def _unread(self, g: int) -> list[int]:
        if self.is_first or self._shape.is_encoder(g):
            return []
        # An entry that is not full is still written on.
        whole = self.old_rows[g][: self.computed // self._shape.sizes[g]]
        prompt = self._t.world.prompts[self.prompt].length
        read = self._shape.read_entries(g, self.computed, prompt)
        return [i for i, block in enumerate(whole) if block and i not in read][::-1]

    def _own_entries(self) -> Iterator[tuple[int, int]]:
        for g, size in enumerate(self._shape.sizes):
            # The last chunk ended on the boundary, so the request's running state is the named one.
            if (
                not self.is_first
                and self._shape.is_state[g]
                and self.boundary == self.computed
                and self.boundary % size
            ):
                row = self.old_rows[g]
                i = self.boundary // size
                if i < len(row) and self._t.before.keys[row[i]]:
                    yield g, row[i]

    def _taken(self) -> Iterator[int]:
        for g, (old, new) in enumerate(zip(self.old_rows, self.new_rows, strict=True)):
            for _, private in self.new_copies[g]:
                yield private
            drafts = self._drafts(g)
            for block in new[len(old) :]:
                if block and block not in drafts:
                    yield block

    def _drafts(self, g: int) -> tuple[int, ...]:
        """Speculative blocks of the last step, which are used again at their new place."""
        row = self.old_rows[g]
        is_moved = self._shape.is_aligned[g] and not self.is_first
        return row[len(row) - self._shape.num_speculative[g] :] if is_moved else ()

    def places(self, g: int) -> int:
        """How many places the row of group ``g`` lacks."""
        size, have = self._shape.sizes[g], len(self.old_rows[g])
        if self._shape.is_encoder(g):
            return covering(self.encoder, size) if self.is_first else 0
        last = covering(self.end, size)
        drafts = self._shape.num_speculative[g]
        if not self._shape.is_aligned[g]:
            return len(range(have, last + drafts))
        wanted = range(last - 1, last + drafts)
        there = [i for i in wanted if i < have]
        passed = range(have - len(self._drafts(g)), min(have, last - 1))
        return len(wanted) - len(there) - len(passed)

    def needs(self) -> int:
        """How many blocks the call takes from the free queue: for places, for copies, and of its hit."""
        shared = sum(self.hit % size != 0 for size in self._shape.sizes)
        revived = len(self.touched.intersection(self.queue))
        return sum(map(self.places, range(len(self.old_rows)))) + shared + len(self.moved) + revived

    def names_up_to(self, g: int, num_tokens: int) -> int:
        """Up to which token a call that computes ``num_tokens`` tokens makes keys in group ``g``."""
        if not self._t.world.enable_caching:
            return 0
        final = min(num_tokens, self.num_tokens)
        if self._shape.is_fine or not self._shape.is_hybrid:
            return final
        whole = final - final % self._shape.alignment
        return min(final, whole + self._shape.sizes[g]) if whole and g in self._shape.eagle else whole

    def first_unnamed(self, g: int) -> int:
        """The first block of group ``g`` that no call has made a key of."""
        if self.is_first:
            return self.hit // self._shape.sizes[g]
        counted = self._t.before.num_cached.get(self.request)
        return counted[g] if counted else 0

    def _whole_names(self) -> Iterator[Naming]:
        for g, size in enumerate(self._shape.sizes):
            for i in range(self.first_unnamed(g), self.names_up_to(g, self.end) // size):
                if self._is_kept(g, i):
                    yield from self._named(g, i, (i + 1) * size)

    def _partial_names(self) -> Iterator[Naming]:
        for g, size in enumerate(self._shape.sizes):
            if self.boundary % size:
                reached = 0 if self.is_first else self.names_up_to(g, self.computed)
                if (
                    self.end == self.boundary and self._t.world.enable_caching
                    if self._shape.is_state[g]
                    else reached < self.boundary <= self.names_up_to(g, self.end)
                ):
                    yield from self._named(g, self.boundary // size, self.boundary)

    def _is_kept(self, g: int, i: int) -> bool:
        """Whether a hit can read block ``i``, if such blocks are left out where none can."""
        shape = self._shape
        size, alignment = shape.sizes[g], shape.alignment
        spare = g in shape.eagle
        window = covering(shape.reach[g] - 1, size) + spare
        if shape.reads[g] != "window" or alignment <= size * window:
            return True
        ends = range(alignment, (i + 1) * size + alignment + 1, alignment)
        return any(i in shape.read_entries(g, n) or (spare and i == n // size) for n in ends)

    def _named(self, g: int, i: int, num_tokens: int) -> Iterator[Naming]:
        row = self.new_rows[g]
        if 0 <= i < len(row) and row[i]:
            yield row[i], KeyName(g, *self._t.world.name(self.prompt, num_tokens))

    def waits_for(self) -> str:
        """The block that the hit starts from and the open pass still fills, in words; empty for none."""
        t = self._t
        for g, (row, size) in enumerate(zip(self.hit_rows, self._shape.sizes, strict=True)):
            last = row[-1] if row else 0
            if not last or not (self._shape.is_state[g] or self.hit % size):
                continue
            if any(last == copy.dst for copy in t.before.copies if copy.group == g):
                return f"block {last} of group {g} is filled by a queued copy"
            for work in t.work.values():
                rows = t.before.tables.get(work.request)
                if rows and last in rows[g][work.start // size : covering(work.end, size)]:
                    return (
                        f"block {last} of group {g} is filled by {work.request}, {work.start} to {work.end}"
                    )
            named = t.before.keys[last]
            if self._shape.is_state[g] and t.pass_began and not set(named) <= set(t.pass_began.keys[last]):
                return f"block {last} of group {g} got {list(named)} in this pass"
        return ""
