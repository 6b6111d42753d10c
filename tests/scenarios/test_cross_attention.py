"""Cross attention: what an encoder made of a request's input, held beside the request's own tokens."""

from types import ModuleType
from typing import Any

import pytest

from pagedkv.spec import PreconditionError, UnsupportedError

from .build import UNIT, attention, cross, decode, deployment, drain, ids, request, table, widths, words

OWN, ENCODED = 0, 1


def decoder(side: ModuleType, **options: Any) -> Any:
    """A manager of full attention beside cross attention."""
    return deployment(side, attention(UNIT), cross(UNIT), enable_caching=False, **options)


def test_the_first_call_takes_what_covers_the_encoders_tokens(side: ModuleType) -> None:
    manager = decoder(side)
    answer = manager.allocate_slots(request("r", words(3)), 3, num_encoder_tokens=2 * UNIT + 1)
    assert widths(answer) == [1, 3]


def test_later_calls_take_none(side: ModuleType) -> None:
    manager, owner = decoder(side), request("r", words(3))
    manager.allocate_slots(owner, 3, num_encoder_tokens=UNIT)
    owner.num_computed_tokens = 3
    row = table(manager, "r", ENCODED)
    decode(manager, owner, *range(2 * UNIT))
    assert table(manager, "r", ENCODED) == row
    assert widths(manager.allocate_slots(owner, 1, num_encoder_tokens=4 * UNIT)) == [0, 0]
    assert table(manager, "r", ENCODED) == row


def test_a_call_counts_them_before_it_takes_any(side: ModuleType) -> None:
    manager = decoder(side, num_blocks=5)
    assert manager.allocate_slots(request("r", words(3)), 3, num_encoder_tokens=4 * UNIT) is None
    assert manager.block_pool.get_num_free_blocks() == 4
    assert manager.allocate_slots(request("r", words(3)), 3, num_encoder_tokens=3 * UNIT) is not None


def test_requests_with_equal_tokens_share_none(side: ModuleType) -> None:
    manager = decoder(side)
    for name in ("a", "b"):
        manager.allocate_slots(request(name, words(3)), 3, num_encoder_tokens=UNIT)
    assert not set(table(manager, "a", ENCODED)) & set(table(manager, "b", ENCODED))


def test_a_free_gives_them_back_behind_the_requests_own(side: ModuleType) -> None:
    manager, owner = decoder(side, num_blocks=6), request("r", words(3))
    manager.allocate_slots(owner, 3, num_encoder_tokens=2 * UNIT)
    own, encoded = table(manager, "r", OWN), table(manager, "r", ENCODED)
    manager.free(owner)
    # Without caching each free goes to the front, the last block of a row first.
    assert drain(manager.block_pool)[:3] == [*encoded[::-1], *own]


def test_no_prefix_of_it_is_looked_up_or_named(side: ModuleType) -> None:
    manager, owner = decoder(side), request("r", words(UNIT))
    manager.allocate_slots(owner, UNIT, num_encoder_tokens=UNIT)
    group = manager.coordinator.single_type_managers[ENCODED]
    with pytest.raises(UnsupportedError) as refusal:
        group.find_longest_cache_hit(
            owner.block_hashes, UNIT, [ENCODED], manager.block_pool, cross(UNIT), False, UNIT
        )
    assert getattr(refusal.value, "clause").id == "Config/cross_without_caching"  # noqa: B009
    before = manager.snapshot()
    with pytest.raises(UnsupportedError):
        manager.cache_blocks(owner, UNIT)
    assert manager.snapshot() == before


def test_hits_are_refused_beside_it(side: ModuleType) -> None:
    manager = decoder(side)
    blocks = manager.create_kv_cache_blocks(([manager.block_pool.blocks[1]], []))
    with pytest.raises(PreconditionError) as refusal:
        manager.allocate_slots(request("r", words(UNIT + 1)), 1, UNIT, blocks, num_encoder_tokens=UNIT)
    assert getattr(refusal.value, "clause").id == "Allocate/fits_the_hit"  # noqa: B009
    assert ids(manager.block_pool.get_new_blocks(1)) == [1]


def test_what_others_have_computed_takes_none_there(side: ModuleType) -> None:
    manager = decoder(side)
    answer = manager.allocate_slots(
        request("r", words(2 * UNIT + 1)), 1, num_external_computed_tokens=2 * UNIT, num_encoder_tokens=UNIT
    )
    assert answer is not None
    assert (len(table(manager, "r", OWN)), len(table(manager, "r", ENCODED))) == (3, 1)
