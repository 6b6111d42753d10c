"""The engine around the scheduler: requests arrive, the model gives the tokens of their prompts, they end."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pagedkv.conformance.loop import LoopState
from pagedkv.invariants.breach import Breach
from pagedkv.reference import Scheduler
from pagedkv.reference.step import SchedulerOutput
from pagedkv.spec import ValuePreconditionError
from pagedkv.spec.clauses import Clause, schedule
from pagedkv.spec.moves import Finish, Move, Settle, Submit

from .calls import num_right
from .connector import Connector
from .manager import LifeEnded, LoopManager, Play
from .misuse import wrongly_taken
from .request import ServedRequest


class Service:
    """Serves requests for prompts of the state's world. What it does are moves that ``play`` makes."""

    def __init__(
        self,
        state: LoopState,
        play: Play,
        max_running: int,
        can: Callable[[Move], bool] = lambda move: True,
        make_scheduler: Callable[..., Any] = Scheduler,
        policy: str = "fcfs",
        guess: Callable[[Sequence[int]], tuple[int, ...]] = lambda following: (),
        connector: Connector | None = None,
    ) -> None:
        """``can``: whether the manager has what a move asks for. ``guess``: of such tokens."""
        world = state.world
        self._state = state
        self._play = play
        self._guess = guess
        self._manager = LoopManager(state, play, can, connector)
        self.scheduler = make_scheduler(
            self._manager,
            world.kv_cache_config(),
            max_model_len=world.max_model_len,
            hash_block_size=world.unit,
            max_num_running_reqs=max_running,
            max_num_scheduled_tokens=world.max_step_tokens,
            policy=policy,
            connector=connector,
            use_eagle=world.use_eagle,
            max_in_flight_steps=world.options.max_in_flight,
            num_lookahead_tokens=world.options.num_lookahead_tokens,
            full_sequence_must_fit=world.options.full_sequence_must_fit,
            resend_boundaries=world.options.resend_boundaries,
            max_in_flight_tokens=world.options.max_in_flight_tokens,
            num_ranks=world.num_ranks,
        )
        self._flight: deque[SchedulerOutput] = deque()
        self._settled: list[SchedulerOutput] = []
        """The step that was settled last."""

    def arrive(self, name: str, prompt: int, priority: int = 0) -> None:
        """A request for a prompt. Raises ``ValuePreconditionError`` for one that the scheduler refuses."""
        made = self._state.world.prompts[prompt]
        request = ServedRequest(name, made.length, made.length)
        self._play(Submit(name, prompt))
        try:
            num_output, encoder = len(made.tokens) - made.length, made.encoder_tokens
            self.scheduler.add_request(request, priority, num_output, encoder)
        except ValuePreconditionError:
            self._play(Finish(name))
            raise

    def misuse(self) -> Iterator[Breach]:
        """Ask the scheduler for what it has to refuse; what it does all the same."""
        return wrongly_taken(self.scheduler, self._settled, [*self._flight][:1])

    def step(self) -> list[str]:
        """A pass, after which the oldest steps are settled that the next may not find in flight.

        Without requests the oldest step is settled. Answers who has ended.
        """
        if not self.scheduler.requests:
            return self._settle()
        output = self.scheduler.schedule()
        self._compare("frees", *self._manager.block_pool.take_calls(), schedule.RELEASED_WHEN_PROCESSED)
        self._compare("sends", output.num_scheduled_tokens, self._manager.sent, schedule.WITHDRAWS_ITS_PASS)
        drafts = {name: part.draft_token_ids for name, part in output.scheduled.items()}
        self._compare("sends", drafts, self._manager.drafts, schedule.VERIFIES_DRAFTS)
        self._flight.append(output)
        is_full = len(self._flight) > self._state.world.options.max_in_flight
        return self._settle() if is_full else []

    def _compare(self, does: str, here: object, there: object, clause: Clause) -> None:
        if here != there:
            raise LifeEnded(Breach(clause, f"the scheduler {does} {here}, and the loop has {there}"))

    def _settle(self) -> list[str]:
        output = self._flight.popleft()
        self._settled = [output]
        if self._state.world.options.max_in_flight:
            self._manager.block_pool.is_settled()
            self._play(Settle())
        sampled: dict[str, Sequence[int]] = {}
        guesses: dict[str, tuple[int, ...]] = dict.fromkeys(output.scheduled, ())
        for name, part in output.scheduled.items():
            # Who has ended since, or gave way, gets nothing.
            if part.is_sampled and name in self._state.lives:
                tokens = self._state.world.prompts[self._state.lives[name].prompt].tokens
                following = tokens[part.start + part.num_tokens - len(part.draft_token_ids) :]
                number = num_right(part.draft_token_ids, following) + 1
                sampled[name], guesses[name] = following[:number], self._guess(following[number:])
        self._manager.guesses.update(guesses)
        ended: list[str] = self.scheduler.update_from_output(output, sampled, guesses)
        self._compare("frees", *self._manager.block_pool.take_calls(), schedule.FREED_IN_ORDER)
        computed = {
            name: entry.request.num_computed_tokens for name, entry in self.scheduler.requests.items()
        }
        there = {name: self._state.lives[name].computed for name in computed if name in self._state.lives}
        self._compare("goes on from", computed, there, schedule.VERIFIES_DRAFTS)
        return ended
