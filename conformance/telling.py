"""What the laws are told of a move."""

from pagedkv.invariants.view import Flight, Transition
from pagedkv.spec.moves import EndPass, Move, Settle
from pagedkv.spec.outcomes import Outcome
from pagedkv.spec.snapshot import KeyName, Snapshot

from .loop_state import LoopState
from .stepping import due


class Telling:
    """What the loop knows before a move."""

    def __init__(self, state: LoopState) -> None:
        self.lives = state.lives.copy()
        self._work = state.work.copy()
        self._flight = state.flight
        self._held = state.held
        self._dispatched = state.dispatched
        self._announced = state.announced

    def transition(
        self,
        after: LoopState,
        before_snapshot: Snapshot[KeyName],
        after_snapshot: Snapshot[KeyName],
        move: Move,
        outcome: Outcome,
        pass_began: Snapshot[KeyName] | None,
        unspoilt: frozenset[str] = frozenset(),
    ) -> Transition:
        """The move, done, between two snapshots; ``after`` is the loop after it."""
        frees: tuple[tuple[int, ...], ...] = ()
        if isinstance(move, Settle):
            processed = self._dispatched - len(self._flight) + 1
            frees = tuple(entry.blocks for entry in due(self._held, processed))
        elif isinstance(move, EndPass) and not after.world.options.max_in_flight:
            frees = (tuple(block for copy in before_snapshot.copies for block in (copy.src, copy.dst)),)
        return Transition(
            after.world,
            before_snapshot,
            after_snapshot,
            move,
            outcome,
            self.lives,
            self._work,
            pass_began,
            Flight(
                bool(self._flight),
                frozenset().union(*(step.blocks for step in self._flight)),
                frozenset().union(*(step.blocks for step in after.flight)),
                frees,
                tuple(block for entry in after.held for block in entry.blocks),
                after.lives,
                after.work,
            ),
            unspoilt,
            self._announced,
            after.events,
        )
