"""The cases bring about what they say they time."""

from typing import Any

import pytest

from pagedkv.conformance.bench.cases import ALL_CASES, AdmitAndFree, Decode, Load, Lookup
from pagedkv.conformance.bench.workload import fill

from .sides import MODEL

ROUNDS = 16


def manager_of(load: Load) -> Any:
    return vars(load)["_manager"]


def played(load: Load, rounds: int = ROUNDS) -> list[dict[str, Any]]:
    """The answers of some rounds."""
    answers = []
    for number in range(rounds):
        load.prepare(number)
        answers.append(dict(load.answer(load.run())))
    return answers


def free_keys(manager: Any) -> list[Any]:
    """The primary key of each free block."""
    return [
        block.block_hash for block in manager.block_pool.blocks if not block.is_null and not block.ref_cnt
    ]


def test_filling_leaves_a_prefix_of_its_own_in_every_free_block() -> None:
    manager = manager_of(Lookup(MODEL, 0, 64))
    manager.reset_prefix_cache()
    fill(MODEL, manager, 32)
    keys = free_keys(manager)
    assert len(keys) == 5
    assert len({*keys}) == 5
    assert None not in keys


def test_decode_takes_and_publishes_a_sixteenth_and_evicts_what_it_takes() -> None:
    load = Decode(MODEL, ROUNDS, 32)
    manager = manager_of(load)
    assert None not in free_keys(manager)
    assert len(load.settled()) == 32
    num_free = manager.block_pool.get_num_free_blocks()
    num_keys = len(manager.block_pool.index)
    for answer in played(load):
        assert sum(len(ids) for ids in answer.values()) == 2
    assert num_free - manager.block_pool.get_num_free_blocks() == 2 * ROUNDS
    # As many keys come as go.
    assert len(manager.block_pool.index) == num_keys


def test_decode_needs_all_blocks_it_has() -> None:
    load = Decode(MODEL, ROUNDS, 16)
    played(load)
    assert manager_of(load).block_pool.get_num_free_blocks() == 0


def test_lookup_finds_all_of_the_prefix_each_time() -> None:
    load = Lookup(MODEL, ROUNDS, 128)
    (owner,) = load.settled().values()
    assert played(load, 2) == [{"hit": (128,), "blocks": owner}] * 2
    assert manager_of(load).block_pool.get_num_free_blocks() == 128 // 16 + 1


def test_admit_finds_nothing_evicts_and_leaves_nothing_held() -> None:
    load = AdmitAndFree(MODEL, ROUNDS, 64)
    manager = manager_of(load)
    assert None not in free_keys(manager)
    for number in range(ROUNDS):
        load.prepare(number)
        request = vars(load)["_request"]
        assert manager.get_computed_blocks(request)[1] == 0
        before = {*free_keys(manager)}
        load.run()
        assert manager.usage == 0
        assert len(before - {*free_keys(manager)}) == 4


@pytest.mark.parametrize("case", ALL_CASES, ids=lambda case: case.name)
def test_every_case_says_without_what_it_is_timed(case: Any) -> None:
    assert "without" in case.does
    assert case.units > 0
