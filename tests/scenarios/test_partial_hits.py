"""A hit that ends inside a block: the newcomer shares the block and writes into a copy of it."""

from types import ModuleType

from pagedkv.spec import KVCacheBlockCopy, get_block_hash, get_group_id

from .build import (
    ATTENTION,
    BLOCK,
    STATE,
    admit,
    decode,
    holder,
    hybrid,
    ids,
    leave_behind,
    request,
    states,
    table,
    widths,
    words,
)


def test_a_state_inside_a_block_is_found_and_continued_in_a_copy(side: ModuleType) -> None:
    manager = hybrid(side)
    owner = leave_behind(manager, "owner", words(20))
    source = holder(manager, owner, 20, STATE)
    assert source.block_hash_num_tokens == 20

    newcomer = request("newcomer", words(24))
    blocks, hit, _ = manager.get_computed_blocks(newcomer)
    assert (hit, widths(blocks)) == (20, [5, 2])
    answered = manager.allocate_slots(newcomer, 4, hit, blocks)

    (private,) = answered.get_block_ids()[STATE]
    assert private != source.block_id
    assert table(manager, "newcomer", STATE) == [0, private]
    copies, _ = manager.take_kv_cache_block_copies()
    assert list(copies) == [KVCacheBlockCopy(src_block_id=source.block_id, dst_block_id=private)]
    # The shared entry stays what it was; the private block was keyed by what the newcomer ran.
    assert get_block_hash(source.block_hash) == owner.block_hashes[4]
    assert (get_group_id(source.block_hash), source.block_hash_num_tokens) == (STATE, 20)
    assert manager.get_blocks("newcomer").blocks[STATE][1].block_hash_num_tokens == 24


def test_attention_that_ends_inside_a_block_is_continued_in_a_copy(side: ModuleType) -> None:
    manager = hybrid(side, BLOCK)
    owner = leave_behind(manager, "owner", words(20))
    source = holder(manager, owner, 20, ATTENTION)
    state_source = holder(manager, owner, 20, STATE)

    newcomer = request("newcomer", words(24))
    blocks, hit, _ = manager.get_computed_blocks(newcomer)
    assert (hit, widths(blocks)) == (20, [2, 2])
    answered = manager.allocate_slots(newcomer, 4, hit, blocks)

    (private,) = answered.get_block_ids()[ATTENTION]
    (state_private,) = answered.get_block_ids()[STATE]
    assert private != source.block_id
    assert table(manager, "newcomer", ATTENTION)[1] == private
    assert get_block_hash(source.block_hash) == owner.block_hashes[4]
    assert (get_group_id(source.block_hash), source.block_hash_num_tokens) == (ATTENTION, 20)
    # Copies, and what they hold, come group by group.
    copies, retained = manager.take_kv_cache_block_copies()
    assert list(copies) == [
        KVCacheBlockCopy(src_block_id=source.block_id, dst_block_id=private),
        KVCacheBlockCopy(src_block_id=state_source.block_id, dst_block_id=state_private),
    ]
    assert ids(retained) == [source.block_id, private, state_source.block_id, state_private]
    assert source.ref_cnt == 1
    manager.block_pool.free_blocks(retained)
    assert source.ref_cnt == 0


def test_the_private_side_of_a_copy_starts_without_keys(side: ModuleType) -> None:
    manager = hybrid(side, BLOCK)
    owner = leave_behind(manager, "owner", words(20))
    newcomer = request("newcomer", words(24))
    assert admit(manager, newcomer, delay_cache_blocks=True) is not None
    for group in (ATTENTION, STATE):
        source = holder(manager, owner, 20, group)
        private = manager.get_blocks("newcomer").blocks[group][1]
        assert private.block_id != source.block_id
        assert (private.block_hash, private.block_hash_num_tokens) == (None, None)
        assert get_block_hash(source.block_hash) == owner.block_hashes[4]
        assert (get_group_id(source.block_hash), source.block_hash_num_tokens) == (group, 20)


