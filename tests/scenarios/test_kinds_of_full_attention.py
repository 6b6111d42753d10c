"""Kinds of full attention: latent, with a reference window behind the prompt, and with sinks."""

from types import ModuleType

from .build import (
    BLOCK,
    UNIT,
    admit,
    attention,
    decode,
    deployment,
    drain,
    latent,
    leave_behind,
    publish,
    reference_window,
    request,
    states,
    table,
    with_sinks,
    words,
)


def test_latent_attention_answers_as_full_attention_does(side: ModuleType) -> None:
    for spec in (attention(UNIT), latent(UNIT)):
        manager = deployment(side, spec)
        leave_behind(manager, "before", words(10))
        blocks, hit, junction = manager.get_computed_blocks(request("after", words(12)))
        assert (blocks.get_block_ids(), hit, junction) == (([1, 2],), 8, 0)


def test_latent_attention_shares_the_inside_of_a_block(side: ModuleType) -> None:
    manager = deployment(side, latent(BLOCK), states())
    publish(manager, "owner", words(BLOCK + UNIT))
    manager.new_step_starts()
    newcomer = request("newcomer", words(2 * BLOCK))
    assert manager.get_computed_blocks(newcomer)[1] == BLOCK + UNIT
    assert admit(manager, newcomer) is not None
    copies, _ = manager.take_kv_cache_block_copies()
    assert len(copies) == 2


def test_latent_attention_is_asked_before_states(side: ModuleType) -> None:
    manager = deployment(side, states(), latent(BLOCK))
    leave_behind(manager, "before", words(2 * BLOCK))
    # Of the first block there is no state: only attention can answer for it, and says so.
    _, hit, junction = manager.get_computed_blocks(request("after", words(BLOCK + 1)))
    assert (hit, junction) == (0, BLOCK)


def test_latent_and_full_attention_are_two_kinds(side: ModuleType) -> None:
    manager = deployment(side, attention(UNIT), latent(UNIT))
    owner = publish(manager, "owner", words(2 * UNIT))
    manager.evict_blocks(set(manager.get_block_ids("owner")[1]))
    manager.free(owner)
    _, hit, junction = manager.get_computed_blocks(request("after", words(2 * UNIT + 1)))
    assert (hit, junction) == (0, 2 * UNIT)


def test_a_reference_window_lets_go_of_the_gap_behind_the_prompt(side: ModuleType) -> None:
    manager = deployment(side, reference_window(UNIT, UNIT))
    # The prompt ends inside the second block, which stays for it.
    owner = publish(manager, "r", words(UNIT + 1))
    decode(manager, owner, *range(4 * UNIT))
    row = table(manager, "r", 0)
    assert [i for i, block in enumerate(row) if not block] == [2, 3]
    assert len(row) == 6


def test_the_next_turn_of_a_chat_computes_again_what_was_said_behind_the_gap(side: ModuleType) -> None:
    manager = deployment(side, reference_window(UNIT, UNIT + 1))
    # The prompt is one block of 4, the window 5 tokens: the tokens 0 to 9 are computed with all before them
    # in sight. Those that end the third block are not: token 11 does not see token 4.
    chat = publish(manager, "r", words(UNIT))
    decode(manager, chat, *range(4 * UNIT))
    assert manager.coordinator.single_type_managers[0].num_cached_block["r"] == 2
    manager.free(chat)
    manager.new_step_starts()
    turn = request("next", [*chat.all_token_ids, 7])
    assert manager.get_computed_blocks(turn)[1] == 2 * UNIT
    # The turn itself has all of that for its prompt, and leaves it to the one after it.
    leave_behind(manager, "next", turn.all_token_ids)
    assert manager.get_computed_blocks(request("third", [*turn.all_token_ids, 8]))[1] == 5 * UNIT


def test_the_last_token_that_sees_all_before_it_can_end_a_key(side: ModuleType) -> None:
    for reach, num_keyed in ((UNIT - 2, 1), (UNIT - 1, 2), (2 * UNIT - 2, 2), (2 * UNIT - 1, 3)):
        manager = deployment(side, reference_window(UNIT, reach))
        owner = publish(manager, "r", words(UNIT))
        decode(manager, owner, *range(4 * UNIT))
        manager.free(owner)
        newcomer = request("newcomer", owner.all_token_ids)
        assert manager.get_computed_blocks(newcomer)[1] == num_keyed * UNIT


