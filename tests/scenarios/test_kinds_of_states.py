"""States that are not aligned: one at every block boundary ("all"), or the running one alone ("none")."""

from types import ModuleType

import pytest

from .build import (
    UNIT,
    admit,
    attention,
    decode,
    deployment,
    drain,
    holder,
    leave_behind,
    publish,
    request,
    states,
    table,
    widths,
    words,
)


@pytest.mark.parametrize("speculative", [0, 2])
def test_a_row_has_a_state_per_block_and_the_speculative_ones(side: ModuleType, speculative: int) -> None:
    manager = deployment(side, states(UNIT, speculative, "all"))
    answer = admit(manager, request("r", words(2 * UNIT + 1)))
    assert widths(answer) == [3 + speculative]
    assert 0 not in table(manager, "r", 0)


def test_speculative_blocks_become_running_ones_where_they_are(side: ModuleType) -> None:
    manager = deployment(side, states(UNIT, 1, "all"))
    owner = publish(manager, "r", words(UNIT))
    first = table(manager, "r", 0)
    decode(manager, owner, 7)
    # The new running state goes into the block that was kept for drafts, the old one is read once more.
    assert table(manager, "r", 0)[:2] == first
    assert len(table(manager, "r", 0)) == 3


def test_states_before_the_one_that_is_read_are_let_go(side: ModuleType) -> None:
    manager = deployment(side, states(UNIT, 0, "all"))
    owner = publish(manager, "r", words(3 * UNIT))
    row = table(manager, "r", 0)
    decode(manager, owner, 7)
    assert table(manager, "r", 0)[:3] == [0, 0, row[2]]
    # They keep their keys, and are the last to be used again.
    assert drain(manager.block_pool)[-2:] == [row[1], row[0]]


def test_every_boundary_of_a_chunk_can_be_hit(side: ModuleType) -> None:
    manager = deployment(side, attention(UNIT), states(UNIT, 0, "all"))
    owner = leave_behind(manager, "before", words(3 * UNIT))
    for n in (1, 2, 3):
        state = holder(manager, owner, n * UNIT, 1)
        newcomer = request(f"after {n}", [*words(n * UNIT), 1])
        blocks, hit, _ = manager.get_computed_blocks(newcomer)
        assert hit == n * UNIT
        assert blocks.get_block_ids()[1] == [0] * (n - 1) + [state.block_id]


def test_no_hit_ends_inside_a_block_of_all_states(side: ModuleType) -> None:
    manager = deployment(side, attention(UNIT), states(3 * UNIT, 0, "all"))
    leave_behind(manager, "before", words(2 * UNIT))
    assert manager.get_computed_blocks(request("after", words(2 * UNIT + 1)))[1] == 0


def test_a_state_that_this_pass_writes_cannot_be_read_in_it(side: ModuleType) -> None:
    manager = deployment(side, states(UNIT, 0, "all"))
    publish(manager, "owner", words(2 * UNIT))
    newcomer = request("newcomer", words(2 * UNIT + 1))
    assert manager.get_computed_blocks(newcomer)[1] == 2 * UNIT
    assert admit(manager, newcomer) is None
    manager.new_step_starts()
    assert admit(manager, newcomer) is not None


def test_a_running_state_alone_stays_in_its_block(side: ModuleType) -> None:
    manager = deployment(side, attention(UNIT), states(64, 1, "none"), max_model_len=64, enable_caching=False)
    owner = publish(manager, "r", words(10))
    row = table(manager, "r", 1)
    assert len(row) == 2
    decode(manager, owner, *range(30))
    assert table(manager, "r", 1) == row


@pytest.mark.parametrize(("accepted", "width"), [(0, 5), (1, 5), (2, 6)])
def test_states_per_block_keep_places_for_drafts_behind_the_running_one(
    side: ModuleType, accepted: int, width: int
) -> None:
    manager = deployment(side, states(UNIT, 2, "all"))
    owner = publish(manager, "r", words(2 * UNIT - 1))
    row = table(manager, "r", 0)
    owner.append_output_token_ids([7])
    # One token and two drafts pass the boundary: running entry 2, and two behind it. The step reads entry 1.
    assert manager.allocate_slots(owner, 3) is not None
    with_drafts = table(manager, "r", 0)
    assert (with_drafts[:4], len(with_drafts), 0 in with_drafts[1:]) == ([0, *row[1:]], 5, False)
    owner.num_computed_tokens += 1 + accepted
    owner.append_output_token_ids([8] * (1 + accepted))
    manager.new_step_starts()
    # Whichever entry from 2 on has the state, the next step finds it there.
    assert manager.allocate_slots(owner, 3) is not None
    assert table(manager, "r", 0)[2:5] == with_drafts[2:5]
    assert len(table(manager, "r", 0)) == width


def test_a_running_state_alone_keeps_its_places_for_drafts(side: ModuleType) -> None:
    manager = deployment(side, states(64, 2, "none"), max_model_len=64, enable_caching=False)
    owner = publish(manager, "r", words(10))
    row = table(manager, "r", 0)
    assert (len(row), 0 in row) == (3, False)
    for accepted in (0, 2, 1):
        owner.append_output_token_ids([7] * (1 + accepted))
        assert widths(manager.allocate_slots(owner, 3)) == [0]
        owner.num_computed_tokens += 1 + accepted
        manager.new_step_starts()
    assert table(manager, "r", 0) == row
