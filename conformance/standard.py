"""A life of a manager with the standard names."""

from collections.abc import Callable, Collection, Sequence
from typing import Any

from pagedkv.spec import Snapshot, World
from pagedkv.spec.event_names import EventName
from pagedkv.spec.life import Life
from pagedkv.spec.outcomes import Found
from pagedkv.spec.snapshot import HandOffName, KeyName, Rows

from .event_forms import neutral_events
from .instance import Ask
from .live_requests import LiveRequests, RequestMaker


class StandardInstance:
    """A manager with the standard names."""

    def __init__(
        self,
        world: World,
        manager: Any,
        maker: RequestMaker,
        snapshot: Callable[[Any], Snapshot[Any]] | None,
        can_withdraw: bool = True,
        has_events: bool = True,
    ) -> None:
        self.world = world
        self.manager = manager
        self._snapshot = snapshot
        self._can_withdraw = can_withdraw
        self._has_events = has_events and world.events
        self._requests = LiveRequests(world, maker)
        self._hits: dict[str, Any] = {}
        self._retained: list[list[Any]] = []
        self._popped: list[list[Any]] = []

    def go_on(self, life: Life, prompt: int) -> None:
        request, longer = self._requests.of(life), self.world.prompts[prompt]
        request.continue_prompt(
            life.computed,
            longer.tokens[life.computed : longer.length],
            mm_features=longer.features(life.computed),
            prompt_embeds=longer.embeddings(life.computed),
        )
        self._requests.names.learn(prompt, request.block_hashes, life.computed // self.world.unit)

    def lookup(self, life: Life, divergent: bool, skip: bool = False) -> Found:
        request = self._requests.of(life)
        request.skip_reading_prefix_cache = skip
        if divergent:
            blocks, hit, junction, diverged = self.manager.get_computed_blocks_for_connector(request)
        else:
            blocks, hit, junction = self.manager.get_computed_blocks(request)
            diverged = False
        self._hits[life.request] = blocks
        return Found(hit, _rows(blocks), junction, diverged)

    def truncate(self, life: Life, num_tokens: int) -> Rows:
        return _rows(self.manager.truncate_computed_blocks(self._hits[life.request], num_tokens))

    def allocate(self, life: Life, ask: Ask) -> Rows | None:
        blocks = self._hits.get(life.request) if ask.hit else None
        if blocks is not None and ask.external:
            blocks = self.manager.truncate_computed_blocks(blocks, ask.hit)
        made = self.world.prompts[life.prompt].encoder_tokens if ask.is_admission else 0
        answer = self.manager.allocate_slots(
            self._requests.of(life),
            ask.num_new_tokens,
            ask.hit,
            blocks,
            num_lookahead_tokens=self.world.options.num_lookahead_tokens,
            num_external_computed_tokens=ask.external,
            delay_cache_blocks=ask.delays,
            num_encoder_tokens=made,
            full_sequence_must_fit=ask.is_admission and self.world.options.full_sequence_must_fit,
            reserved_blocks=ask.reserved,
            has_scheduled_reqs=ask.has_scheduled,
        )
        return None if answer is None else _rows(answer)

    def publish(self, life: Life) -> None:
        self.manager.cache_blocks(self._requests.of(life), life.computed)

    def zero_again(self, life: Life) -> None:
        self.manager.record_blocks_for_zeroing(life.request, life.computed)

    def take_zeroed(self) -> list[int]:
        return list(self.manager.take_new_block_ids())

    def table(self, life: Life) -> Rows:
        return tuple(tuple(row) for row in self.manager.get_block_ids(life.request))

    def free(self, life: Life, withdraw: bool, pop: bool) -> None:
        if pop:
            self.pop(life, withdraw)
            self.manager.block_pool.free_blocks(self._popped.pop()[::-1])
        else:
            self.manager.free(self._requests.of(life), **self._withdrawing(withdraw))
        self._hits.pop(life.request, None)

    def pop(self, life: Life, withdraw: bool) -> list[int]:
        blocks = list(
            self.manager.pop_blocks_for_free(self._requests.of(life), **self._withdrawing(withdraw))
        )
        self._popped.append(blocks)
        return [block.block_id for block in blocks]

    def free_popped(self) -> None:
        self.manager.block_pool.free_blocks(self._popped.pop(0)[::-1])

    def _withdrawing(self, withdraw: bool) -> dict[str, bool]:
        return {"withdraw": True} if withdraw and self._can_withdraw else {}

    def forget(self, life: Life) -> None:
        """Drop the subject's request object: its life has ended."""
        self._requests.forget(life)

    def begin_pass(self) -> None:
        self.manager.new_step_starts()

    def take_copies(self) -> list[tuple[int, int]]:
        copies, retained = self.manager.take_kv_cache_block_copies()
        if retained:
            self._retained.append(list(retained))
        return [(copy.src_block_id, copy.dst_block_id) for copy in copies]

    def release(self) -> None:
        self.manager.block_pool.free_blocks(self._retained.pop(0))

    def take_hand_offs(self) -> list[HandOffName]:
        taken = self.manager.take_partial_tail_offloads()
        return [HandOffName(r, g, block, n) for r, entries in taken.items() for g, block, n in entries]

    def evict(self, blocks: Sequence[int]) -> None:
        self.manager.evict_blocks(set(blocks))

    def reset(self) -> bool:
        return bool(self.manager.reset_prefix_cache())

    def common_prefix(self, life: Life) -> list[int]:
        return list(self.manager.get_num_common_prefix_blocks(life.request))

    def snapshot(self) -> Snapshot[KeyName] | None:
        return self._snapshot(self.manager).renamed(self._requests.names.key_name) if self._snapshot else None

    def keyed(self, blocks: Collection[int]) -> Collection[int]:
        views = self.manager.block_pool.blocks
        return [block for block in blocks if views[block].block_hash is not None]

    def num_free_blocks(self) -> int:
        return int(self.manager.block_pool.get_num_free_blocks())

    def take_events(self) -> tuple[EventName, ...] | None:
        if not self._has_events:
            return None
        return tuple(neutral_events(self.world, self.manager.take_events(), self._requests.names.key_name))

    def copy(self) -> "StandardInstance":
        twin = StandardInstance.__new__(StandardInstance)
        vars(twin).update(vars(self))
        twin.manager = self.manager.copy()
        twin._requests = self._requests.copy()
        twin._hits = {}
        twin._retained = [twin._same(blocks) for blocks in self._retained]
        twin._popped = [twin._same(blocks) for blocks in self._popped]
        return twin

    def _same(self, blocks: Sequence[Any]) -> list[Any]:
        """The blocks of these ids in this manager."""
        views = self.manager.block_pool.blocks
        return [views[block.block_id] for block in blocks]


def _rows(blocks: Any) -> Rows:
    return tuple(tuple(row) for row in blocks.get_block_ids())