def test_no_group_beside_a_gap_names_what_lies_behind_it(side: ModuleType) -> None:
    manager = deployment(side, attention(UNIT), reference_window(UNIT, 2 * UNIT), reference_window(UNIT, 1))
    owner = publish(manager, "r", words(UNIT + 2))
    decode(manager, owner, *range(4 * UNIT))
    for g in range(3):
        row = [manager.block_pool.blocks[block] for block in table(manager, "r", g) if block]
        assert [block.block_id for block in row if block.block_hash] == table(manager, "r", g)[:2]


def test_who_comes_back_hits_no_further_than_it_could_share(side: ModuleType) -> None:
    manager = deployment(side, reference_window(UNIT, 1))
    owner = publish(manager, "r", words(UNIT + 2))
    decode(manager, owner, *range(4 * UNIT))
    manager.free(owner)
    manager.new_step_starts()
    longer = leave_behind(manager, "longer", owner.all_token_ids)
    # The other has computed as its prompt what this one computes with a gap.
    assert manager.get_computed_blocks(request("same", longer.all_token_ids))[1] == 5 * UNIT
    owner.num_computed_tokens = 0
    assert manager.get_computed_blocks(owner)[1] == 2 * UNIT
    assert manager.get_computed_blocks_for_connector(owner)[1] == 2 * UNIT


def test_a_gap_is_in_use_only_where_the_prompts_length_is_told(side: ModuleType) -> None:
    manager = deployment(side, reference_window(UNIT, 1))
    owner = publish(manager, "r", words(UNIT))
    for token in range(3 * UNIT):
        owner.append_output_token_ids([token])
    assert manager.allocate_slots(owner, 3 * UNIT) is not None
    row = table(manager, "r", 0)
    manager.remove_skipped_blocks("r", 4 * UNIT)
    assert table(manager, "r", 0) == row
    manager.remove_skipped_blocks("r", 4 * UNIT, UNIT)
    assert table(manager, "r", 0) == [row[0], 0, 0, row[3]]


def test_what_all_share_ends_at_a_gap(side: ModuleType) -> None:
    manager = deployment(side, reference_window(UNIT, 1))
    owner = publish(manager, "r", words(UNIT))
    decode(manager, owner, *range(3 * UNIT))
    assert table(manager, "r", 0)[1] == 0
    assert manager.get_num_common_prefix_blocks("r") == [1]


def test_sinks_take_the_first_blocks_of_the_pool_and_keep_them(side: ModuleType) -> None:
    manager = deployment(side, with_sinks(UNIT, 2 * UNIT), with_sinks(2 * UNIT, 2 * UNIT), num_blocks=10)
    assert manager.block_pool.get_num_free_blocks() == 6
    owner = publish(manager, "r", words(3 * UNIT))
    assert [table(manager, "r", g) for g in (0, 1)] == [[4, 5, 6], [7, 8]]
    manager.free(owner)
    assert sorted(drain(manager.block_pool)) == [4, 5, 6, 7, 8, 9]


def test_a_cache_whose_sinks_alone_are_held_is_reset(side: ModuleType) -> None:
    manager = deployment(side, with_sinks(UNIT, UNIT))
    owner = publish(manager, "r", words(2 * UNIT))
    assert not manager.reset_prefix_cache()
    manager.free(owner)
    assert manager.reset_prefix_cache()
    assert manager.get_computed_blocks(request("after", words(2 * UNIT + 1)))[1] == 0
    assert manager.block_pool.get_num_free_blocks() == 38


def test_sinks_have_no_keys_and_count_as_used(side: ModuleType) -> None:
    manager = deployment(side, with_sinks(UNIT, UNIT), num_blocks=5)
    sink = manager.block_pool.blocks[1]
    assert (sink.ref_cnt, sink.block_hash) == (1, None)
    assert manager.usage == 0.25
