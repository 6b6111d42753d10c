"""A whole little engine over the reference manager, whose numbers are checked against a run without a cache.

The model has three layers of random weights: full attention, a sliding window, a recurrent state. Requests
are served in passes, over one pool of physical blocks. Each row of logits is compared with that of the same
model on the whole prefix, computed from nothing, and each token with the one that this model chooses. A block
shared, freed, overwritten or not copied where it should be shows as a wrong number, and as exit status 1.
"""

import sys
from collections import Counter
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pagedkv import spec
from pagedkv.reference import KVCacheBlocks, KVCacheManager, Scheduler

Array = NDArray[Any]

VOCABULARY, WIDTH = 11, 8
UNIT = 2  # tokens per hash
FULL, WINDOW, STATE = 0, 1, 2  # the layers; each is a group of the manager
BLOCK = (2 * UNIT, UNIT, 4 * UNIT)  # tokens per block, by layer; hits may end inside those of FULL and STATE
REACH, DRAFTS = 5, 3  # tokens that the window sees; drafts in a step, at most
NUM_BLOCKS = 56  # physical, each with room for the keys and values of BLOCK[FULL] tokens, or for a state
MAX_LENGTH, BUDGET = 80, 20  # tokens of a request, and of a pass
TOLERANCE = 1e-9


