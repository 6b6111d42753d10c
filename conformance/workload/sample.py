"""Which moves of a long life the laws are asked about: a snapshot costs more than a move."""

from pagedkv.conformance.loop import LoopState
from pagedkv.conformance.telling import Telling
from pagedkv.invariants.view import Transition
from pagedkv.spec import Snapshot
from pagedkv.spec.moves import BeginPass, EndPass, Move
from pagedkv.spec.outcomes import Outcome
from pagedkv.spec.snapshot import KeyName


class Sample:
    """Every ``every``-th move with the states around it; none of a manager that does not tell its state.

    The step of a pass with such a move is also held against what tables and keys claim. A prime ``every``
    leaves out no kind of move, however regular a life is.
    """

    def __init__(self, state: LoopState, every: int) -> None:
        self._state = state
        self._every = every
        self._moves = 0
        self._is_due = False
        """Whether the present move is one of the sample."""
        self._was_due = False
        """Whether a move since the last pass ended was."""
        self._before: Snapshot[KeyName] | None = None
        self._pass_began: Snapshot[KeyName] | None = None
        self._telling: Telling | None = None

    def before(self, move: Move) -> None:
        """Take what is needed of the state before the move."""
        state = self._state
        self._moves += 1
        self._is_due = self._moves % self._every == 0
        self._was_due |= self._is_due
        state.checks_claims = self._was_due
        # The laws also look at how a pass began; it has at most two moves for each request.
        moves_to_go = -self._moves % self._every
        begins = isinstance(move, BeginPass) and moves_to_go <= 2 * len(state.lives) + 1
        if self._is_due or begins:
            self._before = state.instance.snapshot()
        if begins:
            self._pass_began = self._before
        if self._is_due:
            self._telling = Telling(state)

    def after(self, move: Move, outcome: Outcome) -> Transition | None:
        """The move with the states around it, if it is one of the sample."""
        after = self._state.instance.snapshot() if self._is_due else None
        pass_began = self._pass_began
        if isinstance(move, EndPass):
            self._was_due, self._pass_began = False, None
        if self._before is None or after is None or self._telling is None:
            return None
        return self._telling.transition(self._state, self._before, after, move, outcome, pass_began)
