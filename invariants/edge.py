"""One move, with what several laws ask of it."""

from collections.abc import Iterator, Sequence

from pagedkv.spec.life import Life
from pagedkv.spec.moves import Admit, EndPass, Evict, Finish, Loaded, Preempt, Schedule, Settle, Truncate
from pagedkv.spec.outcomes import Allocated, Answered, Found, Viewed, Waits

from .call import Call, queue_after_frees
from .lookup import Lookup
from .naming import Names, Naming
from .shape import Shape
from .view import Transition

_PARTS = (
    "ref_counts",
    "keys",
    "queue",
    "index",
    "tables",
    "num_cached",
    "copies",
    "hand_offs",
    "pins",
    "to_zero",
)


def life_of(t: Transition) -> Life | None:
    """The request that the move is about, as it was before."""
    return (
        t.lives.get(t.move.request)
        if isinstance(t.move, (Admit, Schedule, Preempt, Finish, Truncate, Loaded))
        else None
    )


class Edge:
    """A transition, and what follows from the state before it and the move."""

    def __init__(self, t: Transition, shape: Shape) -> None:
        self.world = t.world
        self.before, self.after = t.before, t.after
        self.move, self.outcome = t.move, t.outcome
        self.work, self.pass_began = t.work, t.pass_began
        self.flight = t.flight
        self.unspoilt = t.unspoilt
        self.announced, self.events = t.announced, t.events
        self.shape = shape
        self.life = life_of(t)
        self.found: Found | None = None
        """What a lookup answered, if there was one."""
        self.lookup: Lookup | None = None
        """What it should have answered."""
        self.call: Call | None = None
        """What the manager was asked slots for, if it was."""
        if isinstance(t.outcome, (Allocated, Waits, Viewed)) and self.life:
            self.found = t.outcome.found
            if self.found:
                divergent = isinstance(t.move, Admit) and t.move.lookup == "divergent"
                is_off = isinstance(t.move, Admit) and t.move.lookup == "skip"
                self.lookup = Lookup(t.world, shape, t.before, self.life, divergent, is_off)
            if isinstance(t.outcome, Allocated):
                self.call = Call(t, shape, self.life, t.outcome, isinstance(t.move, Admit))
        self.served = self.call if self.call and self.call.is_served else None
        """The call, if it was answered with blocks."""
        self.names = self.served.names if self.served else self._names_of_load(t)
        """What the move makes keys, if anything."""

    def _names_of_load(self, t: Transition) -> Names | None:
        """What becomes a key because a load has ended."""
        life, move = self.life, t.move
        if not life or not isinstance(move, Loaded) or not move.valid or not t.world.enable_caching:
            return None
        first = t.before.num_cached.get(life.request, (0,) * len(self.shape.sizes))
        rows = t.after.tables.get(life.request, ((),) * len(self.shape.sizes))
        return Names(t, self.shape, life, rows, first, 0, move.valid)

    @property
    def leaving(self) -> str | None:
        """The request that has lost all its blocks."""
        move = self.move
        if isinstance(move, (Preempt, Finish)) or (isinstance(move, Loaded) and not move.valid):
            return move.request
        return None

    def changes(self) -> Iterator[tuple[str, object, object]]:
        """The parts of the state that differ, before and after."""
        for part in _PARTS:
            old, new = getattr(self.before, part), getattr(self.after, part)
            if old != new:
                yield part, old, new

    def gained(self) -> frozenset[Naming]:
        """Keys that blocks have after the move and did not have before."""
        before, after = self.before.keys, self.after.keys
        if before == after:
            return frozenset()
        return frozenset(
            (block, key) for block, keys in enumerate(after) for key in keys if key not in before[block]
        )

    def arrived(self) -> frozenset[Naming]:
        """Keys that came with the move of an entry."""
        call = self.served
        if call is None or not call.moved:
            return frozenset()
        return frozenset(
            (private, key)
            for g, source in call.moved.items()
            for _, private in call.new_copies[g]
            for key in self.before.keys[source]
        )

    def restarted(self) -> frozenset[int]:
        """Blocks that lost all the keys they had, by a reuse, a move, an eviction or a reset."""
        if self.served:
            return frozenset(self.served.taken).union(self.served.moved.values())
        if isinstance(self.move, Evict):
            return frozenset(self.move.blocks)
        if self.outcome == Answered(True):
            return frozenset(range(self.world.num_blocks))
        return frozenset()

    def expected_queue(self) -> Sequence[int]:
        """The free queue after the move, given which blocks were taken and which keys were left."""
        before, move = self.before, self.move
        if self.call:
            gone = self.call.touched.union(self.call.taken) if self.served else ()
            return [block for block in self.call.queue if block not in gone]
        if isinstance(move, (EndPass, Settle)):
            pinned = {entry.block for entry in before.hand_offs} if isinstance(move, EndPass) else ()
            queue = queue_after_frees(
                before.queue, before.ref_counts, before.keys, self.flight.frees, self.world.enable_caching
            )
            return [block for block in queue if block not in pinned]
        if self.leaving and not self.flight.is_busy:
            pins, rows = before.pins.get(self.leaving, ()), before.tables.get(self.leaving, ())
            frees: list[Sequence[int]] = [pins, *(row[::-1] for row in rows)]
            if getattr(move, "pop", False):
                # Popped blocks are one list like a table, freed from its end in one call.
                frees = [tuple(block for blocks in (pins, *rows) for block in blocks)[::-1]]
            return queue_after_frees(
                before.queue, before.ref_counts, self.after.keys, frees, self.world.enable_caching
            )
        return before.queue

    def withdrawn(self) -> tuple[frozenset[Naming], frozenset[Naming]]:
        """Keys that a withdrawal takes back: those that must go, and those that another may have made too."""
        move, began = self.move, self.pass_began
        work = self.work.get(move.request) if isinstance(move, Preempt) and move.withdraw else None
        if work is None or began is None:
            return frozenset(), frozenset()
        own, unclear = set(), set()
        held = began.tables.get(work.request, ((),) * len(self.shape.sizes))
        counted = began.num_cached.get(work.request, (0,) * len(self.shape.sizes))
        for g, row in enumerate(self.before.tables.get(work.request, ())):
            first_own = work.loaded_from // self.shape.sizes[g] if work.is_new else counted[g]
            for i, block in enumerate(row):
                for key in self.before.keys[block] if block else ():
                    is_taken = block not in held[g] and i >= first_own
                    if key in began.keys[block] and not is_taken:
                        continue
                    if i >= first_own:
                        own.add((block, key))
                    elif key.num_tokens % self.shape.sizes[g]:
                        # A block of the hit that the request named by its own boundary; whoever else
                        # holds it may have been first.
                        unclear.add((block, key))
        return frozenset(own), frozenset(unclear)