def test_the_private_block_comes_first_in_the_answer(side: ModuleType) -> None:
    manager = hybrid(side, BLOCK, speculative=2)
    leave_behind(manager, "owner", words(20))
    answered = admit(manager, request("newcomer", words(36)))
    # The owner's two blocks for drafts, 5 and 4, had no keys and are the first of the free queue.
    assert list(answered.get_block_ids()) == [[5, 4], [6, 7, 8, 9]]
    copies, _ = manager.take_kv_cache_block_copies()
    assert [copy.dst_block_id for copy in copies] == [5, 6]
    # Entry 0 of a table is shared or null, entry 1 is the private block, the rest is appended.
    assert table(manager, "newcomer", ATTENTION) == [1, 5, 4]
    assert table(manager, "newcomer", STATE) == [0, 6, 7, 8, 9]


def test_a_shorter_state_cuts_longer_attention(side: ModuleType) -> None:
    manager = hybrid(side, BLOCK)
    pool = manager.block_pool
    asker = request("asker", words(36))
    kept = pool.get_new_blocks(4)
    pool.cache_full_blocks(
        request=asker,
        blocks=kept[:3],
        num_cached_blocks=0,
        num_full_blocks=2,
        block_size=BLOCK,
        kv_cache_group_id=ATTENTION,
    )
    for block, length, group in ((kept[2], 28, ATTENTION), (kept[3], 20, STATE)):
        pool.cache_partial_block(
            request=asker, block=block, num_tokens=length, kv_cache_group_id=group, block_size=BLOCK
        )
    blocks, hit, junction = manager.get_computed_blocks(asker)
    assert (hit, widths(blocks)) == (20, [2, 2])
    # What attention alone would have reached is named.
    assert junction == 28


def test_kinds_are_asked_again_until_none_is_shorter(side: ModuleType) -> None:
    second_state = 2
    manager = hybrid(side, more=[states(speculative=1)])
    owner = request("owner", words(20))
    for length in (BLOCK, 20 - BLOCK):
        assert manager.allocate_slots(owner, length) is not None
        owner.num_computed_tokens += length
    decode(manager, owner, *words(4, first=120))
    manager.new_step_starts()
    # Both kinds of states had 12, 20 and 24 tokens; now neither has the longest of the other.
    for length, group in ((20, STATE), (24, second_state)):
        manager.evict_blocks({holder(manager, owner, length, group).block_id})
    blocks, hit, junction = manager.get_computed_blocks(request("newcomer", words(30)))
    assert (hit, widths(blocks)) == (BLOCK, [3, 1, 1])
    assert junction == 24


def test_only_the_last_unit_of_a_prompt_is_an_entry_inside_a_block(side: ModuleType) -> None:
    manager = hybrid(side, BLOCK)
    # 20 is the last unit boundary of 22 tokens; the prompt runs past it, so no state is left there.
    owner = leave_behind(manager, "owner", words(22))
    assert [length for length in (4, 8, 12, 16, 20) if holder(manager, owner, length, ATTENTION)] == [12, 20]
    assert [length for length in (4, 8, 12, 16, 20) if holder(manager, owner, length, STATE)] == []


def test_attention_names_the_last_unit_of_a_prompt_in_the_call_that_passes_it(side: ModuleType) -> None:
    manager = hybrid(side, BLOCK)
    # A prompt of 20 tokens that is computed again together with its six outputs.
    resumed = request("resumed", words(20))
    resumed.append_output_token_ids(words(6, first=500))
    assert admit(manager, resumed) is not None
    resumed.num_computed_tokens = 26
    tail = manager.get_blocks("resumed").blocks[ATTENTION][1]
    assert [holder(manager, resumed, length, ATTENTION) for length in (16, 20, 24)] == [None, tail, tail]
    assert tail.block_hash_num_tokens == 24
    # Once is enough: what eviction took is not named again.
    manager.evict_blocks({tail.block_id})
    decode(manager, resumed, *words(10, first=600))
    assert [holder(manager, resumed, length, ATTENTION) for length in (20, 24)] == [None, None]
    assert holder(manager, resumed, 36, ATTENTION) is not None


def test_a_request_that_must_not_read_finds_nothing_and_publishes(side: ModuleType) -> None:
    manager = hybrid(side)
    leave_behind(manager, "owner", words(20))
    loner = request("loner", words(32))
    loner.skip_reading_prefix_cache = True
    blocks, hit, junction = manager.get_computed_blocks(loner)
    assert (hit, junction, widths(blocks)) == (0, 0, [0, 0])
    assert admit(manager, loner) is not None
    assert [holder(manager, loner, 32, group).block_id for group in (ATTENTION, STATE)] == [
        table(manager, "loner", group)[-1] for group in (ATTENTION, STATE)
    ]
