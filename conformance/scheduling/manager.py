"""A manager with the standard names whose calls are moves of the engine loop."""

from collections.abc import Callable
from typing import Any, NoReturn

from pagedkv.conformance.asking import taken_of
from pagedkv.conformance.enabled import is_enabled
from pagedkv.conformance.loop import LoopState
from pagedkv.invariants.breach import Breach
from pagedkv.spec import KVCacheBlockCopy, PreconditionError
from pagedkv.spec.clauses import Clause, chunk, freeing, schedule
from pagedkv.spec.moves import Admit, BeginPass, EndPass, Finish, Lookup, Move, Preempt, Schedule
from pagedkv.spec.outcomes import Allocated, Found, Outcome, Stepped, Waits
from pagedkv.spec.rules.caching import resend_length
from pagedkv.spec.snapshot import HandOffName

from .calls import Admission, Options, Slots, num_right
from .connector import Connector
from .pool import LoopPool

Play = Callable[[Move], Outcome]
"""Does a move and answers what was answered; raises ``LifeEnded`` when that broke something."""


class LifeEnded(Exception):
    """The life is over: something broke, in a move or by what the scheduler did."""

    def __init__(self, *breaches: Breach) -> None:
        super().__init__(*breaches)
        self.breaches = breaches


class LoopManager:
    """What the scheduler is given in place of a manager.

    The loop looks a request up and allocates for it in one move, with the chunk that the rules give it. The
    move is made by the lookup; the scheduler's own call then has to be the one that was made.
    """

    def __init__(
        self, state: LoopState, play: Play, can: Callable[[Move], bool], connector: Connector | None
    ) -> None:
        self._state = state
        self._play = play
        self._can = can
        self._connector = connector
        self.block_pool = LoopPool(state)
        self._looked_up: Admission | None = None
        self._gave_way: list[Preempt] = []
        """What was preempted in this pass."""
        self._hand_offs: tuple[HandOffName, ...] = ()
        self.sent: dict[str, int] = {}
        """What the worker was sent at the end of the last pass: tokens by request."""
        self.drafts: dict[str, tuple[int, ...]] = {}
        """Those of them that were guessed."""
        self.guesses: dict[str, tuple[int, ...]] = {}
        """What is guessed of the tokens after the next one, by request."""

    def new_step_starts(self) -> None:
        """Open a pass."""
        self._gave_way = []
        self._do(BeginPass(), schedule.SETTLED_IN_ORDER)

    def get_computed_blocks(self, request: Any) -> tuple[Slots, int, int]:
        """Admit the request, as far as the loop sees it."""
        found = self._look_up(request.request_id, "common")
        return Slots(found.rows), found.hit, found.junction

    def get_computed_blocks_for_connector(self, request: Any) -> tuple[Slots, int, int, bool]:
        """The same with the lookup per group."""
        if self._connector is None or not self._connector.supports_divergent_local_hybrid_hits:
            self._fail(
                schedule.LOOKUP_BY_CONNECTOR, f"{request.request_id} is looked up per group, for nobody"
            )
        found = self._look_up(request.request_id, "divergent")
        return Slots(found.rows), found.hit, found.junction, found.diverged

    def truncate_computed_blocks(self, computed: Slots, num_tokens: int) -> Slots:
        """The loop has cut the hit already, where that was due."""
        return computed

    def allocate_slots(
        self,
        request: Any,
        num_new_tokens: int,
        num_new_computed_tokens: int = 0,
        new_computed_blocks: Slots | None = None,
        num_lookahead_tokens: int = 0,
        num_external_computed_tokens: int = 0,
        num_encoder_tokens: int = 0,
        full_sequence_must_fit: bool = False,
        has_scheduled_reqs: bool = True,
    ) -> Slots | None:
        """Ask slots for the request, which the loop does with as many tokens as the rules give."""
        name, left = request.request_id, self._state.tokens_left
        admission, self._looked_up = self._looked_up, None
        if admission:
            left = admission.left
            if admission.request != name:
                self._fail(schedule.IN_TURN, f"{admission.request} is looked up, and {name} asks for slots")
        if num_new_tokens > left:
            self._fail(schedule.WITHIN_BUDGET, f"{name} asks for {num_new_tokens} tokens of {left}")
        if not admission and not self._state.lives[name].is_running:
            admission = self._admit(name, "none")
        options = Options(
            num_lookahead_tokens, num_encoder_tokens, full_sequence_must_fit, has_scheduled_reqs
        )
        wanted = self._options_of(admission)
        if options != wanted:
            self._fail(schedule.ASKS_FOR_ALL, f"{name} asks with {options}, and not with {wanted}")
        drafts = () if admission else self._drafts_of(name, left)
        outcome = admission.outcome if admission else self._schedule(name, left, drafts)
        if not isinstance(outcome, Allocated) or outcome.num_new_tokens != num_new_tokens:
            allowed = outcome.num_new_tokens if isinstance(outcome, Allocated) else 0
            gave_back = any(move.withdraw for move in self._gave_way)
            keeps_back = gave_back and num_new_tokens < allowed
            other = schedule.VERIFIES_DRAFTS if self.guesses.get(name) else chunk.ENDS_ON_A_STATE
            clause = schedule.WITHDRAWS_ITS_PASS if keeps_back else other
            if isinstance(outcome, Waits) and outcome.found and outcome.found.diverged:
                clause = schedule.LOOKUP_BY_CONNECTOR
            self._fail(clause, f"{name} asks for {num_new_tokens} tokens, and the rules give {allowed}")
        taken = num_new_computed_tokens, num_external_computed_tokens
        found = admission and outcome.found
        if taken != taken_of(self._state, found, admission.available if found and admission else 0):
            self._fail(schedule.LOADS_FROM_BLOCKS_ON, f"{name} takes {taken[0]} tokens and loads {taken[1]}")
        return None if outcome.rows is None else Slots(outcome.rows)

    def get_block_ids(self, request_id: str) -> tuple[list[int], ...]:
        """The whole table of a request that was admitted in this pass."""
        return Slots(self._state.work[request_id].rows).get_block_ids()

    def free(self, request: Any, withdraw: bool = False) -> None:
        """Let the request go while no step is in flight."""
        if self._state.flight:
            self._fail(schedule.FREED_IN_ORDER, f"{request.request_id} is freed beside a step in flight")
        self._let_go(request.request_id, withdraw)

    def pop_blocks_for_free(self, request: Any, withdraw: bool = False) -> list[int]:
        """The same beside steps in flight. Answers the blocks that the loop frees when they are settled."""
        known = len(self._state.held)
        self._let_go(request.request_id, withdraw)
        return [block for entry in self._state.held[known:] for block in entry.blocks[::-1]]

    def _let_go(self, name: str, withdraw: bool) -> None:
        """Preempt the request in a pass, end it between passes."""
        self._settle()
        if not self._state.in_pass:
            self._do(Finish(name), schedule.EVERYBODY_ENDS)
            return
        if withdraw != (name in self._state.work):
            self._fail(
                schedule.WITHDRAWS_ITS_PASS, f"{name} is {'' if withdraw else 'not '}withdrawn from this pass"
            )
        move = Preempt(name, withdraw)
        if not self._can(move) or not is_enabled(self._state, move):
            raise PreconditionError(freeing.NOT_WHAT_OTHERS_TOOK, f"request {name!r}")
        self._gave_way.append(move)
        self._play(move)

    def take_kv_cache_block_copies(self) -> tuple[list[KVCacheBlockCopy], list[int]]:
        """End the pass; the loop releases the ends of the copies itself, at once where none is in flight."""
        self._settle()
        self.sent = {name: work.end - work.start for name, work in self._state.work.items()}
        self.drafts = {
            name: self.guesses.get(name, ())[: work.drafts] for name, work in self._state.work.items()
        }
        outcome = self._do(EndPass(), schedule.SETTLED_IN_ORDER)
        assert isinstance(outcome, Stepped)
        self._hand_offs = outcome.hand_offs
        ends = tuple(block for pair in outcome.copies for block in pair)
        if ends and not self._state.flight:
            self.block_pool.is_due(ends)
        return [KVCacheBlockCopy(*pair) for pair in outcome.copies], list(ends)

    def take_partial_tail_offloads(self) -> dict[str, list[tuple[int, int, int]]]:
        """What the end of the pass handed over."""
        taken: dict[str, list[tuple[int, int, int]]] = {}
        for entry in self._hand_offs:
            taken.setdefault(entry.request, []).append((entry.group, entry.block, entry.num_tokens))
        self._hand_offs = ()
        return taken

    def resend_length(self, num_prompt_tokens: int) -> int:
        """The longest prefix that the same prompt could hit."""
        world = self._state.world
        return resend_length(num_prompt_tokens, world.hit_alignment, world.resend_margin)

    @property
    def coordinator(self) -> "LoopManager":
        """What is asked for that length."""
        return self

    def _options_of(self, admission: Admission | None) -> Options:
        """What a call has to say beside its tokens."""
        options = self._state.world.options
        if not admission:
            return Options(options.num_lookahead_tokens)
        made = self._state.world.prompts[self._state.lives[admission.request].prompt].encoder_tokens
        is_whole, has_scheduled = options.full_sequence_must_fit, admission.has_scheduled
        return Options(options.num_lookahead_tokens, made, is_whole, has_scheduled)

    def _look_up(self, name: str, lookup: Lookup) -> Found:
        self._settle()
        available = self._connector.available(self._state.lives[name]) if self._connector else 0
        self._looked_up = self._admit(name, lookup, available)
        return getattr(self._looked_up.outcome, "found", None) or Found(0, ())

    def _admit(self, name: str, lookup: Lookup, available: int = 0) -> Admission:
        left, has_scheduled = self._state.tokens_left, bool(self._state.work)
        outcome = self._do(Admit(name, left, lookup, available), schedule.IN_TURN)
        return Admission(name, left, has_scheduled, available, outcome)

    def _schedule(self, name: str, left: int, drafts: tuple[int, ...]) -> Outcome:
        life = self._state.lives[name]
        following = self._state.world.prompts[life.prompt].tokens[life.num_tokens :]
        move = Schedule(name, left, len(drafts), num_right(drafts, following))
        return self._do(move, schedule.RUNNING_FIRST)

    def _drafts_of(self, name: str, left: int) -> tuple[int, ...]:
        """The guesses that its next step verifies: the next token is known, and nothing else in flight."""
        life = self._state.lives[name]
        prompt = self._state.world.prompts[life.prompt]
        is_next = not life.in_flight and life.num_tokens - life.computed == 1
        room = min(left - 1, prompt.num_to_compute - life.num_tokens)
        return self.guesses.get(name, ())[: max(0, room)] if is_next else ()

    def _settle(self) -> None:
        """After a lookup the scheduler asks for slots, unless the rules tell the request to wait."""
        if self._looked_up and not isinstance(self._looked_up.outcome, Waits):
            self._fail(chunk.PROGRESSES, f"{self._looked_up.request} is told to wait")
        self._looked_up = None

    def _do(self, move: Move, clause: Clause) -> Outcome:
        if isinstance(move, (Admit, Schedule)) and not self._state.tokens_left:
            self._fail(schedule.WITHIN_BUDGET, f"{move.request} asks for tokens, and none is left")
        if isinstance(move, Admit) and self._gave_way:
            self._fail(schedule.NOBODY_AFTER_PREEMPTION, f"{move.request} is admitted after {self._gave_way}")
        if not is_enabled(self._state, move):
            self._fail(clause, f"{move} with {self._state.tokens_left} tokens left is not allowed")
        return self._play(move)

    def _fail(self, clause: Clause, because: str) -> NoReturn:
        raise LifeEnded(Breach(clause, because))
