"""What is found by name: extras keep apart, output completes a unit as a prompt does, sessions go on."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from pagedkv.spec import (
    MultiModalFeature,
    Request,
    get_request_block_hasher,
    sha256,
    xxh3_128,
)
from pagedkv.spec.hashing import HashFunction

from .build import ATTENTION, BLOCK, STATE, UNIT, admit, attention, decode, deployment, holder, hybrid, words

HASH_FUNCTIONS = pytest.mark.parametrize("hash_fn", [sha256, xxh3_128])


def named(
    name: str, tokens: list[int], unit: int = UNIT, hash_fn: HashFunction = sha256, **extras: Any
) -> Request:
    return Request(name, tokens, block_hasher=get_request_block_hasher(unit, hash_fn), **extras)


def hit(manager: Any, asker: Request) -> int:
    """How many tokens of the request are cached."""
    length: int = manager.get_computed_blocks(asker)[1]
    return length


def test_an_item_before_the_last_one_counts_in_a_unit_that_output_completes(side: ModuleType) -> None:
    manager = deployment(side, attention(8), unit=8)

    def request(name: str, image: str, count: int) -> Request:
        features = [MultiModalFeature(image, 8, 2), MultiModalFeature("same", 11, 2)]
        return named(name, words(count), 8, mm_features=features)

    owner = request("owner", "cat", 14)
    assert admit(manager, owner) is not None
    owner.num_computed_tokens = 14
    decode(manager, owner, *words(3, first=114))
    manager.new_step_starts()
    assert hit(manager, request("other image", "dog", 20)) == 8
    assert hit(manager, request("fresh", "cat", 20)) == 16


EXTRAS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "salt": {"cache_salt": "X"},
    "adapter": {"lora_name": "X"},
    "image": {"mm_features": [MultiModalFeature("X", 0, 1)]},
    "embedding": {"prompt_embeds": {0: b"X"}},
}


@HASH_FUNCTIONS
@pytest.mark.parametrize("owned", EXTRAS)
def test_no_kind_of_extra_is_taken_for_another(side: ModuleType, owned: str, hash_fn: HashFunction) -> None:
    manager = deployment(side, attention(UNIT))
    assert admit(manager, named("owner", words(8), hash_fn=hash_fn, **EXTRAS[owned])) is not None
    manager.new_step_starts()
    for kind, extras in EXTRAS.items():
        asker = named(kind, words(9), hash_fn=hash_fn, **extras)
        assert hit(manager, asker) == (8 if kind == owned else 0), kind


@HASH_FUNCTIONS
def test_prompts_share_the_units_before_the_first_other_embedding(
    side: ModuleType, hash_fn: HashFunction
) -> None:
    manager = deployment(side, attention(UNIT))

    def request(name: str, *embeds: bytes) -> Request:
        return named(name, words(16), hash_fn=hash_fn, prompt_embeds=dict(enumerate(embeds, 6)))

    assert admit(manager, request("owner", b"a", b"b", b"c")) is not None
    manager.new_step_starts()
    for embeds, shared in [((b"a", b"b", b"c"), 12), ((b"a", b"b", b"d"), 8), ((b"a", b"b"), 8), ((), 4)]:
        assert hit(manager, request("asker", *embeds)) == shared


@pytest.fixture
def session(side: ModuleType) -> tuple[Any, Request]:
    """A request that has answered a prompt of 6 tokens with 4, of which the last is not computed."""
    manager = hybrid(side, BLOCK)
    request = named("session", words(6))
    for count in (4, 2):
        assert manager.allocate_slots(request, count) is not None
        request.num_computed_tokens += count
    decode(manager, request, *words(3, first=500))
    request.append_output_token_ids(503)
    assert holder(manager, request, 4, ATTENTION) is not None
    return manager, request


def test_a_session_goes_on_in_the_blocks_that_it_has(session: tuple[Any, Request]) -> None:
    manager, request = session
    before = manager.get_block_ids("session")
    request.continue_prompt(9, words(12, first=600))
    assert manager.get_block_ids("session") == before
    assert manager.allocate_slots(request, 7) is not None
    request.num_computed_tokens = 16
    assert manager.get_block_ids("session")[ATTENTION][:1] == before[ATTENTION]
    assert manager.allocate_slots(request, 4) is not None
    manager.new_step_starts()
    tokens = [*words(6), *words(3, first=500), *words(12, first=600)]
    assert hit(manager, named("fresh", tokens)) == 20


def test_each_turn_of_a_session_names_the_end_of_its_prompt(session: tuple[Any, Request]) -> None:
    manager, request = session
    request.continue_prompt(9, words(8, first=600))
    assert manager.allocate_slots(request, 7) is not None
    request.num_computed_tokens = 16
    for group in (ATTENTION, STATE):
        assert holder(manager, request, 16, group) is not None
    assert holder(manager, request, 4, ATTENTION) is not None


def test_the_end_of_a_longer_prompt_is_named_though_the_keys_have_passed_it(
    session: tuple[Any, Request],
) -> None:
    manager, request = session
    assert holder(manager, request, 8, ATTENTION) is None
    request.continue_prompt(9, [600])
    assert manager.allocate_slots(request, 1) is not None
    assert holder(manager, request, 8, ATTENTION) is not None
    assert holder(manager, request, 8, STATE) is None


def test_an_end_that_is_named_stays_evicted_when_a_longer_prompt_has_it_too(side: ModuleType) -> None:
    manager = hybrid(side, BLOCK)
    request = named("session", words(5))
    for count in (4, 1):
        assert manager.allocate_slots(request, count) is not None
        request.num_computed_tokens += count
    request.append_output_token_ids(500)
    manager.evict_blocks({holder(manager, request, 4, ATTENTION).block_id})
    request.continue_prompt(5, [600])
    assert manager.allocate_slots(request, 1) is not None
    assert holder(manager, request, 4, ATTENTION) is None
