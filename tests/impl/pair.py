"""Model and torch manager side by side, asked the same at random, with every argument that there is."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import torch

import pagedkv.impl as impl
import pagedkv.reference as model
from pagedkv.conformance.subjects import standard_arguments
from pagedkv.conformance.worlds import MIXES, UNCACHED, random_world
from pagedkv.spec import (
    PreconditionError,
    Request,
    RequestStatus,
    World,
    get_request_block_hasher,
    init_none_hash,
    sha256,
)
from pagedkv.spec.blocks import KVCacheBlock, KVCacheBlocks

ADMISSIONS = (RequestStatus.WAITING, RequestStatus.PREEMPTED, RequestStatus.RUNNING)


def random_options(rng: Random, world: World) -> dict[str, Any]:
    """The arguments of a deployment, with those that a world does not say."""
    grain = world.scheduler_block_size * rng.choice((1, 1, 1, 2))
    return standard_arguments(world) | {
        "scheduler_block_size": grain,
        "retention_interval": rng.choice((None, None, 0, grain, 2 * grain, 3 * grain)),
        "resend_boundaries": rng.random() < 0.5,
        "watermark": rng.choice((0.0, 0.0, rng.random() / 3)),
        "max_in_flight_tokens": rng.choice((None, rng.randint(1, 2 * grain))),
        "max_model_len": world.max_model_len + rng.choice((0, 0, 3)),
    }


def neutral(answer: Any) -> Any:
    """An answer without the classes of a side."""
    if isinstance(answer, KVCacheBlocks):
        return answer.get_block_ids()
    if isinstance(answer, (list, tuple)):
        return [neutral(part) for part in answer]
    return answer.block_id if isinstance(answer, KVCacheBlock) else answer


class Pair:
    """Both managers of a random deployment, and the requests that they have."""

    def __init__(self, seed: int, device: torch.device) -> None:
        self.rng = rng = Random(seed)
        # What is never cached asks for a length of the model that is drawn here.
        self.world = random_world(rng, tuple(m for m in MIXES if not {*UNCACHED} & {*m.split("+")}))
        self.options = random_options(rng, self.world)
        init_none_hash(sha256, seed="pairs")
        config = replace(self.world.kv_cache_config(), needs_kv_cache_zeroing=rng.random() < 0.5)
        self.managers: list[Any] = [
            model.KVCacheManager(config, **self.options),
            impl.KVCacheManager(config, **self.options, device=device),
        ]
        self.running: list[Request] = []
        self.gone: Request | None = None
        """Who has ended last."""
        self.tokens: dict[str, Sequence[int]] = {}
        """What each request may become."""
        self.held: list[list[int]] = []
        """Blocks that a deferred free has to give back, in order."""
        self.seen = Counter[str]()
        """How often which operation had which outcome."""

    def step(self) -> None:
        """One random operation."""
        operations: dict[Callable[[], object], int] = {
            self.admit: 6,
            self.go_on: 10,
            self.leave: 3,
            self.leave_again: 1,
            self.open_pass: 2,
            self.copy_blocks: 2,
            self.zero: 1,
            self.load_fails: 1,
            self.name_late: 2,
            self.hand_off: 1,
            self.give_back: 2,
            self.disturb: 1,
            self.batch: 2,
            self.look: 1,
            self.go_on_as_copies: 1,
        }
        (operation,) = self.rng.choices(list(operations), list(operations.values()))
        operation()

    def ask(self, what: str, operate: Callable[[Any], Any]) -> Any:
        """The answer of both, None where both refuse by the same clause; both are in the same state then."""
        before = self.managers[0].snapshot()
        outcomes = [self._outcome(operate, manager) for manager in self.managers]
        where = f"{what}\n{self.world}\n{self.options}\n"
        assert outcomes[0] == outcomes[1], f"{where}{outcomes[0]}\n{outcomes[1]}"
        mine, others = (manager.snapshot() for manager in self.managers)
        for name in vars(mine):
            assert getattr(mine, name) == getattr(others, name), (
                f"{where}{name}\n{getattr(mine, name)}\n{getattr(others, name)}"
            )
        kind, answer = outcomes[0]
        self.seen[f"{what}: {kind}"] += 1
        if kind in ("done", "none"):
            return answer
        assert mine == before, where
        return None

    def _outcome(self, operate: Callable[[Any], Any], manager: Any) -> tuple[str, Any]:
        try:
            answer = neutral(operate(manager))
        except PreconditionError as refusal:
            return getattr(refusal, "clause").id, None  # noqa: B009
        return "none" if answer is None else "done", answer

    # Allocation

    def admit(self) -> None:
        """Start a request, with a hit, a load, both or neither."""
        rng, request = self.rng, self._newcomer()
        look = rng.choice(("get_computed_blocks", "get_computed_blocks_for_connector"))
        _, hit, junction, *_ = self.ask(look, lambda m: getattr(m, look)(request))
        request.shared_prefix_boundary = rng.choice((0, junction, rng.randrange(request.num_tokens)))
        is_taken, is_cut = rng.random() < 0.9, False
        external = 0
        if rng.random() < 0.4:
            is_cut = rng.random() < 0.9
            external = rng.randint(1, max(1, request.num_tokens - hit - rng.choice((0, 1, 1, 1))))
        if is_cut:
            hit -= hit % self.options["scheduler_block_size"]
        hit = hit if is_taken else 0
        left = request.num_tokens - hit - external
        new = max(-1, rng.choice((left, left, rng.randint(0, max(1, left)), 0 if external else left)))
        arguments = self._arguments() | {"num_external_computed_tokens": external}

        def operate(manager: Any) -> Any:
            blocks = getattr(manager, look)(request)[0] if is_taken else None
            if blocks is not None and is_cut:
                blocks = manager.truncate_computed_blocks(blocks, hit)
            return manager.allocate_slots(request, new, hit, blocks, **arguments)

        kind = "load" if external else "admission"
        if self.ask(f"{kind} with hit" if hit else kind, operate) is not None:
            self._served(request, hit + external + new)
            self.running.append(request)

    def go_on(self) -> None:
        """Serve a running request, perhaps with drafts."""
        if self.running:
            request, rng = self.rng.choice(self.running), self.rng
            left = request.num_tokens - request.num_computed_tokens
            new = rng.choice((left, rng.randint(1, left), left + rng.randint(0, 3), rng.randint(-1, 1)))
            arguments = self._arguments()
            if rng.random() < 0.03:
                arguments["num_external_computed_tokens"] = 1
            answer = self.ask("going on", lambda m: m.allocate_slots(request, new, **arguments))
            if answer is not None:
                self._served(request, request.num_computed_tokens + new)

    def batch(self) -> None:
        """Serve several at once; the model serves one after the other."""
        rng, most = self.rng, self.options["max_model_len"]
        asked = [r for r in self.running if r.num_computed_tokens < most and rng.random() < 0.7]
        counts = [rng.randint(1, min(most - r.num_computed_tokens, 3)) for r in asked]

        def operate(manager: Any) -> list[Any]:
            if isinstance(manager, impl.KVCacheManager):
                return manager.allocate_slots_batch(asked, counts)[1]
            return [manager.allocate_slots(r, n) for r, n in zip(asked, counts, strict=True)]

        answers = self.ask("batch", operate)
        for request, count, answer in zip(asked, counts, answers, strict=True):
            if answer is not None:
                self._served(request, request.num_computed_tokens + count)

    def name_late(self) -> None:
        """Publish what a request has computed: its load has come."""
        if self.running:
            request = self.rng.choice(self.running)
            length = request.num_computed_tokens
            self.ask("naming", lambda m: m.cache_blocks(request, length) or [])

    def _newcomer(self) -> Request:
        rng = self.rng
        prompt = rng.choice(self.world.prompts)
        named = get_request_block_hasher(self.world.unit, sha256) if rng.random() < 0.95 else None
        request = Request(
            f"r{len(self.tokens)}",
            prompt.tokens[: prompt.length],
            block_hasher=named,
            cache_salt=prompt.salt,
            lora_name=prompt.lora,
            mm_features=prompt.features(),
        )
        self.tokens[request.request_id] = prompt.tokens
        if rng.random() < 0.3:
            # It was preempted, and comes back with what it has said.
            said = prompt.tokens[prompt.length :]
            request.append_output_token_ids(said[: rng.randint(0, len(said))])
        request.skip_reading_prefix_cache = rng.random() < 0.1
        request.status = rng.choice(ADMISSIONS)
        return request

    def _arguments(self) -> dict[str, Any]:
        rng = self.rng
        ahead = rng.randint(0, 2 * self.options["scheduler_block_size"])
        return {
            "num_lookahead_tokens": rng.choice((0, 0, ahead)) if rng.random() < 0.98 else -1,
            "delay_cache_blocks": rng.random() < 0.3,
            "full_sequence_must_fit": rng.random() < 0.3,
            "reserved_blocks": rng.choice((0, 0, rng.randint(0, 4))),
            "has_scheduled_reqs": rng.random() < 0.5,
        }

    def _served(self, request: Request, end: int) -> None:
        """Let the step run: some drafts are accepted, some of the tokens may stay in flight."""
        rng, total = self.rng, request.num_tokens
        computed = min(end, total + rng.randint(0, max(0, end - total)))
        processed = request.num_computed_tokens - request.num_in_flight_tokens
        request.num_computed_tokens = computed
        request.num_in_flight_tokens = rng.choice((0, rng.randint(0, max(0, computed - processed))))
        if computed >= total:
            later = [*self.tokens[request.request_id][total : computed + 1]]
            request.append_output_token_ids(later + [0] * (computed + 1 - total - len(later)))
        if request.status in ADMISSIONS[:2] and rng.random() < 0.7:
            request.status = RequestStatus.RUNNING

    # The rest

    def leave(self) -> None:
        """End a request, at once or with its blocks freed later."""
        if self.running:
            request, withdraw = self.rng.choice(self.running), self.rng.random() < 0.4
            if self.rng.random() < 0.7:
                answer = self.ask("free", lambda m: m.free(request, withdraw) or [])
            else:
                answer = self.ask("pop", lambda m: m.pop_blocks_for_free(request, withdraw))
                self.held.append((answer or [])[::-1])
            if answer is not None:
                self.running.remove(request)
                self.gone = request

    def leave_again(self) -> None:
        """End the request that has ended last once more: then only its keys can be taken back."""
        if self.gone:
            gone, withdraw = self.gone, self.rng.random() < 0.7
            self.ask("second free", lambda m: m.free(gone, withdraw) or [])

    def open_pass(self) -> None:
        """Begin a pass."""
        self.ask("pass", lambda m: m.new_step_starts())

    def copy_blocks(self) -> None:
        """Run the copies; their ends are freed later."""
        _, retained = self.ask("copies", lambda m: m.take_kv_cache_block_copies())
        self.held.append(retained)

    def zero(self) -> None:
        """Zero new blocks."""
        self.ask("zeroing", lambda m: m.take_new_block_ids())

    def load_fails(self) -> None:
        """List the blocks of a request again."""
        if self.running:
            request = self.rng.choice(self.running)
            start = self.rng.choice((0, self.world.unit, -1)) * self.rng.randrange(request.num_tokens)
            self.ask("failed load", lambda m: m.record_blocks_for_zeroing(request.request_id, start) or [])

    def hand_off(self) -> None:
        """Take what is handed off."""
        self.ask("hand-offs", lambda m: sorted(m.take_partial_tail_offloads().items()))

    def give_back(self) -> None:
        """Free what was held."""
        if self.held:
            blocks = self.held.pop(0)
            self.ask(
                "giving back", lambda m: m.block_pool.free_blocks([m.block_pool.blocks[b] for b in blocks])
            )

    def disturb(self) -> None:
        """Evict blocks, or reset the cache."""
        chosen = self.rng.sample(range(self.world.num_blocks), 2)
        self.ask("eviction", lambda m: m.evict_blocks(chosen))
        self.ask("reset", lambda m: m.reset_prefix_cache())

    def look(self) -> None:
        """Views, and facts of the groups."""
        rng, grain = self.rng, self.options["scheduler_block_size"]
        interval = rng.choice((None, 0, grain, 2 * grain))
        boundaries = [rng.randrange(4 * grain) for _ in range(rng.randint(0, 3))]
        num_tokens, is_eagle = rng.randrange(1, 5 * grain), rng.random() < 0.5

        def operate(manager: Any) -> list[Any]:
            groups = manager.coordinator.single_type_managers
            masks = [
                m.reachable_block_mask(1, 9, grain, m.kv_cache_spec, is_eagle, interval, boundaries)
                for m in groups
            ]
            rows = [manager.get_blocks(r.request_id) for r in self.running]
            common = [manager.get_num_common_prefix_blocks(r.request_id) for r in self.running]
            skipped = [m.get_num_skipped_tokens(num_tokens) for m in groups]
            return [masks, rows, common, skipped, manager.coordinator.resend_length(num_tokens)]

        self.ask("views", operate)

    def go_on_as_copies(self) -> None:
        """Copies take the places of both."""
        self.managers = [manager.copy() for manager in self.managers]
