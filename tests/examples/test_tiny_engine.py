"""The engine of the examples computes what a run without a cache computes, and not once a part is wrong."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from pagedkv.reference import FullAttentionManager, KVCacheManager, MambaManager, SlidingWindowManager
from pagedkv.reference.single_type import SingleTypeKVCacheManager
from pagedkv.spec import sha256

PATH = Path(__file__).resolve().parents[2] / "examples" / "tiny_engine.py"
BEHAVIOURS = {
    "requests",
    "passes",
    "hits",
    "partial hits",
    "copies",
    "owner moves",
    "preemptions",
    "withdrawals",
    "evictions",
    "drafts accepted",
    "drafts rejected",
}
SEEDS = (0, 1, 2)
ANSWERS: dict[Any, Any] = {}
"""What is right, by weights and prompt: the same for every run with one seed, and slow to find."""


@pytest.fixture
def tiny() -> Any:
    """The example as a module of its own, which a test can break."""
    spec = spec_from_file_location("tiny_engine", PATH)
    assert spec and spec.loader
    module: Any = module_from_spec(spec)
    spec.loader.exec_module(module)
    right = module.Answer

    def remembered(model: Any, prompt: Sequence[int], num_new: int) -> Any:
        key = (model.head.tobytes(), tuple(prompt), num_new)
        if key not in ANSWERS:
            ANSWERS[key] = right(model, prompt, num_new)
        return ANSWERS[key]

    module.Answer = remembered
    return module


def test_it_runs_as_a_program() -> None:
    ended = subprocess.run(
        [sys.executable, PATH], capture_output=True, text=True, env=os.environ, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "requests: 40" in ended.stdout
    assert "blocks that are still held: 0" in ended.stdout


@pytest.mark.parametrize("seed", SEEDS)
def test_its_numbers_are_those_of_a_run_without_a_cache(tiny: Any, seed: int) -> None:
    sizes: list[int] = []
    chunks: list[bool] = []

    class Watched(tiny.Engine):  # type: ignore[misc]
        def execute(self, steps: Sequence[Any]) -> None:
            sizes.append(len(steps))
            chunks.extend(step.at[-1] + 1 < step.request.num_tokens for step in steps)
            super().execute(steps)

    tiny.Engine = Watched
    engine = tiny.run(seed)
    assert engine.largest_difference < tiny.TOLERANCE
    assert engine.did["requests"] == 40
    assert {what for what, count in engine.did.items() if count} == BEHAVIOURS
    assert engine.manager.block_pool.get_num_free_blocks() == tiny.NUM_BLOCKS - 1
    assert max(sizes) > 3
    assert any(chunks)


Patch = pytest.MonkeyPatch


def copies_never_run(tiny: Any, patch: Patch) -> None:
    patch.setattr(tiny.Worker, "copy", lambda self, copies: None)


def copies_run_after_the_forward(tiny: Any, patch: Patch) -> None:
    copy, forward = tiny.Worker.copy, tiny.Worker.forward

    def late(self: Any, steps: Any) -> Any:
        answer = forward(self, steps)
        copy(self, self.copies)
        return answer

    patch.setattr(tiny.Worker, "copy", lambda self, copies: setattr(self, "copies", copies))
    patch.setattr(tiny.Worker, "forward", late)


def the_window_is_read_one_short(tiny: Any, patch: Patch) -> None:
    read = tiny.Worker.read_positions

    def short(self: Any, layer: int, step: Any) -> Any:
        positions = read(self, layer, step)
        return positions[1:] if layer == tiny.WINDOW and positions[0] else positions

    patch.setattr(tiny.Worker, "read_positions", short)


def drafts_leave_the_state_in_the_running_entry(tiny: Any, patch: Patch) -> None:
    settle = tiny.Worker.settle

    def forgetful(self: Any, step: Any, num_accepted: int) -> None:
        settle(self, step, num_accepted)
        self.entry[step.name] -= num_accepted

    patch.setattr(tiny.Worker, "settle", forgetful)


def the_state_at_a_boundary_is_not_kept(tiny: Any, patch: Patch) -> None:
    def forgetful(self: Any, step: Any, num_accepted: int) -> None:
        self.entry[step.name] = step.at[-1] // tiny.BLOCK[tiny.STATE] + num_accepted

    patch.setattr(tiny.Worker, "settle", forgetful)


def what_never_ran_keeps_its_keys(tiny: Any, patch: Patch) -> None:
    free = KVCacheManager.free
    patch.setattr(KVCacheManager, "free", lambda self, request, withdraw=False: free(self, request))


def each_group_takes_new_blocks_before_the_next_holds_its_hit(tiny: Any, patch: Patch) -> None:
    add_hit, add_external = SingleTypeKVCacheManager.add_hit, SingleTypeKVCacheManager.add_external
    allocate = SingleTypeKVCacheManager.allocate_new_blocks
    waiting: dict[Any, Any] = {}

    def late(self: Any, call: Any) -> Any:
        if self in waiting:
            add_hit(self, call, waiting.pop(self))
            add_external(self, call)
        return allocate(self, call)

    patch.setattr(SingleTypeKVCacheManager, "add_hit", lambda self, call, row: waiting.update({self: row}))
    patch.setattr(SingleTypeKVCacheManager, "add_external", lambda self, call: None)
    patch.setattr(SingleTypeKVCacheManager, "allocate_new_blocks", late)


def states_are_shared_without_a_copy(tiny: Any, patch: Patch) -> None:
    allocate = MambaManager.allocate_new_blocks
    patch.setattr(
        MambaManager,
        "allocate_new_blocks",
        lambda self, call: allocate(self, call._replace(hit=0)),
    )


def tails_are_replaced_without_a_copy(tiny: Any, patch: Patch) -> None:
    allocate = FullAttentionManager.allocate_new_blocks

    def forgetful(self: Any, *arguments: Any) -> Any:
        answer = allocate(self, *arguments)
        self.copies.clear()
        return answer

    patch.setattr(FullAttentionManager, "allocate_new_blocks", forgetful)


def owners_write_on_in_their_named_state(tiny: Any, patch: Patch) -> None:
    patch.setattr(MambaManager, "moves_own_entry", lambda self, request_id: False)


def hits_start_from_what_this_pass_fills(tiny: Any, patch: Patch) -> None:
    patch.setattr(SingleTypeKVCacheManager, "waits_for_pass", lambda self, row, hit: False)


def windows_are_freed_a_block_early(tiny: Any, patch: Patch) -> None:
    skipped = SingleTypeKVCacheManager.num_skipped
    patch.setattr(SlidingWindowManager, "num_skipped", lambda self, n: skipped(self, n + self.block_size))


def states_are_freed_before_they_are_read(tiny: Any, patch: Patch) -> None:
    skipped = SingleTypeKVCacheManager.num_skipped
    patch.setattr(MambaManager, "num_skipped", lambda self, n: skipped(self, n + self.block_size))


def hashes_forget_their_parents(tiny: Any, patch: Patch) -> None:
    patch.setattr(tiny.spec, "sha256", lambda triple: sha256(triple._replace(parent=b"")))


BREAKS: tuple[Callable[[Any, Patch], None], ...] = (
    copies_never_run,
    copies_run_after_the_forward,
    the_window_is_read_one_short,
    drafts_leave_the_state_in_the_running_entry,
    the_state_at_a_boundary_is_not_kept,
    what_never_ran_keeps_its_keys,
    each_group_takes_new_blocks_before_the_next_holds_its_hit,
    states_are_shared_without_a_copy,
    tails_are_replaced_without_a_copy,
    owners_write_on_in_their_named_state,
    hits_start_from_what_this_pass_fills,
    windows_are_freed_a_block_early,
    states_are_freed_before_they_are_read,
    hashes_forget_their_parents,
)


@pytest.mark.parametrize("plant", BREAKS, ids=lambda plant: plant.__name__)
def test_a_break_shows_as_a_wrong_number(
    tiny: Any, monkeypatch: Patch, plant: Callable[[Any, Patch], None]
) -> None:
    plant(tiny, monkeypatch)
    assert any(tiny.run(seed).largest_difference > tiny.TOLERANCE for seed in SEEDS)


def test_a_wrong_number_is_an_exit_status(tiny: Any, monkeypatch: Patch) -> None:
    copies_never_run(tiny, monkeypatch)
    assert tiny.main() == 1


def test_it_is_as_short_as_the_readme_says() -> None:
    assert len(PATH.read_text(encoding="utf-8").splitlines()) <= 300
