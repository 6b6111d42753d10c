"""With drafts by EAGLE the end of a hit is computed again, and groups still agree."""

from types import ModuleType

import pytest

from .build import (
    ATTENTION,
    BLOCK,
    STATE,
    UNIT,
    attention,
    decode,
    hybrid,
    publish,
    request,
    table,
    widths,
    words,
)


@pytest.mark.parametrize(
    ("full_blocks", "inside", "alignment", "without", "dropped"),
    [
        pytest.param(2, None, UNIT, (24, 2), (20, 2), id="one unit off a full block, which still covers"),
        pytest.param(1, 20, UNIT, (20, 2), (16, 2), id="one unit off an entry inside a block"),
        pytest.param(1, 16, UNIT, (16, 2), (12, 1), id="one unit back to a boundary, so the tail goes"),
        pytest.param(2, None, BLOCK, (24, 2), (12, 1), id="one block when hits are whole blocks"),
        pytest.param(0, None, UNIT, (0, 0), (0, 0), id="nothing off nothing"),
    ],
)
def test_full_attention_gives_up_one_unit(
    side: ModuleType,
    full_blocks: int,
    inside: int | None,
    alignment: int,
    without: tuple[int, int],
    dropped: tuple[int, int],
) -> None:
    pool = side.BlockPool(num_gpu_blocks=8, enable_caching=True, hash_block_size=UNIT)
    asker = request("asker", words(24))
    kept = pool.get_new_blocks(2)
    pool.cache_full_blocks(
        request=asker,
        blocks=kept,
        num_cached_blocks=0,
        num_full_blocks=full_blocks,
        block_size=BLOCK,
        kv_cache_group_id=0,
    )
    if inside is not None:
        entry = pool.cache_partial_block(
            request=asker, block=kept[1], num_tokens=inside, kv_cache_group_id=0, block_size=BLOCK
        )
        assert entry is not None
    for drop, expected in ((False, without), (True, dropped)):
        (blocks,), hit = side.FullAttentionManager.find_longest_cache_hit(
            block_hashes=asker.block_hashes,
            max_length=24,
            kv_cache_group_ids=[0],
            block_pool=pool,
            kv_cache_spec=attention(BLOCK),
            drop_eagle_block=drop,
            alignment_tokens=alignment,
        )
        assert (hit, len(blocks)) == expected


@pytest.mark.parametrize("prompt", [16, 20])
def test_a_state_never_answers_beyond_what_attention_kept(side: ModuleType, prompt: int) -> None:
    manager = hybrid(side, BLOCK, use_eagle=True)
    owner = request("owner", words(prompt))
    # As the chunk rule has it: the block boundary first, then the prompt's last unit.
    for length in (BLOCK, prompt - BLOCK):
        assert manager.allocate_slots(owner, length) is not None
        owner.num_computed_tokens += length
        manager.new_step_starts()

    newcomer = request("newcomer", [*words(prompt), *words(8, first=500)])
    blocks, hit, _ = manager.get_computed_blocks(newcomer)
    assert hit == BLOCK
    assert all(width * BLOCK >= hit for width in widths(blocks))
    assert manager.allocate_slots(newcomer, newcomer.num_tokens - hit, hit, blocks) is not None


def test_a_hit_on_a_full_block_falls_back_to_the_state_one_unit_before(side: ModuleType) -> None:
    manager = hybrid(side, BLOCK, use_eagle=True)
    owner = publish(manager, "owner", words(20))
    decode(manager, owner, *words(4, first=120))
    manager.take_kv_cache_block_copies()
    manager.new_step_starts()
    newcomer = request("newcomer", words(30))
    blocks, hit, _ = manager.get_computed_blocks(newcomer)
    assert (hit, widths(blocks)) == (20, [2, 2])
    assert table(manager, "owner", ATTENTION) == list(blocks.get_block_ids()[ATTENTION])
    assert blocks.get_block_ids()[STATE][1] not in table(manager, "owner", STATE)


def test_a_second_kind_of_attention_does_not_give_up_another_unit(side: ModuleType) -> None:
    manager = hybrid(side, more=[attention(BLOCK)], use_eagle=True)
    owner = publish(manager, "owner", words(20))
    decode(manager, owner, *words(4, first=120))
    manager.take_kv_cache_block_copies()
    manager.new_step_starts()
    blocks, hit, _ = manager.get_computed_blocks(request("newcomer", words(30)))
    assert (hit, widths(blocks)) == (20, [5, 2, 2])
