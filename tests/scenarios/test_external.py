"""Tokens that others have computed and a connector loads, and places for those that draft models look at."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from pagedkv.spec import PreconditionError, Request

from .build import (
    BLOCK,
    STATE,
    UNIT,
    admit,
    attention,
    deployment,
    holder,
    hybrid,
    ids,
    leave_behind,
    request,
    table,
    widths,
    window,
    words,
)


def load(manager: Any, newcomer: Request, num_external: int, **options: Any) -> Any:
    """Allocate the rest of a request after its hit and what others have computed."""
    blocks, hit, _ = manager.get_computed_blocks(newcomer)
    left = newcomer.num_tokens - hit - num_external
    return manager.allocate_slots(
        newcomer, left, hit, blocks, num_external_computed_tokens=num_external, **options
    )


def test_blocks_for_what_is_loaded_come_before_new_ones_of_any_group(side: ModuleType) -> None:
    manager = hybrid(side)
    answer = load(manager, request("r", words(30)), 24)
    # Loaded: six blocks of attention and the state after 24 tokens. New: two blocks, and the state after 30.
    assert table(manager, "r", 0) == [1, 2, 3, 4, 5, 6, 8, 9]
    assert table(manager, "r", STATE) == [0, 7, 10]
    assert [ids(row) for row in answer.blocks] == [[8, 9], [10]]


def test_what_is_loaded_gets_keys_with_what_is_computed(side: ModuleType) -> None:
    manager, loader = hybrid(side), request("r", words(30))
    assert load(manager, loader, 24) is not None
    assert holder(manager, loader, 28, 0).block_id == 8
    assert holder(manager, loader, 24, 0).block_id == 6
    assert holder(manager, loader, 24, STATE).block_id == 7
    assert holder(manager, loader, 12, STATE) is None


def test_a_load_takes_of_a_hit_only_what_its_step_reads(side: ModuleType) -> None:
    manager = hybrid(side)
    owner = leave_behind(manager, "owner", words(24))
    state = holder(manager, owner, 24, STATE)
    newcomer = request("newcomer", words(40))
    assert manager.get_computed_blocks(newcomer)[1] == 24
    free = manager.block_pool.get_num_free_blocks()
    # The step from 36 tokens on reads the state that is loaded, not that of the hit.
    assert widths(load(manager, newcomer, 12)) == [1, 1]
    assert table(manager, "newcomer", STATE)[:2] == [0, 0]
    assert state.ref_cnt == 0
    # Six blocks of the hit, three of attention and a state loaded, and one of each new.
    assert free - manager.block_pool.get_num_free_blocks() == 6 + 4 + 2


def test_a_window_takes_of_a_hit_only_what_it_reaches_after_the_load(side: ModuleType) -> None:
    manager = deployment(side, attention(UNIT), window(UNIT, 9))
    leave_behind(manager, "owner", words(24))
    newcomer = request("newcomer", words(30))
    last = manager.get_computed_blocks(newcomer)[0].blocks[1][-1]
    # Token 28 reads tokens 20 to 27: the last block of the hit and the one loaded.
    assert load(manager, newcomer, 4) is not None
    row = table(manager, "newcomer", 1)
    assert row[:6] == [0] * 5 + [last.block_id]
    assert len(row) == 8 and 0 not in row[5:]


def test_no_group_loads_into_the_hit_of_another(side: ModuleType) -> None:
    manager = deployment(side, attention(UNIT), window(UNIT, 100), num_blocks=11)
    leave_behind(manager, "owner", words(12))
    leave_behind(manager, "other", words(8, first=500))
    # The queue: what the owner left of each group, its tails first, then what the other left.
    assert load(manager, request("newcomer", words(17)), 4) is not None
    assert table(manager, "newcomer", 0) == [1, 2, 3, 8, 10]
    assert table(manager, "newcomer", 1) == [4, 5, 6, 7, 9]


@pytest.mark.parametrize("spare", [0, 1])
def test_a_load_fits_a_pool_that_has_exactly_its_blocks(side: ModuleType, spare: int) -> None:
    manager, loader = hybrid(side, num_blocks=1 + 10 - spare), request("r", words(30))
    before = manager.snapshot()
    if spare:
        assert load(manager, loader, 24) is None
        assert manager.snapshot() == before
    else:
        assert load(manager, loader, 24) is not None
        assert manager.block_pool.get_num_free_blocks() == 0


def test_a_load_under_way_has_places_for_no_new_token_and_its_keys_come_later(side: ModuleType) -> None:
    manager, loader = hybrid(side), request("r", words(30))
    answer = manager.allocate_slots(loader, 0, num_external_computed_tokens=24, delay_cache_blocks=True)
    assert widths(answer) == [0, 0]
    assert [len(table(manager, "r", group)) for group in (0, STATE)] == [6, 2]
    assert manager.snapshot().index == {}
    loader.num_computed_tokens = 24
    manager.new_step_starts()
    manager.cache_blocks(loader, 24)
    assert [holder(manager, loader, 24, group).block_id for group in (0, STATE)] == [6, 7]
    assert len(manager.snapshot().index) == 6 + 1
    assert widths(manager.allocate_slots(loader, 6)) == [2, 1]


def test_in_the_pass_of_a_load_no_state_is_read_from_it(side: ModuleType) -> None:
    manager, loader = hybrid(side), request("r", words(30))
    assert load(manager, loader, 24) is not None
    reader = request("reader", words(26))
    assert manager.get_computed_blocks(reader)[1] == 24
    assert admit(manager, reader) is None
    manager.new_step_starts()
    assert admit(manager, reader) is not None


@pytest.mark.parametrize(
    ("call", "clause"),
    [
        (lambda m, r: m.allocate_slots(r, 0, num_external_computed_tokens=30), "load_leaves_a_token"),
        (lambda m, r: m.allocate_slots(r, 1, num_external_computed_tokens=30), "load_leaves_a_token"),
        (lambda m, r: m.allocate_slots(r, 4, num_external_computed_tokens=-4), "asks_for_something"),
        (lambda m, r: m.allocate_slots(r, 40, num_external_computed_tokens=29), "asks_for_something"),
        (lambda m, r: m.allocate_slots(r, 4, num_lookahead_tokens=-1), "asks_for_something"),
        # The hit ends inside a state block.
        (lambda m, r: load(m, r, 4), "fits_the_hit"),
    ],
)
def test_a_load_is_refused_and_changes_nothing(
    side: ModuleType, call: Callable[[Any, Request], object], clause: str
) -> None:
    manager = hybrid(side, max_model_len=64)
    leave_behind(manager, "owner", words(20))
    before = manager.snapshot()
    with pytest.raises(PreconditionError, match=f"Allocate/{clause}"):
        call(manager, request("r", words(30)))
    assert manager.snapshot() == before


def test_a_load_is_for_a_request_that_has_nothing_yet(side: ModuleType) -> None:
    manager, loader = hybrid(side), request("r", words(30))
    assert manager.allocate_slots(loader, 12) is not None
    with pytest.raises(PreconditionError, match="Allocate/fits_the_hit"):
        manager.allocate_slots(loader, 6, num_external_computed_tokens=12)


def test_a_hit_cut_to_blocks_can_be_followed_by_a_load(side: ModuleType) -> None:
    manager = hybrid(side)
    leave_behind(manager, "owner", words(20))
    newcomer = request("newcomer", words(30))
    blocks, hit, _ = manager.get_computed_blocks(newcomer)
    assert hit == 20
    cut = manager.truncate_computed_blocks(blocks, BLOCK)
    answer = manager.allocate_slots(newcomer, 6, BLOCK, cut, num_external_computed_tokens=12)
    assert widths(answer) == [2, 1]
    assert manager.take_kv_cache_block_copies() == ([], [])


def test_attention_has_places_as_far_as_draft_models_look_and_states_have_not(side: ModuleType) -> None:
    manager, running = hybrid(side), request("r", words(10))
    assert widths(manager.allocate_slots(running, 10, num_lookahead_tokens=7)) == [5, 1]
    # What lies behind the tokens has no key.
    assert [block.block_hash is not None for block in manager.get_blocks("r").blocks[0]] == [
        *[True] * 2,
        *[False] * 3,
    ]
    running.num_computed_tokens = 10
    running.append_output_token_ids(words(4))
    # Tokens 10 to 13 have places already; one block more for what lies seven tokens further.
    assert widths(manager.allocate_slots(running, 4, num_lookahead_tokens=7)) == [1, 1]


def test_nobody_looks_past_the_length_of_the_model(side: ModuleType) -> None:
    manager, running = hybrid(side, max_model_len=12), request("r", words(10))
    assert widths(manager.allocate_slots(running, 10, num_lookahead_tokens=7)) == [3, 1]


def test_places_to_look_ahead_count_when_it_is_asked_what_fits(side: ModuleType) -> None:
    manager = deployment(side, attention(UNIT), num_blocks=4)
    running = request("r", words(10))
    assert manager.allocate_slots(running, 10, num_lookahead_tokens=3) is None
    assert manager.allocate_slots(running, 10, num_lookahead_tokens=2) is not None
