"""The engine around the scheduler: requests arrive, the model gives the tokens of their prompts, they end."""

from collections import deque
from collections.abc import Callable
from typing import Any

from pagedkv.conformance.loop import LoopState
from pagedkv.invariants.breach import Breach
from pagedkv.reference import Scheduler
from pagedkv.reference.step import SchedulerOutput
from pagedkv.spec import ValuePreconditionError
from pagedkv.spec.clauses import schedule
from pagedkv.spec.moves import Finish, Move, Settle, Submit

from .manager import LifeEnded, LoopManager, Play
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
    ) -> None:
        """``can``: whether the manager has what a move asks for."""
        world = state.world
        self._state = state
        self._play = play
        self._manager = LoopManager(state, play, can)
        self.scheduler = make_scheduler(
            self._manager,
            world.kv_cache_config(),
            max_model_len=world.max_model_len,
            hash_block_size=world.unit,
            max_num_running_reqs=max_running,
            max_num_scheduled_tokens=world.max_step_tokens,
            policy=policy,
            use_eagle=world.use_eagle,
            max_in_flight_steps=world.options.max_in_flight,
            num_lookahead_tokens=world.options.num_lookahead_tokens,
            full_sequence_must_fit=world.options.full_sequence_must_fit,
            resend_boundaries=world.options.resend_boundaries,
            max_in_flight_tokens=world.options.max_in_flight_tokens,
        )
        self._flight: deque[SchedulerOutput] = deque()

    def arrive(self, name: str, prompt: int, priority: int = 0) -> None:
        """A request for a prompt. Raises ``ValuePreconditionError`` for one that the scheduler refuses."""
        made = self._state.world.prompts[prompt]
        request = ServedRequest(name, made.length, made.length)
        self._play(Submit(name, prompt))
        try:
            self.scheduler.add_request(request, priority, len(made.tokens) - made.length)
        except ValuePreconditionError:
            self._play(Finish(name))
            raise

    def step(self) -> list[str]:
        """A pass, after which the oldest steps are settled that the next may not find in flight.

        Without requests the oldest step is settled. Answers who has ended.
        """
        if not self.scheduler.requests:
            return self._settle()
        output = self.scheduler.schedule()
        if output.num_scheduled_tokens != self._manager.sent:
            because = (
                f"the scheduler sends {output.num_scheduled_tokens}, and got slots for {self._manager.sent}"
            )
            raise LifeEnded(Breach(schedule.WITHDRAWS_ITS_PASS, because))
        self._flight.append(output)
        is_full = len(self._flight) > self._state.world.options.max_in_flight
        return self._settle() if is_full else []

    def _settle(self) -> list[str]:
        output = self._flight.popleft()
        if self._state.world.options.max_in_flight:
            self._play(Settle())
        sampled = {}
        for name, part in output.scheduled.items():
            # Who has ended since, or gave way, gets nothing.
            if part.is_sampled and name in self._state.lives:
                tokens = self._state.world.prompts[self._state.lives[name].prompt].tokens
                end = part.start + part.num_tokens
                sampled[name] = tokens[end : end + 1]
        ended: list[str] = self.scheduler.update_from_output(output, sampled)
        return ended
