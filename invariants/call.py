"""A call for slots, as the laws see it: what it must find, need and make, by positions."""

from collections.abc import Iterable, Iterator, Sequence

from pagedkv.spec.life import Life
from pagedkv.spec.moves import Admit
from pagedkv.spec.outcomes import Allocated
from pagedkv.spec.snapshot import Rows

from .naming import Names, boundaries
from .shape import Shape, covering
from .view import Transition


def queue_after_frees(
    queue: Sequence[int],
    counts: Sequence[int],
    keys: Sequence[Sequence[object]],
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
    """A request asks for the tokens ``start`` to ``end``.

    Of those before ``start``, ``external`` ones are computed by others, and ``hit`` before these are its hit.
    """

    def __init__(self, t: Transition, shape: Shape, life: Life, outcome: Allocated, is_first: bool) -> None:
        self._t = t
        self._shape = shape
        self.request = life.request
        self.is_first = is_first
        self.is_served = outcome.rows is not None
        self.answer: Rows = outcome.rows or ()
        found = outcome.found.hit if outcome.found else 0
        self.external = outcome.external
        self.hit = found - found % t.world.scheduler_block_size if self.external else found
        self.computed = life.computed
        """Tokens computed before the call."""
        self.processed = life.processed
        """Of these, those whose steps are processed."""
        self.start = life.computed + self.hit + self.external
        self.end = self.start + outcome.num_new_tokens
        self.slots = min(self.end + t.world.options.num_lookahead_tokens, t.world.max_model_len)
        """Up to where attention has places."""
        self.delays = outcome.num_new_tokens == 0
        """Whether a load is under way, and nothing becomes a key yet."""
        self.num_tokens = life.num_tokens
        prompt = t.world.prompts[life.prompt]
        self._prompt_length, self.encoder = prompt.length, prompt.encoder_tokens
        """The latter are the tokens that the request's encoder has made."""
        nothing: Rows = ((),) * len(t.world.groups)
        self.hit_rows = outcome.found.rows if outcome.found else nothing
        self.old_rows = self._taken_hit() if is_first else t.before.tables.get(self.request, nothing)
        """Per group what the row starts with."""
        self.new_rows = t.after.tables.get(self.request, nothing) if self.is_served else nothing
        went_on = life.continued
        self.went_on_from = went_on.before if went_on and went_on.computed == life.computed else None
        """The prompt that the request has had, if no call was served since it went on with another."""

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
        self.touched = frozenset(block for row in self.old_rows for block in row if block and is_first)
        self.names = self._names(t.flight.lives.get(self.request, life)) if self.is_served else None
        """Which keys it makes."""
        self.moved = dict(self._own_entries(life))
        """By group the block of the request's own partial entry, where that moves away now."""
        self.new_copies = [
            [(copy.src, copy.dst) for copy in t.after.copies if copy.group == g][
                sum(copy.group == g for copy in before.copies) :
            ]
            for g in range(len(nothing))
        ]
        """Per group the copies that the call queued, as (source, destination)."""
        self.taken = [block for part in self._taken() for block in part] if self.is_served else []
        """Blocks that the call took, in the order in which it should have taken them."""

    def _taken_hit(self) -> Rows:
        """The blocks of the hit that the step reads; null for what it does not."""
        rows = []
        for g, (row, size) in enumerate(zip(self.hit_rows, self._shape.sizes, strict=True)):
            cut = row[: covering(self.hit, size)]
            first = min(self._shape.read_entries(g, self.start), default=self.start // size)
            rows.append((*(0,) * first, *cut[first:]))
        return tuple(rows)

    def _names(self, life: Life) -> Names | None:
        """What becomes a key; None where nothing does."""
        if not self._t.world.enable_caching or self.delays:
            return None
        sizes = self._shape.sizes
        counted = self._t.before.num_cached.get(self.request, (0,) * len(sizes))
        first = tuple(self.hit // size for size in sizes) if self.is_first else counted
        reached = 0 if self.is_first else self.computed
        life = life._replace(num_tokens=self.num_tokens)
        return Names(self._t, self._shape, life, self.new_rows, first, reached, self.end, self.went_on_from)

    def _unread(self, g: int) -> list[int]:
        if self.is_first or self._shape.is_encoder(g):
            return []
        # An entry that is not full is still written on.
        whole = self.old_rows[g][: self.processed // self._shape.sizes[g]]
        read = self._shape.read_entries(g, self.processed, self._prompt_length)
        return [i for i, block in enumerate(whole) if block and i not in read][::-1]

    def _own_entries(self, life: Life) -> Iterator[tuple[int, int]]:
        prompt = life.prompt if self.went_on_from is None else self.went_on_from
        for g, size in enumerate(self._shape.sizes):
            # The last chunk ended on the boundary, so the request's running state is the named one.
            ended_there = (
                self.computed in boundaries(self._t.world, self._shape, g, prompt) and self._shape.is_state[g]
            )
            if not self.is_first and ended_there:
                row = self.old_rows[g]
                i = self.computed // size
                if i < len(row) and self._t.before.keys[row[i]]:
                    yield g, row[i]

    def num_external(self, g: int) -> int:
        """How many blocks the row of group ``g`` gets for what others have computed."""
        size = self._shape.sizes[g]
        takes = self.is_first and not self._shape.is_encoder(g)
        return len(range(len(self.old_rows[g]), covering(self.start, size))) if takes else 0

    def external_blocks(self, g: int) -> tuple[int, ...]:
        """These blocks."""
        first = len(self.old_rows[g])
        return self.new_rows[g][first : first + self.num_external(g)]

    def new_blocks(self, g: int) -> tuple[int, ...]:
        """The private blocks of copies of the group, then those for the tokens that are computed now."""
        private = [block for _, block in self.new_copies[g]]
        drafts = self._drafts(g)
        appended = self.new_rows[g][len(self.old_rows[g]) + self.num_external(g) :]
        return (*private, *(block for block in appended if block and block not in drafts))

    def _taken(self) -> Iterator[tuple[int, ...]]:
        groups = range(len(self.old_rows))
        yield from map(self.external_blocks, groups)
        yield from map(self.new_blocks, groups)

    def _drafts(self, g: int) -> tuple[int, ...]:
        """Speculative blocks of the last step, which are used again at their new place."""
        row = self.old_rows[g]
        is_moved = self._shape.is_aligned[g] and not self.is_first
        return row[len(row) - self._shape.num_speculative[g] :] if is_moved else ()

    def places(self, g: int, end: int, slots: int) -> int:
        """How many places the row of group ``g`` lacks for the tokens up to ``end``."""
        size, have = self._shape.sizes[g], len(self.old_rows[g]) + self.num_external(g)
        drafts = self._shape.num_speculative[g]
        if self._shape.is_encoder(g):
            return covering(self.encoder, size) if self.is_first else 0
        if not self._shape.is_aligned[g]:
            return len(range(have, covering(slots, size) + drafts))
        last = covering(end, size)
        wanted = range(last - 1, last + drafts)
        there = [i for i in wanted if i < have]
        passed = range(have - len(self._drafts(g)), min(have, last - 1))
        return max(0, len(wanted) - len(there) - len(passed))

    def needs(self) -> int:
        """How many blocks the call takes from the free queue: for places, for copies, and of its hit."""
        groups = range(len(self.old_rows))
        return self._beside_places() + sum(
            self.places(g, self.end, self.slots) + self.num_external(g) for g in groups
        )

    def needs_for_all(self) -> int:
        """The same for all tokens of the request; in a window or chunk for what is ever held at a time."""
        end = max(self.end, min(self.num_tokens, self._t.world.max_model_len))
        total = self._beside_places()
        for g, row in enumerate(self.old_rows):
            more = self.places(g, end, end) + self.num_external(g)
            most = self._most_held(g)
            total += more if most is None else min(more, max(0, most - sum(block != 0 for block in row)))
        return total

    def _beside_places(self) -> int:
        shared = sum(self.hit % size != 0 for size in self._shape.sizes)
        revived = len(self.touched.intersection(self.queue))
        return shared + len(self.moved) + revived

    def _most_held(self, g: int) -> int | None:
        world, shape = self._t.world, self._shape
        flying = world.options.max_in_flight_tokens
        if flying is None or shape.reads[g] not in ("window", "chunk"):
            return None
        is_window = shape.reads[g] == "window"
        span = min(shape.reach[g] - is_window + flying, world.max_model_len)
        return covering(span, shape.sizes[g]) + is_window

    def spare(self) -> int:
        """How many blocks stay free: the reserve, and the watermark of an admission beside others."""
        move, world = self._t.move, self._t.world
        if not isinstance(move, Admit):
            return 0
        return move.reserved + (
            world.options.watermark_percent * world.num_blocks // 100 if self._t.work else 0
        )

    def waits_for(self) -> str:
        """The block that the hit starts from and the open pass still fills, in words; empty for none."""
        t = self._t
        for g, (row, size) in enumerate(zip(self.old_rows, self._shape.sizes, strict=True)):
            last = row[-1] if row and self.is_first else 0
            if not last or not (self._shape.is_state[g] or self.hit % size):
                continue
            if any(last == copy.dst for copy in t.before.copies if copy.group == g):
                return f"block {last} of group {g} is filled by a queued copy"
            for work in t.work.values():
                rows = t.before.tables.get(work.request)
                if rows and last in rows[g][work.loaded_from // size : covering(work.end, size)]:
                    return (
                        f"block {last} of group {g} is filled by {work.request}, {work.start} to {work.end}"
                    )
        return ""
