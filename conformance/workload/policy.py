"""The scheduler that a workload runs under: first come first served, the latest gives way.

It only chooses moves; each is one that the engine loop allows.
"""

from collections import deque
from collections.abc import Callable, Generator, Sequence

from pagedkv.conformance.enabled import is_enabled
from pagedkv.conformance.loop import LoopState
from pagedkv.spec.life import Life
from pagedkv.spec.moves import Admit, BeginPass, EndPass, Finish, Lookup, Move, Preempt, Schedule, Submit
from pagedkv.spec.outcomes import Allocated, Outcome

MS_PER_PASS = 50
"""Trace time that a pass takes."""

Chosen = Generator[Move, Outcome, None]
"""Moves; whoever takes one does it and sends back what was answered."""


def name_of(prompt: int) -> str:
    """The request for a prompt."""
    return f"r{prompt}"


class Policy:
    """Serves one request for each prompt of the state's world.

    Requests run in the order in which they were admitted. When one gets no slots, the latest that may be
    preempted in this pass is, and nobody is admitted before the next pass; without such a one the pass ends.
    Whoever was preempted is the first to be admitted again. One that gets nothing although nobody holds a
    block is admitted without its hit in the next pass: source and copy of a hit may not fit together. Time
    that nobody uses is skipped.
    """

    def __init__(
        self,
        state: LoopState,
        arrivals: Sequence[float] | None,
        max_running: int,
        can: Callable[[Move], bool] = lambda move: True,
    ) -> None:
        """``arrivals``: by prompt when its request arrives, in ms and in order.

        None: each arrives as soon as it may run. ``can``: whether the manager has what a move asks for.
        """
        self._state = state
        self._arrivals = arrivals
        self._max_running = max_running
        self._can = can
        self._arriving = deque(range(len(state.world.prompts)))
        self._waiting: deque[str] = deque()
        self._running: list[str] = []
        self._now = 0.0
        self._without_hit = ""

    def moves(self) -> Chosen:
        """The moves of a whole run, until every request has ended."""
        while self._arriving or self._waiting or self._running:
            yield from self._arrive()
            yield BeginPass()
            if (yield from self._go_on()):
                yield from self._admit()
            yield EndPass()
            self._now += MS_PER_PASS
            yield from self._finish()

    def _arrive(self) -> Chosen:
        if self._arrivals is not None and not self._waiting and not self._running:
            self._now = max(self._now, self._arrivals[self._arriving[0]])
        while self._arriving and self._has_arrived(self._arriving[0]):
            prompt = self._arriving.popleft()
            self._waiting.append(name_of(prompt))
            yield Submit(name_of(prompt), prompt)

    def _has_arrived(self, prompt: int) -> bool:
        if self._arrivals is None:
            return len(self._waiting) + len(self._running) < self._max_running
        return self._arrivals[prompt] <= self._now

    def _go_on(self) -> Generator[Move, Outcome, bool]:
        """Give slots to those that run. Answers whether all got theirs, so that others may be admitted."""
        is_enough = True
        for request in tuple(self._running):
            move = Schedule(request, self._state.tokens_left)
            # Some may have been preempted, and others wait for a pass with more room.
            if is_enabled(self._state, move) and _is_refused((yield move)):
                is_enough = False
                victim = self._victim()
                if victim is None:
                    break
                yield victim
                self._running.remove(victim.request)
                self._waiting.appendleft(victim.request)
        return is_enough

    def _victim(self) -> Preempt | None:
        moves = (Preempt(r, withdraw=r in self._state.work) for r in reversed(self._running))
        return next((move for move in moves if is_enabled(self._state, move) and self._can(move)), None)

    def _admit(self) -> Chosen:
        while self._waiting and len(self._running) < self._max_running and self._state.tokens_left:
            request = self._waiting[0]
            lookup: Lookup = "none" if request == self._without_hit else "common"
            yield Admit(request, self._state.tokens_left, lookup)
            if not self._state.lives[request].is_running:
                self._without_hit = "" if self._running else request
                return
            self._running.append(self._waiting.popleft())

    def _finish(self) -> Chosen:
        for request in tuple(self._running):
            if self._has_all(self._state.lives[request]):
                self._running.remove(request)
                yield Finish(request)

    def _has_all(self, life: Life) -> bool:
        """Whether the last token of the output is there; its own KV is for nobody."""
        prompt = self._state.world.prompts[life.prompt]
        return life.computed >= max(prompt.length, len(prompt.tokens) - 1)


def _is_refused(outcome: Outcome) -> bool:
    return isinstance(outcome, Allocated) and outcome.rows is None
