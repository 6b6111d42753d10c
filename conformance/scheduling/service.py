"""The engine around the scheduler: requests arrive, the model gives the tokens of their prompts, they end."""

from collections.abc import Callable
from typing import Any

from pagedkv.conformance.loop import LoopState
from pagedkv.invariants.breach import Breach
from pagedkv.reference import Scheduler
from pagedkv.spec.clauses import schedule
from pagedkv.spec.moves import Move, Submit

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
        )

    def arrive(self, name: str, prompt: int, priority: int = 0) -> None:
        """A request for a prompt. Raises ``ValuePreconditionError`` for one that the scheduler refuses."""
        made = self._state.world.prompts[prompt]
        request = ServedRequest(name, made.length, made.length)
        self._play(Submit(name, prompt))
        self.scheduler.add_request(request, priority, len(made.tokens) - made.length)

    def step(self) -> list[str]:
        """A pass. Answers who has ended."""
        scheduler = self.scheduler
        output = scheduler.schedule()
        if output.num_scheduled_tokens != self._manager.sent:
            because = (
                f"the scheduler sends {output.num_scheduled_tokens}, and got slots for {self._manager.sent}"
            )
            raise LifeEnded(Breach(schedule.WITHDRAWS_ITS_PASS, because))
        sampled = {}
        for name, part in output.scheduled.items():
            if part.is_sampled:
                tokens = self._state.world.prompts[self._state.lives[name].prompt].tokens
                end = part.start + part.num_tokens
                sampled[name] = tokens[end : end + 1]
        ended: list[str] = scheduler.update_from_output(output, sampled)
        return ended
