"""Kinds of full attention: latent."""

from types import ModuleType

from .build import BLOCK, UNIT, admit, attention, deployment, latent, leave_behind, publish, request, words
from .build import states as aligned_states


def test_latent_attention_answers_as_full_attention_does(side: ModuleType) -> None:
    for spec in (attention(UNIT), latent(UNIT)):
        manager = deployment(side, spec)
        leave_behind(manager, "before", words(10))
        blocks, hit, junction = manager.get_computed_blocks(request("after", words(12)))
        assert (blocks.get_block_ids(), hit, junction) == (([1, 2],), 8, 0)


def test_latent_attention_shares_the_inside_of_a_block(side: ModuleType) -> None:
    manager = deployment(side, latent(BLOCK), aligned_states())
    publish(manager, "owner", words(BLOCK + UNIT))
    manager.new_step_starts()
    newcomer = request("newcomer", words(2 * BLOCK))
    assert manager.get_computed_blocks(newcomer)[1] == BLOCK + UNIT
    assert admit(manager, newcomer) is not None
    copies, _ = manager.take_kv_cache_block_copies()
    assert len(copies) == 2


def test_latent_attention_is_asked_before_states(side: ModuleType) -> None:
    manager = deployment(side, aligned_states(), latent(BLOCK))
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
