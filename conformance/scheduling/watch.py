"""Whether the moves of a life are those of a scheduler that keeps the clauses Schedule/..."""

from collections.abc import Iterator

from pagedkv.conformance.enabled import is_enabled
from pagedkv.conformance.loop import LoopState
from pagedkv.invariants.breach import Breach
from pagedkv.spec.clauses import schedule
from pagedkv.spec.moves import Admit, BeginPass, EndPass, Finish, Move, Preempt, Schedule, Submit
from pagedkv.spec.outcomes import Allocated, Outcome


class Watch:
    """Sees every move before and after it is made. It keeps its own books and asks no scheduler."""

    def __init__(self, state: LoopState, max_running: int, by_priority: bool) -> None:
        self._state = state
        self._max_running = max_running
        self._by_priority = by_priority
        self._rank: dict[str, tuple[int, int]] = {}
        self._waiting: list[str] = []
        self._running: list[str] = []
        self._asked: set[str] = set()
        """Those that run and had their turn in this pass."""
        self._refused = ""
        """Who runs and was just refused."""
        self._gave_way = False
        self._is_closed = False
        """Whether the first that waits got nothing in this pass."""
        self._too_long_a_hit = ""

    def arrives(self, request: str, priority: int) -> None:
        """A request is taken in."""
        self._rank[request] = (priority, len(self._rank))

    def before(self, move: Move) -> Iterator[Breach]:
        """What the scheduler breaks by choosing this move."""
        # With blocks on their way back, it may wait for them.
        if self._refused and not self._state.held and not isinstance(move, Preempt):
            yield Breach(
                schedule.LAST_GIVES_WAY, f"{self._refused} got no slots, and nobody gives way but {move}"
            )
        match move:
            case Schedule(request):
                earlier = self._running[: self._running.index(request)]
                skipped = [other for other in earlier if self._may_ask(other)]
                if skipped:
                    yield Breach(schedule.RUNNING_FIRST, f"{request} is asked before {skipped[0]}")
            case Admit(request):
                yield from self._before_admission(request)
            case EndPass():
                yield from self._before_end()
            case Preempt(request):
                yield from self._before_preemption(request)

    def after(self, move: Move, outcome: Outcome) -> Iterator[Breach]:
        """Take in what was answered."""
        is_served = isinstance(outcome, Allocated) and outcome.rows is not None
        match move:
            case Submit(request):
                self._wait(request, len(self._waiting))
            case BeginPass():
                self._asked, self._gave_way, self._is_closed = set(), False, False
            case EndPass():
                self._refused = ""
            case Schedule(request):
                self._asked.add(request)
                self._refused = "" if is_served else request
            case Preempt(request):
                self._running.remove(request)
                self._wait(request, 0)
                self._asked.discard(self._refused)
                self._refused, self._gave_way = "", True
            case Admit(request):
                self._is_closed = not is_served
                if is_served:
                    self._waiting.remove(request)
                    self._running.append(request)
                    self._asked.add(request)
                else:
                    yield from self._after_refusal(request, outcome)
            case Finish(request):
                (self._running if request in self._running else self._waiting).remove(request)

    def _wait(self, request: str, place: int) -> None:
        self._waiting.insert(place, request)
        if self._by_priority:
            self._waiting.sort(key=self._rank.__getitem__)

    def _may_ask(self, request: str) -> bool:
        life = self._state.lives[request]
        prompt = self._state.world.prompts[life.prompt]
        is_short = life.computed < prompt.num_to_compute
        move = Schedule(request, self._state.tokens_left)
        return is_short and request not in self._asked and is_enabled(self._state, move)

    def _before_admission(self, request: str) -> Iterator[Breach]:
        skipped = [other for other in self._running if self._may_ask(other)]
        if skipped:
            yield Breach(schedule.RUNNING_FIRST, f"{request} is admitted before {skipped[0]} is asked")
        if len(self._running) >= self._max_running:
            yield Breach(
                schedule.WITHIN_BUDGET, f"{request} is admitted, and {len(self._running)} run already"
            )
        if request != self._waiting[0]:
            yield Breach(schedule.IN_TURN, f"{request} is admitted, and it is the turn of {self._waiting[0]}")

    def _before_end(self) -> Iterator[Breach]:
        skipped = [other for other in self._running if self._may_ask(other)]
        if skipped:
            yield Breach(schedule.RUNNING_FIRST, f"{skipped[0]} runs and is not asked in this pass")
        is_open = not self._gave_way and not self._is_closed and self._state.tokens_left > 0
        if self._waiting and is_open and len(self._running) < self._max_running:
            yield Breach(
                schedule.IN_TURN,
                f"it is the turn of {self._waiting[0]}, and {self._state.tokens_left} tokens are left",
            )

    def _before_preemption(self, request: str) -> Iterator[Breach]:
        if not self._refused:
            yield Breach(schedule.LAST_GIVES_WAY, f"{request} gives way, and nobody was refused")
        order = sorted(self._running, key=self._rank.__getitem__) if self._by_priority else self._running
        for other in reversed(order):
            if is_enabled(self._state, Preempt(other, other in self._state.work)):
                if other != request:
                    yield Breach(schedule.LAST_GIVES_WAY, f"{request} gives way before {other}")
                return

    def _after_refusal(self, request: str, outcome: Outcome) -> Iterator[Breach]:
        found = getattr(outcome, "found", None)
        is_alone = not self._running and not self._state.held
        is_idle = isinstance(outcome, Allocated) and is_alone and found is not None and found.hit > 0
        if is_idle and self._too_long_a_hit == request:
            yield Breach(
                schedule.SHORTER_HIT, f"nothing else runs, and {request} is refused with the same hit again"
            )
        self._too_long_a_hit = request if is_idle else ""
