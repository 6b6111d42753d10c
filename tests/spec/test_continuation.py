"""A request that goes on with more prompt has the hashes of a fresh one, and no other."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pagedkv.spec import (
    BlockHash,
    MultiModalFeature,
    Request,
    get_request_block_hasher,
    init_none_hash,
    sha256,
)


@pytest.fixture(autouse=True, scope="module")
def seed() -> None:
    init_none_hash(sha256)


TOKENS = st.lists(st.integers(0, 1), min_size=1, max_size=6)


def session(unit: int = 2, prompt: int = 3, output: int = 3, **options: object) -> Request:
    """A request of which all but the last token is computed."""
    hasher = get_request_block_hasher(unit, sha256)
    request = Request("r", range(prompt), block_hasher=hasher, **options)  # type: ignore[arg-type]
    request.append_output_token_ids(range(100, 100 + output))
    request.num_computed_tokens = request.num_tokens - 1
    return request


def fresh(request: Request, unit: int) -> Request:
    """A request that came with all that this one has."""
    return Request(
        "fresh",
        request.all_token_ids,
        block_hasher=get_request_block_hasher(unit, sha256),
        cache_salt=request.cache_salt,
        lora_name=request.lora_name,
        mm_features=request.mm_features,
        prompt_embeds=request.prompt_embeds,
    )


@settings(max_examples=300)
@given(st.data(), st.integers(1, 5), TOKENS)
def test_whatever_is_appended_or_replaced_the_hashes_are_those_of_a_fresh_request(
    data: st.DataObject, unit: int, prompt: list[int]
) -> None:
    request = Request(
        "r",
        prompt,
        block_hasher=get_request_block_hasher(unit, sha256),
        cache_salt=data.draw(st.sampled_from([None, "a"])),
        lora_name=data.draw(st.sampled_from([None, "a"])),
    )
    expected = list(prompt)
    for _ in range(data.draw(st.integers(1, 6))):
        tokens = data.draw(TOKENS)
        if data.draw(st.booleans()):
            request.append_output_token_ids(tokens)
            expected += tokens
        else:
            request.num_computed_tokens = data.draw(st.integers(0, request.num_tokens))
            least = max(request.num_prompt_tokens, request.num_computed_tokens)
            position = data.draw(st.integers(least, request.num_tokens))
            end = position + len(tokens)
            places = st.integers(position, end - 1)
            items = [
                MultiModalFeature(name, data.draw(places), 1)
                for name in data.draw(st.lists(st.sampled_from("ab"), max_size=2))
            ]
            embeds = data.draw(st.dictionaries(places, st.sampled_from([b"a", b"b"]), max_size=2))
            request.continue_prompt(position, tokens, mm_features=items, prompt_embeds=embeds)
            expected[position:] = tokens
            assert request.num_prompt_tokens == request.num_tokens == end
        assert request.all_token_ids == expected
        assert request.block_hashes == fresh(request, unit).block_hashes


def test_the_last_token_is_replaced_and_what_was_output_is_prompt() -> None:
    request = session()
    kept = list(request.block_hashes)
    assert (request.num_tokens, len(kept)) == (6, 3)
    request.continue_prompt(5, [7, 8], mm_features=[MultiModalFeature("a", 6, 1)], prompt_embeds={5: b"e"})
    assert request.all_token_ids == [0, 1, 2, 100, 101, 7, 8]
    assert (request.num_prompt_tokens, request.num_tokens, request.num_computed_tokens) == (7, 7, 5)
    assert (request.mm_features, request.prompt_embeds) == ((MultiModalFeature("a", 6, 1),), {5: b"e"})
    assert request.block_hashes[:2] == kept[:2]
    assert request.block_hashes[2] != kept[2]


def test_the_same_tokens_in_place_of_the_replaced_ones_have_the_same_hashes() -> None:
    request = session()
    kept = list(request.block_hashes)
    request.continue_prompt(5, [102, 9])
    assert request.block_hashes == kept


def test_units_before_the_replaced_token_are_not_hashed_again() -> None:
    asked: list[int] = []
    plain = get_request_block_hasher(4, sha256)

    def hasher(request: Request) -> list[BlockHash]:
        asked.append(len(request.block_hashes))
        return plain(request)

    request = Request("r", range(4000), block_hasher=hasher)
    request.append_output_token_ids([1, 2, 3, 4])
    request.num_computed_tokens = 4003
    request.continue_prompt(4003, range(8))
    assert asked == [0, 1000, 1000]
    request.append_output_token_ids([1, 2])
    request.num_computed_tokens = 4012
    request.continue_prompt(4012, range(8))
    assert asked[3:] == [1002, 1002]


@pytest.mark.parametrize("position", [-1, 0, 3, 4, 7])
def test_only_output_that_is_not_computed_can_be_replaced(position: int) -> None:
    request = session()
    with pytest.raises(ValueError, match=f"position is {position}: from 5, .* to the 6 tokens of request"):
        request.continue_prompt(position, [1])
    request.num_computed_tokens = 2
    with pytest.raises(ValueError, match=f"position is {min(position, 2)}: from 3,"):
        request.continue_prompt(min(position, 2), [1])
    request.continue_prompt(3, [1])
    assert request.all_token_ids == [0, 1, 2, 1]


def test_tokens_that_are_computed_ahead_of_the_last_known_one_leave_it() -> None:
    request = session()
    request.num_computed_tokens = 8
    request.continue_prompt(6, [1])
    assert request.all_token_ids == [0, 1, 2, 100, 101, 102, 1]


def test_a_refused_continuation_changes_nothing() -> None:
    request = session(mm_features=[MultiModalFeature("a", 0, 2)], prompt_embeds={2: b"e"})

    def state() -> tuple[object, ...]:
        return (
            list(request.all_token_ids),
            list(request.block_hashes),
            request.num_prompt_tokens,
            request.mm_features,
            request.prompt_embeds,
        )

    before = state()
    early, late = MultiModalFeature("b", 4, 1), MultiModalFeature("b", 6, 2)
    with pytest.raises(ValueError, match="token_ids is empty: request 'r'"):
        request.continue_prompt(5, [])
    with pytest.raises(ValueError, match=f"token_ids has {2**63}"):
        request.continue_prompt(5, [1, 2**63])
    for item in (early, late):
        with pytest.raises(
            ValueError, match="it must begin at 5 or later and end within the 7 prompt tokens"
        ):
            request.continue_prompt(5, [1, 2], mm_features=[item])
    with pytest.raises(ValueError, match="the identifier has length 2 elsewhere"):
        request.continue_prompt(5, [1, 2], mm_features=[MultiModalFeature("a", 5, 1)])
    for position in (4, 7):
        with pytest.raises(ValueError, match=f"prompt_embeds has position {position}: .* from 5 to 6"):
            request.continue_prompt(5, [1, 2], prompt_embeds={position: b"e"})
    with pytest.raises(TypeError, match="prompt_embeds has str at 5"):
        request.continue_prompt(5, [1, 2], prompt_embeds={5: "e"})  # type: ignore[dict-item]
    assert state() == before


def test_a_continuation_that_cannot_be_hashed_changes_nothing() -> None:
    failing = False
    plain = get_request_block_hasher(2, sha256)

    def hasher(request: Request) -> list[BlockHash]:
        if failing:
            raise RuntimeError("no hash")
        return plain(request)

    request = Request("r", range(3), block_hasher=hasher)
    request.append_output_token_ids([3])
    hashes = list(request.block_hashes)
    failing = True
    with pytest.raises(RuntimeError, match="no hash"):
        request.continue_prompt(
            3, [9, 9], mm_features=[MultiModalFeature("a", 3, 1)], prompt_embeds={4: b"e"}
        )
    assert request.all_token_ids == [0, 1, 2, 3]
    assert request.num_prompt_tokens == 3
    assert (request.block_hashes, request.mm_features, request.prompt_embeds) == (hashes, (), {})


def test_a_request_without_hashes_goes_on_without() -> None:
    request = Request("r", range(3))
    request.append_output_token_ids([3])
    request.continue_prompt(3, [4, 5])
    assert request.all_token_ids == [0, 1, 2, 4, 5]
    assert request.block_hashes == []


def test_each_turn_of_a_long_session_is_that_of_a_fresh_request() -> None:
    request = session(unit=4, prompt=10, output=5)
    ends = [10]
    for turn in range(5):
        request.continue_prompt(request.num_computed_tokens, range(turn, turn + 7))
        request.append_output_token_ids([1, 2, 3])
        request.num_computed_tokens = request.num_tokens - 1
        ends.append(request.num_prompt_tokens)
        assert request.block_hashes == fresh(request, 4).block_hashes
    assert all(longer > shorter for shorter, longer in pairwise(ends))
