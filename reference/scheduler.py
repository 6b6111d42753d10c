"""The scheduler: requests come, their steps are made and settled, and they go."""

from collections.abc import Iterable, Mapping, Sequence

from pagedkv.spec import MambaSpec, Request, RequestStatus, ValuePreconditionError, require
from pagedkv.spec.clauses import allocation, schedule
from pagedkv.spec.deployment import check_hashes, check_whole
from pagedkv.spec.hashing import encode_token_ids

from .queues import Entry
from .scheduler_pass import SchedulerPass
from .step import SchedulerOutput


class Scheduler(SchedulerPass):
    """Serves requests over any manager with the standard names.

    ``schedule`` makes a step, ``update_from_output`` settles it. Up to ``max_in_flight_steps`` steps may be
    unsettled when the next is made; blocks that they use are then kept until they are settled.
    ``num_lookahead_tokens``, ``full_sequence_must_fit`` and ``reserved_blocks`` are passed to the manager
    where they are set; ``max_in_flight_tokens`` and the ``num_ranks`` over which attention is spread are what
    the manager was told. ``connector`` answers ``get_num_new_matched_tokens(request, hit)``: how many tokens
    after the hit it brings.
    """

    # Requests come and go

    def add_request(
        self,
        request: Request,
        priority: int = 0,
        max_output_tokens: int | None = None,
        num_encoder_tokens: int = 0,
    ) -> None:
        """Let the request wait. Of output it gets ``max_output_tokens``, or as many as the model allows.

        Cross attention reads ``num_encoder_tokens`` tokens of an encoder.

        ValuePreconditionError for one that may not fit (clause Schedule/never_fits), for one that is known
        or has begun elsewhere, and for numbers that are none; PreconditionError for hashes of other units.
        """
        is_known = request.request_id in self.requests
        require(
            not is_known and request.num_computed_tokens == 0,
            schedule.ARRIVES_ONCE,
            f"request {request.request_id!r} {'is known' if is_known else 'is new'} and has "
            f"{request.num_computed_tokens} computed tokens",
            ValuePreconditionError,
        )
        require(
            isinstance(priority, int), schedule.IN_TURN, f"priority is {priority!r}", ValuePreconditionError
        )
        most = max_output_tokens or 0
        check_whole(
            allocation.ASKS_FOR_SOMETHING, 0, max_output_tokens=most, num_encoder_tokens=num_encoder_tokens
        )
        # Else it would stop the pass that looks it up, and all others with it.
        check_hashes(request, self.hash_block_size)
        length = request.num_prompt_tokens + most
        longest = self.max_model_len if max_output_tokens is None else length
        entry = Entry(request, priority, self._num_arrived, max(length, longest), num_encoder_tokens)
        needed = self.most_blocks(entry.num_tokens_to_compute, num_encoder_tokens)
        usable = self._num_blocks - 1 - self._reserved_blocks
        require(
            entry.max_num_tokens <= self.max_model_len and needed <= usable,
            schedule.NEVER_FITS,
            f"request {request.request_id!r} grows to {entry.max_num_tokens} tokens, max_model_len is "
            f"{self.max_model_len}, and needs up to {needed} of {usable} blocks",
            ValuePreconditionError,
        )
        self._num_arrived += 1
        self.requests[request.request_id] = entry
        request.status = RequestStatus.WAITING
        self.queues.wait(entry)

    def finish_requests(self, request_ids: Iterable[str]) -> None:
        """End requests, whether they wait or run, and free their blocks. Unknown ones have no effect."""
        for request_id in request_ids:
            entry = self.requests.pop(request_id, None)
            if entry is not None:
                self.queues.remove(entry)
                self._let_go(entry)
                entry.request.status = RequestStatus.FINISHED

    def has_requests(self) -> bool:
        """Whether a request has not ended, or a step is not settled."""
        return bool(self.requests) or self.step_seq > self.processed_step_seq

    def reset_prefix_cache(self) -> bool:
        """Take every key off every block, if nothing is held. Answers whether it did."""
        return bool(self.kv_cache_manager.reset_prefix_cache())

    # A step

    def schedule(self) -> SchedulerOutput:
        """Make a step: who runs goes on, then who waits is admitted."""
        self._require_settled(self.step_seq - self.processed_step_seq <= self.max_in_flight_steps)
        self._budget, self._scheduled = self.max_num_scheduled_tokens, {}
        self._admitted, self._preempted = [], []
        self.kv_cache_manager.new_step_starts()
        self._go_on()
        if not self._preempted:
            self._admit()
        self.step_seq += 1
        for request_id, part in self._scheduled.items():
            request = self.requests[request_id].request
            request.num_computed_tokens = part.start + part.num_tokens
            request.num_in_flight_tokens += part.num_tokens
            self.requests[request_id].num_awaited_tokens += part.is_sampled
        copies, retained = self.kv_cache_manager.take_kv_cache_block_copies()
        hand_offs = self.kv_cache_manager.take_partial_tail_offloads()
        if retained:
            self._free_cow_retained_blocks(retained, self.step_seq)
        return SchedulerOutput(
            self.step_seq, self._scheduled, self._admitted, copies, hand_offs, self._preempted
        )

    def update_from_output(
        self,
        output: SchedulerOutput,
        sampled_token_ids: Mapping[str, Sequence[int]],
        draft_token_ids: Mapping[str, Sequence[int]] | None = None,
    ) -> list[str]:
        """Settle the oldest step in flight. Answers which requests now have all their output.

        ``sampled_token_ids``: for each request whose step gives a token, its accepted drafts and one more.
        ``draft_token_ids``: guesses of the tokens after them, for the next step; more than states have places
        are refused (clause Schedule/drafts_have_places).
        """
        places = [spec.num_speculative_blocks for spec, _ in self._specs if isinstance(spec, MambaSpec)]
        require(
            all(
                len(drafts) <= min(places, default=len(drafts)) for drafts in (draft_token_ids or {}).values()
            ),
            schedule.DRAFTS_HAVE_PLACES,
            lambda: f"draft_token_ids is {draft_token_ids}, num_speculative_blocks {places}",
        )
        parts = {
            request_id: part
            for request_id, part in output.scheduled.items()
            if request_id in self.requests and self.requests[request_id].admission == part.admission
        }
        for tokens in sampled_token_ids.values():
            encode_token_ids(tokens)
        numbers = {r: len(sampled_token_ids.get(r, ())) - part.is_sampled for r, part in parts.items()}
        self._require_settled(
            output.step_seq == self.processed_step_seq + 1
            and all(0 <= number <= len(parts[r].draft_token_ids) for r, number in numbers.items()),
            f"; step {output.step_seq} with {dict(sampled_token_ids)}",
        )
        self.processed_step_seq = output.step_seq
        while self.deferred_frees and self.deferred_frees[0][0] <= self.processed_step_seq:
            _, blocks = self.deferred_frees.popleft()
            self.kv_cache_manager.block_pool.free_blocks(blocks[::-1])
        ended = []
        for request_id, part in parts.items():
            entry, request = self.requests[request_id], self.requests[request_id].request
            request.num_in_flight_tokens -= part.num_tokens
            request.num_computed_tokens -= len(part.draft_token_ids) - numbers[request_id]
            entry.draft_token_ids = ()
            if part.is_sampled:
                entry.num_awaited_tokens -= 1
                if not request.num_in_flight_tokens:
                    entry.draft_token_ids = tuple((draft_token_ids or {}).get(request_id, ()))
                room = entry.max_num_tokens - request.num_tokens
                request.append_output_token_ids(list(sampled_token_ids[request_id])[:room])
            num_processed = request.num_computed_tokens - request.num_in_flight_tokens
            has_all = request.num_tokens >= entry.max_num_tokens
            if has_all and num_processed >= entry.num_tokens_to_compute:
                ended.append(request_id)
        self.finish_requests(ended)
        return ended

    def _require_settled(self, is_settled: bool, more: str = "") -> None:
        require(
            is_settled,
            schedule.SETTLED_IN_ORDER,
            f"{self.step_seq} steps were made and {self.processed_step_seq} settled{more}",
        )
