"""A life under the scheduler: random arrivals, priorities and aborts, until every request has ended."""

from collections.abc import Callable, Iterator, Sequence
from random import Random

from pagedkv.conformance.demand import most_blocks_for
from pagedkv.conformance.enabled import most_drafts
from pagedkv.conformance.judge import Bout
from pagedkv.conformance.subjects import Subject
from pagedkv.invariants.breach import Breach
from pagedkv.spec import ValuePreconditionError
from pagedkv.spec.clauses import schedule
from pagedkv.spec.life import Life
from pagedkv.spec.moves import Admit, EndPass, Move, Preempt
from pagedkv.spec.outcomes import Allocated, Outcome
from pagedkv.spec.world import STATES

from .connector import Connector
from .manager import LifeEnded, Play
from .service import Service
from .watch import Watch

REQUESTS = 8
"""How many requests arrive in a life."""

_NO_TOKEN = -1

WATCHED = (
    schedule.NEVER_FITS,
    schedule.ASKS_FOR_ALL,
    schedule.VERIFIES_DRAFTS,
    schedule.LOOKUP_BY_CONNECTOR,
    schedule.LOADS_FROM_BLOCKS_ON,
    schedule.RELEASED_WHEN_PROCESSED,
    schedule.FREED_IN_ORDER,
    schedule.SETTLED_IN_ORDER,
    schedule.ARRIVES_ONCE,
    schedule.WITHIN_BUDGET,
    schedule.RUNNING_FIRST,
    schedule.IN_TURN,
    schedule.LAST_GIVES_WAY,
    schedule.WITHDRAWS_ITS_PASS,
    schedule.NOBODY_AFTER_PREEMPTION,
    schedule.SHORTER_HIT,
    schedule.EVERYBODY_ENDS,
)
"""The clauses that a life under the scheduler is held to, beside those of the manager."""


class Serving:
    """One life. ``serve`` raises ``LifeEnded`` with what a move or the scheduler broke."""

    def __init__(
        self, rng: Random, bout: Bout, can: Callable[[Move], bool], subject: Subject, play: Play
    ) -> None:
        """``can``: which moves may come; ``play`` does one, and raises ``LifeEnded`` for what that broke."""
        self._rng = rng
        self._state = bout.state
        self._do = play
        by_priority = rng.random() < 0.6 and can(Preempt("", withdraw=True))
        max_running = rng.choice((1, 3, 4, 4))
        self._watch = Watch(bout.state, max_running, by_priority)
        self._service = Service(
            bout.state,
            self._play,
            max_running,
            subject.can,
            subject.scheduler,
            "priority" if by_priority else "fcfs",
            self._guess,
            self._connector(can) if bout.world.options.has_connector else None,
        )
        self._num_passes = 0
        self._passes_allowed = 0
        self._last_given = 0
        """The pass in which some were."""

    def serve(self) -> None:
        """Let requests arrive and serve them all."""
        rng, world, scheduler = self._rng, self._state.world, self._service.scheduler
        arrived = 0
        while arrived < REQUESTS or scheduler.has_requests():
            while arrived < REQUESTS and len(self._state.lives) < world.max_requests and rng.random() < 0.5:
                self._arrive(f"r{arrived}", rng.randrange(len(world.prompts)), rng.randrange(3))
                arrived += 1
            if self._state.lives and rng.random() < 0.03:
                scheduler.finish_requests([rng.choice(sorted(self._state.lives))])
            if rng.random() < 0.05:
                self._check(self._service.misuse())
            if scheduler.has_requests():
                self._check(self._unfair_ends(self._service.step()))
                self._check(self._waits())

    def _arrive(self, name: str, prompt: int, priority: int) -> None:
        world, because = self._state.world, "is taken"
        self._watch.arrives(name, priority)
        try:
            self._service.arrive(name, prompt, priority)
        except ValuePreconditionError as refusal:
            because = f"is refused: {refusal}"
        needed = most_blocks_for(world, world.prompts[prompt])
        if (needed < world.num_blocks) != (because == "is taken"):
            told = f"{name} needs up to {needed} of {world.num_blocks - 1} blocks, and {because}"
            raise LifeEnded(Breach(schedule.NEVER_FITS, told))
        # Whoever is first goes on in every pass; an arrival may make another one the first.
        longest = world.max_model_len
        self._passes_allowed += (
            (len(self._state.lives) + 1) * (longest + 3) * (1 + world.options.max_in_flight)
        )

    def _connector(self, can: Callable[[Move], bool]) -> Connector:
        groups = self._state.world.groups
        may_lag = len(groups) > 1 and any(group.kind in STATES for group in groups)
        takes_divergent = may_lag and can(Admit("", 1, "divergent")) and self._rng.random() < 0.5
        return Connector(self._available, takes_divergent)

    def _available(self, life: Life) -> int:
        return self._rng.randrange(life.num_tokens) if self._rng.random() < 0.5 else 0

    def _guess(self, following: Sequence[int]) -> tuple[int, ...]:
        """Some right and some wrong, perhaps more than there are tokens left."""
        most = most_drafts(self._state.world)
        number = self._rng.randint(0, most) if most else 0
        return tuple(
            following[i] if i < len(following) and self._rng.random() < 0.7 else _NO_TOKEN
            for i in range(number)
        )

    def _play(self, move: Move) -> Outcome:
        self._check(self._watch.before(move))
        outcome = self._do(move)
        self._check(self._watch.after(move, outcome))
        if isinstance(outcome, Allocated) and outcome.rows is not None:
            self._last_given = self._num_passes
        self._num_passes += isinstance(move, EndPass)
        return outcome

    def _unfair_ends(self, ended: list[str]) -> Iterator[Breach]:
        """Whoever has all tokens ends, and nobody else but by an abort."""
        for name, life in self._state.lives.items():
            prompt = self._state.world.prompts[life.prompt]
            has_all = life.num_tokens == len(prompt.tokens)
            if has_all and life.processed >= prompt.num_to_compute:
                yield Breach(schedule.EVERYBODY_ENDS, f"{name} has all its tokens and goes on")
        left = {entry.request.request_id for entry in self._service.scheduler.requests.values()}
        if left != set(self._state.lives):
            yield Breach(
                schedule.EVERYBODY_ENDS,
                f"{sorted(self._state.lives)} are not ended, {sorted(left)} are served, and {ended} ended",
            )

    def _waits(self) -> Iterator[Breach]:
        """A bound on the passes in which nobody gets a token, and on all of them."""
        idle = self._num_passes - 1 - self._last_given
        if idle > 2 + 2 * self._state.world.options.max_in_flight or self._num_passes > self._passes_allowed:
            yield Breach(
                schedule.EVERYBODY_ENDS,
                f"{sorted(self._state.lives)} wait after {self._num_passes} passes, of which the "
                f"last {idle} gave no token",
            )

    @staticmethod
    def _check(breaches: Iterator[Breach]) -> None:
        found = tuple(breaches)
        if found:
            raise LifeEnded(*found)
