"""A pass of the scheduler: who gets slots, and who gives way."""

from collections import deque
from math import lcm
from types import SimpleNamespace
from typing import Any

from pagedkv.spec import (
    CrossAttentionSpec,
    KVCacheConfig,
    KVCacheSpec,
    MambaSpec,
    PreconditionError,
    Request,
    RequestStatus,
    SinkFullAttentionSpec,
    UnsupportedError,
    ValuePreconditionError,
    require,
)
from pagedkv.spec.blocks import KVCacheBlock
from pagedkv.spec.clauses import config, freeing, schedule
from pagedkv.spec.deployment import check_whole
from pagedkv.spec.rules.demand import most_blocks
from pagedkv.spec.rules.sizes import blocks_for, floor_to

from .coordinator import MANAGERS, hit_alignment
from .queues import POLICIES, Entry, Policy, Queues
from .scheduler_rules import SchedulerRules
from .step import Scheduled


class SchedulerPass(SchedulerRules):
    """The limits and queues of a scheduler, and how one pass goes."""

    def __init__(
        self,
        kv_cache_manager: Any,
        kv_cache_config: KVCacheConfig,
        *,
        max_model_len: int,
        hash_block_size: int,
        max_num_running_reqs: int,
        max_num_scheduled_tokens: int,
        long_prefill_token_threshold: int = 0,
        policy: Policy = "fcfs",
        connector: Any = None,
        use_eagle: bool = False,
        max_in_flight_steps: int = 0,
        num_lookahead_tokens: int = 0,
        full_sequence_must_fit: bool = False,
        reserved_blocks: int = 0,
        resend_boundaries: bool = False,
        max_in_flight_tokens: int | None = None,
        num_ranks: int = 1,
    ) -> None:
        check_whole(
            config.SIZES_ARE_POSITIVE,
            1,
            max_model_len=max_model_len,
            hash_block_size=hash_block_size,
            max_num_running_reqs=max_num_running_reqs,
            max_num_scheduled_tokens=max_num_scheduled_tokens,
            num_ranks=num_ranks,
        )
        check_whole(
            config.SIZES_ARE_POSITIVE,
            0,
            long_prefill_token_threshold=long_prefill_token_threshold,
            max_in_flight_steps=max_in_flight_steps,
            num_lookahead_tokens=num_lookahead_tokens,
            reserved_blocks=reserved_blocks,
        )
        require(policy in POLICIES, config.COVERED, f"policy is {policy!r}", UnsupportedError)
        served = getattr(kv_cache_manager, "max_model_len", max_model_len)
        require(
            max_model_len <= served,
            schedule.NEVER_FITS,
            f"max_model_len is {max_model_len}, the manager's is {served}",
            ValuePreconditionError,
        )
        specs = [group.kv_cache_spec for group in kv_cache_config.kv_cache_groups]
        sizes = [spec.tokens_per_block(num_ranks) for spec in specs]
        self.kv_cache_manager = kv_cache_manager
        self.connector = connector
        self.max_model_len = max_model_len
        self.max_num_running_reqs = max_num_running_reqs
        self.max_num_scheduled_tokens = max_num_scheduled_tokens
        self.scheduler_config = SimpleNamespace(long_prefill_token_threshold=long_prefill_token_threshold)
        self.hash_block_size = hash_block_size
        self.use_eagle = use_eagle or any(g.is_eagle_group for g in kv_cache_config.kv_cache_groups)
        states = [
            spec.block_size
            for spec in specs
            if isinstance(spec, MambaSpec) and spec.mamba_cache_mode == "align"
        ]
        self.cache_config = SimpleNamespace(block_size=max(states, default=0))
        self._load_alignment = lcm(*sizes)
        alignment = hit_alignment(specs, hash_block_size, self._load_alignment, num_ranks)
        self.mamba_partial_cache_hit = alignment < self.cache_config.block_size
        self.resend_boundaries = resend_boundaries
        self.max_in_flight_steps = max_in_flight_steps
        self.defer_block_free = max_in_flight_steps > 0
        options = {"num_lookahead_tokens": num_lookahead_tokens, "reserved_blocks": reserved_blocks}
        self._options = {name: value for name, value in options.items() if value}
        self._admission = {"full_sequence_must_fit": True} if full_sequence_must_fit else {}
        self._max_in_flight_tokens = max_in_flight_tokens or max_model_len
        self._specs, self._num_blocks = list(zip(specs, sizes, strict=True)), kv_cache_config.num_blocks
        self._num_lookahead_tokens, self._reserved_blocks = num_lookahead_tokens, reserved_blocks

        self.requests: dict[str, Entry] = {}
        self.queues = Queues(policy)
        self.step_seq = 0
        self.processed_step_seq = 0
        self.deferred_frees: deque[tuple[int, list[KVCacheBlock]]] = deque()
        self._num_arrived = 0
        self._num_admitted = 0
        self._too_long_a_hit: Entry | None = None
        self._budget = 0
        self._scheduled: dict[str, Scheduled] = {}
        self._admitted: list[str] = []
        self._preempted: list[str] = []

    def most_blocks(self, num_tokens: int, num_encoder_tokens: int = 0) -> int:
        """The most blocks that a request of that length asks for at a time, alone and without a hit.

        What sinks hold is counted with them.
        """
        return sum(
            blocks_for(num_encoder_tokens, size)
            if isinstance(spec, CrossAttentionSpec)
            else self._most_of(spec, size, num_tokens)
            for spec, size in self._specs
        )

    def _most_of(self, spec: KVCacheSpec, block_size: int, num_tokens: int) -> int:
        manager, more, speculative = MANAGERS[type(spec)], 0, 0
        reads = manager.reads
        match spec:
            case SinkFullAttentionSpec():
                more = spec.sink_len // block_size
            case MambaSpec(mamba_cache_mode="align"):
                # Each step in flight may still read a state of its own.
                speculative = spec.num_speculative_blocks + self.max_in_flight_steps
            case MambaSpec():
                reads, more = "prefix", spec.num_speculative_blocks
        most_tokens = self.max_num_scheduled_tokens * (1 + self.max_in_flight_steps)
        most = most_blocks(
            reads,
            min(num_tokens + self._num_lookahead_tokens, self.max_model_len),
            manager.reach(spec),
            block_size,
            most_tokens + self._num_lookahead_tokens,
            speculative,
        )
        cap = manager.admission_cap_of(spec, self._max_in_flight_tokens, self.max_model_len)
        if self._admission and cap is not None:
            # An admission asks for all its tokens, though some are let go before the last are computed.
            most = max(most, min(blocks_for(num_tokens, block_size), cap))
        return more + most

    # A pass

    def _go_on(self) -> None:
        """Give slots to those that run (clause Schedule/running_first)."""
        for entry in tuple(self.queues.running):
            # Others may have given way before their turn.
            while entry in self.queues.running:
                num_new = self._chunk(entry, 0, 0)
                if num_new <= 0:
                    break
                blocks = self.kv_cache_manager.allocate_slots(entry.request, num_new, **self._options)
                if blocks is not None:
                    self._note(entry, entry.request.num_computed_tokens, num_new, blocks.get_block_ids())
                    break
                if self.deferred_frees:
                    # Blocks are on their way back: to take more from others now would not help.
                    break
                self._preempt()

    def _preempt(self) -> None:
        """Let one give way; whoever asks has no keys of this pass, so that there is one."""
        victim = next(entry for entry in self.queues.victims() if self._gives_way(entry))
        request = victim.request
        self.queues.preempt(victim)
        self._preempted.append(request.request_id)
        part = self._scheduled.pop(request.request_id, None)
        self._budget += part.num_tokens if part else 0
        request.status = RequestStatus.PREEMPTED
        request.num_computed_tokens = request.num_in_flight_tokens = victim.num_awaited_tokens = 0
        victim.draft_token_ids, victim.admission = (), 0

    def _gives_way(self, entry: Entry) -> bool:
        try:
            self._let_go(entry, withdraw=entry.request.request_id in self._scheduled)
        except PreconditionError as refusal:
            # Clause Schedule/spares_what_others_took.
            if refusal.clause is not freeing.NOT_WHAT_OTHERS_TOOK:
                raise
            return False
        return True

    def _let_go(self, entry: Entry, withdraw: bool = False) -> None:
        """Free what it holds, behind the last step that was made (clause Schedule/freed_in_order)."""
        arguments = {"withdraw": True} if withdraw else {}
        if self.step_seq > self.processed_step_seq:
            blocks = self.kv_cache_manager.pop_blocks_for_free(entry.request, **arguments)
            self.deferred_frees.append((self.step_seq, blocks))
        else:
            self.kv_cache_manager.free(entry.request, **arguments)

    def _admit(self) -> None:
        """Admit who waits, as long as the first of them gets slots (clause Schedule/in_turn)."""
        queues, manager = self.queues, self.kv_cache_manager
        while queues.waiting and len(queues.running) < self.max_num_running_reqs and self._budget:
            entry = queues.waiting[0]
            request = entry.request
            blocks, hit, num_external = None, 0, 0
            if entry is not self._too_long_a_hit:
                blocks, hit, num_external = self._look_up(request)
            num_new = self._chunk(entry, hit, num_external)
            answer = None
            if num_new > 0:
                options = {**self._options, **self._admission, "has_scheduled_reqs": bool(self._scheduled)}
                if num_external:
                    options["num_external_computed_tokens"] = num_external
                if entry.num_encoder_tokens:
                    options["num_encoder_tokens"] = entry.num_encoder_tokens
                answer = manager.allocate_slots(request, num_new, hit, blocks, **options)
            if answer is None:
                # A source and its copy may not fit together: then a pass without the hit will do.
                is_idle = not queues.running and not self.deferred_frees
                self._too_long_a_hit = entry if is_idle else None
                return
            queues.run_first()
            self._num_admitted += 1
            entry.admission = self._num_admitted
            request.status = RequestStatus.RUNNING
            self._admitted.append(request.request_id)
            start = request.num_computed_tokens + hit + num_external
            self._note(entry, start, num_new, manager.get_block_ids(request.request_id))

    def _look_up(self, request: Request) -> tuple[Any, int, int]:
        """The hit and how many tokens after it are loaded (clause Schedule/loads_from_blocks_on)."""
        manager = self.kv_cache_manager
        blocks, hit, junction, diverged = self._get_local_prefix_cache_hit(request)
        num_external = self._num_matched(request, hit)
        if diverged and not (num_external and self._lacks_states_only(blocks, hit)):
            # Nobody supplies what the lagging group lacks.
            blocks, hit, junction = manager.get_computed_blocks(request)
            num_external = self._num_matched(request, hit)
        request.shared_prefix_boundary = junction
        if num_external:
            cut = floor_to(hit, self._load_alignment)
            return manager.truncate_computed_blocks(blocks, cut), cut, num_external + hit - cut
        return blocks, hit, 0

    def _num_matched(self, request: Request, hit: int) -> int:
        return self.connector.get_num_new_matched_tokens(request, hit) if self.connector is not None else 0

    def _lacks_states_only(self, blocks: Any, hit: int) -> bool:
        """Whether attention covers the hit, so that it can be cut."""
        return all(
            isinstance(spec, MambaSpec) or len(row) * size >= hit
            for (spec, size), row in zip(self._specs, blocks.get_block_ids(), strict=True)
        )

    def _chunk(self, entry: Entry, hit: int, num_external: int) -> int:
        """How many tokens after what is computed the entry gets now; not positive: it waits."""
        request = entry.request
        # What follows a draft is known when its step is settled.
        if len(entry.draft_token_ids) and request.num_in_flight_tokens:
            return 0
        known = request.num_tokens + entry.num_awaited_tokens + len(entry.draft_token_ids)
        start = request.num_computed_tokens + hit + num_external
        num_new = min(min(known, entry.num_tokens_to_compute) - start, self._budget)
        threshold = self.scheduler_config.long_prefill_token_threshold
        if threshold > 0:
            num_new = min(num_new, threshold)
        if num_new <= 0 or not self.cache_config.block_size:
            return num_new
        return self._mamba_block_aligned_split(request, num_new, hit, num_external)

    def _note(self, entry: Entry, start: int, num_new: int, block_ids: tuple[list[int], ...]) -> None:
        request = entry.request
        known = request.num_tokens + entry.num_awaited_tokens
        drafts = entry.draft_token_ids = entry.draft_token_ids[: max(0, start + num_new - known)]
        is_sampled = start + num_new >= known and known < entry.max_num_tokens
        self._budget -= num_new
        self._scheduled[request.request_id] = Scheduled(
            start, num_new, block_ids, drafts, is_sampled, entry.admission
        )