class Model:
    """Random weights, and what each layer computes. It knows nothing of blocks."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.embedding, self.position = rng.normal(size=(2, MAX_LENGTH, WIDTH))  # more rows than tokens
        self.query, self.key, self.value = rng.normal(size=(3, 2, WIDTH, WIDTH))
        self.into, self.out_of = rng.normal(size=(2, WIDTH, WIDTH))
        self.decay, self.head = rng.uniform(0.8, 0.99, WIDTH), rng.normal(size=(WIDTH, VOCABULARY))

    def embed(self, tokens: Sequence[int], at: Array) -> Array:
        """A row for each token and its position."""
        return np.asarray(self.embedding[list(tokens)] + self.position[at])

    def keys_and_values(self, layer: int, x: Array) -> Array:
        """What an attention layer stores of each row."""
        return np.stack([_normed(x) @ self.key[layer], _normed(x) @ self.value[layer]], axis=1)

    def attend(self, layer: int, x: Array, at: Array, stored: Array, stored_at: Array) -> Array:
        """The rows at positions ``at`` after attention to what is stored of positions ``stored_at``."""
        distance = at[:, None] - stored_at
        sees = (distance >= 0) & (distance < (REACH if layer == WINDOW else MAX_LENGTH))
        scores = _normed(x) @ self.query[layer] @ stored[:, 0].T / np.sqrt(WIDTH)
        weights = np.exp(np.where(sees, scores, -np.inf))
        return np.asarray(x + weights @ stored[:, 1] / weights.sum(axis=1, keepdims=True))

    def recur(self, x: Array, state: Array) -> tuple[Array, Array]:
        """The rows after the recurrent layer, which starts from ``state``, and the state after each row."""
        states = np.empty_like(x)
        for i, new in enumerate(_normed(x) @ self.into):
            states[i] = state = self.decay * state + new
        return x + np.tanh(states) @ self.out_of, states


def _normed(x: Array) -> Array:
    return np.asarray(x / np.sqrt(np.mean(x * x, axis=1, keepdims=True)))


def run_without_cache(model: Model, tokens: Sequence[int]) -> tuple[Array, Array]:
    """The logits and the recurrent states of all positions, from nothing."""
    at = np.arange(len(tokens))
    x = model.embed(tokens, at)
    for layer in (FULL, WINDOW):
        x = model.attend(layer, x, at, model.keys_and_values(layer, x), at)
    x, states = model.recur(x, np.zeros(WIDTH))
    return _normed(x) @ model.head, states


class Answer:
    """What is right for a prompt: its likeliest continuation, each token from the whole prefix anew."""

    def __init__(self, model: Model, prompt: Sequence[int], num_new: int) -> None:
        self.tokens = list(prompt)
        for _ in range(num_new):
            self.tokens.append(int(run_without_cache(model, self.tokens)[0][-1].argmax()))
        self.logits, self.states = run_without_cache(model, self.tokens)


class Step(NamedTuple):
    """What a pass computes for one request: ``tokens`` at positions ``at``; the last are drafts."""

    name: str
    request: spec.Request
    at: Array
    tokens: list[int]
    num_drafts: int


class Worker:
    """Physical memory, and block tables as they were sent: entries are only ever appended."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.memory = np.full((NUM_BLOCKS, BLOCK[FULL], 2, WIDTH), np.nan)  # what nobody wrote shows as NaN
        self.tables: dict[str, list[list[int]]] = {}
        self.entry: dict[str, int] = {}  # where the state after a request's computed tokens is

    def copy(self, copies: Sequence[spec.KVCacheBlockCopy]) -> None:
        """Copy blocks; all read what was there before."""
        self.memory[[c.dst_block_id for c in copies]] = self.memory[[c.src_block_id for c in copies]]

    def forward(self, steps: Sequence[Step]) -> list[Array]:
        """Compute the steps together, layer by layer; answers the logits of each."""
        self.memory[0] = np.nan  # the null block keeps nothing
        xs = [self.model.embed(step.tokens, step.at) for step in steps]
        for layer in (FULL, WINDOW):
            # All write before any reads: what one fills in this pass another may have as its hit.
            for step, x in zip(steps, xs, strict=True):
                self.memory[self.slots(layer, step, step.at)] = self.model.keys_and_values(layer, x)
            for i, step in enumerate(steps):
                read_at = self.read_positions(layer, step)
                stored = self.memory[self.slots(layer, step, read_at)]
                xs[i] = self.model.attend(layer, xs[i], step.at, stored, read_at)
        before = [self.state(s, self.entry[s.name]).copy() if s.at[0] else np.zeros(WIDTH) for s in steps]
        for i, step in enumerate(steps):
            xs[i], states = self.model.recur(xs[i], before[i])
            # The state after the last sure token goes into the running entry, one per draft behind it.
            for k in range(step.num_drafts + 1):
                self.state(step, step.at[-1] // BLOCK[STATE] + k)[:] = states[k - step.num_drafts - 1]
        return [_normed(x) @ self.model.head for x in xs]

    def settle(self, step: Step, num_accepted: int) -> None:
        """Keep the state after the accepted drafts, and one at a block boundary that they crossed."""
        running, first = step.at[-1] // BLOCK[STATE], step.at[-1] + 1 - step.num_drafts
        boundary = (first + num_accepted) // BLOCK[STATE] * BLOCK[STATE]
        if boundary >= first:
            self.state(step, boundary // BLOCK[STATE] - 1)[:] = self.state(step, running + boundary - first)
        self.entry[step.name] = running + num_accepted

    def state(self, step: Step, entry: int) -> Array:
        """The memory of the state in an entry of the request's table."""
        return np.asarray(self.memory[self.tables[step.name][STATE][entry], 0, 0])

    def read_positions(self, layer: int, step: Step) -> Array:
        """The positions that a step attends to."""
        return np.arange(max(0, step.at[0] - REACH + 1) if layer == WINDOW else 0, step.at[-1] + 1)

    def slots(self, layer: int, step: Step, at: Array) -> tuple[Array, Array]:
        """The blocks and the places in them where the keys and values of positions ``at`` are."""
        return np.array(self.tables[step.name][layer])[at // BLOCK[layer]], at % BLOCK[layer]


class Engine:
    """In a pass requests that run come first, the latest before the others; it is also preempted first."""

    def __init__(self, model: Model, answers: dict[str, Answer], rng: np.random.Generator) -> None:
        full = spec.FullAttentionSpec(BLOCK[FULL], 1, WIDTH, "float64")
        window = spec.SlidingWindowSpec(BLOCK[WINDOW], 1, WIDTH, "float64", REACH)
        state = spec.MambaSpec(BLOCK[STATE], ((WIDTH,),), ("float64",), "align", DRAFTS)
        groups = [spec.KVCacheGroupSpec([str(g)], layer) for g, layer in enumerate((full, window, state))]
        config = spec.KVCacheConfig(NUM_BLOCKS, [], groups)
        self.kv_cache_manager = self.manager = KVCacheManager(config, MAX_LENGTH, max(BLOCK), UNIT)
        self.worker, self.answers, self.rng = Worker(model), answers, rng
        self.waiting: list[spec.Request] = []
        self.running: list[spec.Request] = []
        self.did, self.largest_difference = Counter[str](), 0.0
        # What the rules of the scheduler read.
        self.connector, self.use_eagle, self.mamba_partial_cache_hit = None, False, True
        self.hash_block_size, self.max_num_scheduled_tokens = UNIT, BUDGET
        self.cache_config = SimpleNamespace(block_size=BLOCK[STATE])
        self.scheduler_config = SimpleNamespace(long_prefill_token_threshold=0)

    def schedule(self) -> list[Step]:
        """One pass: what the next step computes, with a place for all of it."""
        self.manager.new_step_starts()
        steps: dict[str, Step] = {}
        num_preempted = self.did["preemptions"]
        for request in self.running.copy():
            while request in self.running and (step := self.next_step(request, steps, 0)).tokens:
                if self.allocate(step, steps, 0, None):
                    break
                self.preempt(self.running[0], steps)
        while self.waiting and num_preempted == self.did["preemptions"]:
            request = self.waiting[0]
            found = Scheduler._get_local_prefix_cache_hit(self, request)
            blocks, hit, request.shared_prefix_boundary, _ = found
            step = self.next_step(request, steps, hit)
            if not step.tokens or not self.allocate(step, steps, hit, blocks):
                break
            self.running.insert(0, self.waiting.pop(0))
            self.did.update({"hits": hit > 0, "partial hits": hit % BLOCK[STATE] > 0})
        return list(steps.values())

    def next_step(self, request: spec.Request, steps: dict[str, Step], hit: int) -> Step:
        """What the budget lets a request compute next. Requests that have all but one token get drafts."""
        start = request.num_computed_tokens + hit
        tokens, num_sure = list(request.all_token_ids[start:]), request.num_tokens - start
        if num_sure == 1 and request.num_tokens > request.num_prompt_tokens:
            # A draft model of known skill: it looks at the answer, and errs in every third token.
            right = self.answers[request.request_id].tokens[request.num_tokens : -1]
            wrong = self.rng.random(self.rng.integers(DRAFTS + 1)) < 1 / 3
            tokens += [(r + int(w)) % VOCABULARY for r, w in zip(right, wrong, strict=False)]
        room = BUDGET - sum(len(step.tokens) for step in steps.values())
        num_new = Scheduler._mamba_block_aligned_split(self, request, min(room, len(tokens)), hit)
        tokens, at = tokens[:num_new], np.arange(start, start + num_new)
        return Step(request.request_id, request, at, tokens, max(0, num_new - num_sure))

    def allocate(self, step: Step, steps: dict[str, Step], hit: int, blocks: KVCacheBlocks | None) -> bool:
        """Schedule a step if there are blocks for it, and tell the worker which."""
        keys = set(self.manager.block_pool.index)
        new = self.manager.allocate_slots(step.request, len(step.tokens), hit, blocks)
        if new is None:
            return False
        self.did["evictions"] += len(keys.difference(self.manager.block_pool.index))
        steps[step.name], rows = step, new.get_block_ids()
        if blocks is not None:
            rows, self.worker.tables[step.name] = self.manager.get_block_ids(step.name), [[], [], []]
            self.worker.entry[step.name] = (hit - 1) // BLOCK[STATE]
        for row, entries in zip(self.worker.tables[step.name], rows, strict=True):
            row += entries
        return True

    def preempt(self, victim: spec.Request, steps: dict[str, Step]) -> None:
        """Let a request wait again, for want of blocks; what this pass scheduled for it will not run."""
        was_scheduled = steps.pop(victim.request_id, None) is not None
        self.manager.free(victim, withdraw=was_scheduled)
        victim.num_computed_tokens = 0
        self.running.remove(victim)
        self.waiting.insert(0, victim)
        self.did.update({"preemptions": 1, "withdrawals": was_scheduled})

    def execute(self, steps: Sequence[Step]) -> None:
        """Run a step: copies first, then the forward. Then the ends of the copies are let go."""
        copies, retained = self.manager.take_kv_cache_block_copies()
        moved = self.manager.take_partial_tail_offloads()
        self.worker.copy(copies)
        logits = self.worker.forward(steps)
        self.manager.block_pool.free_blocks(retained)
        for request_id, ((_, block, length),) in moved.items():
            self.compare(self.worker.memory[block, 0, 0], self.answers[request_id].states[length - 1])
        self.did.update({"passes": 1, "copies": len(copies), "owner moves": len(moved)})
        for step, rows in zip(steps, logits, strict=True):
            self.settle(step, rows)

    def settle(self, step: Step, logits: Array) -> None:
        """Compare, accept drafts up to the first wrong one, append what was sampled, free who is done."""
        request, answer, sampled = step.request, self.answers[step.name], logits.argmax(axis=1).tolist()
        num_right = num_sure = len(step.tokens) - step.num_drafts
        while num_right < len(step.tokens) and sampled[num_right - 1] == step.tokens[num_right]:
            num_right += 1
        self.did["drafts accepted"] += num_right - num_sure
        self.did["drafts rejected"] += len(step.tokens) - num_right
        self.compare(logits[:num_right], answer.logits[step.at[:num_right]])
        self.worker.settle(step, num_right - num_sure)
        if step.at[num_sure - 1] + 1 == request.num_tokens:
            request.append_output_token_ids(sampled[num_sure - 1 : num_right])
            self.compare(np.array(request.all_token_ids), np.array(answer.tokens[: request.num_tokens]))
        request.num_computed_tokens = int(step.at[num_right - 1]) + 1
        if request.num_tokens == len(answer.tokens):
            self.running.remove(request)
            self.manager.free(request)
            self.did["requests"] += 1

    def compare(self, found: Array, right: Array) -> None:
        """Note the largest difference; NaN differs infinitely."""
        differences = np.nan_to_num(np.abs(found - right), nan=np.inf)
        self.largest_difference = max(self.largest_difference, float(differences.max()))


def run(seed: int) -> Engine:
    """Serve beginnings of two texts, the same prompts again, and whole answers with words added."""
    rng = np.random.default_rng(seed)
    spec.init_none_hash(spec.sha256, "tiny engine")
    engine = Engine(Model(rng), {}, rng)
    hasher = spec.get_request_block_hasher(UNIT, spec.sha256)
    texts = rng.integers(VOCABULARY, size=(2, 40)).tolist()
    prompts: list[list[int]] = []
    for i in range(40):
        new = engine.answers[f"{i - 2:03}"].tokens if i % 4 == 2 else texts[i % 2][: rng.integers(9, 41)]
        own = rng.integers(VOCABULARY, size=i % 3).tolist()
        prompts.append(prompts[i - 2] if i % 4 == 3 else new + own)
        engine.waiting.append(spec.Request(f"{i:03}", prompts[i], block_hasher=hasher))
        engine.answers[f"{i:03}"] = Answer(engine.worker.model, prompts[i], 4 + i % 12)
    while (engine.waiting or engine.running) and engine.largest_difference <= TOLERANCE:
        engine.execute(engine.schedule())
    return engine


def main() -> int:
    """Say what happened; 1 if a number is wrong."""
    engine = run(seed=0)
    print(", ".join(f"{what}: {count}" for what, count in sorted(engine.did.items())))
    num_held = NUM_BLOCKS - 1 - engine.manager.block_pool.get_num_free_blocks()
    print(f"largest difference: {engine.largest_difference:.1e}; blocks that are still held: {num_held}")
    return int(engine.largest_difference > TOLERANCE or num_held > 0)


if __name__ == "__main__":
    sys.exit(main())
