"""Requests grow, and their hashes with them: nothing that shapes the KV is lost, and nothing else gets in."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from itertools import accumulate, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pagedkv.spec.hashing import (
    BlockHash,
    CacheSalt,
    EmbeddingKey,
    HashFunction,
    LoraName,
    MultiModalKey,
    get_extra_keys,
    get_request_block_hasher,
    init_none_hash,
    sha256,
    sha256_cbor,
    xxh3_128,
)
from pagedkv.spec.refusals import PreconditionError, UnsupportedError, ValuePreconditionError, require
from pagedkv.spec.requests import Bytes, MultiModalFeature, Request, RequestStatus

HASH_FUNCTIONS = pytest.mark.parametrize("hash_fn", [sha256, sha256_cbor, xxh3_128])


@pytest.fixture(autouse=True, scope="module")
def seed() -> None:
    init_none_hash(sha256)


# Equal hash exactly when what shapes the KV is equal.

LENGTHS = {"a": 1, "b": 3, "c": 3}


@dataclass(frozen=True)
class Content:
    tokens: tuple[int, ...]
    lora: str | None
    salt: str | None
    items: tuple[tuple[str, int], ...]
    """Identifier and first position; the length goes with the identifier."""
    embeds: tuple[tuple[int, str], ...] = ()
    """Positions, each once, and what is there in place of the token's embedding."""

    def prompt_end(self) -> int:
        """The shortest prompt that items and embeddings fit into."""
        ends = (start + LENGTHS[identifier] for identifier, start in self.items)
        return max([1, *ends, *(position + 1 for position, _ in self.embeds)])

    def request(self, unit: int, hash_fn: HashFunction, num_prompt_tokens: int | None = None) -> Request:
        return Request(
            "r",
            self.tokens[:num_prompt_tokens],
            block_hasher=get_request_block_hasher(unit, hash_fn),
            cache_salt=self.salt,
            lora_name=self.lora,
            mm_features=[MultiModalFeature(name, start, LENGTHS[name]) for name, start in self.items],
            prompt_embeds={position: content.encode() for position, content in self.embeds},
        )

    def prefix(self, end: int) -> object:
        """What shapes the KV of the first `end` tokens."""
        items = {(identifier, start) for identifier, start in self.items if start < end}
        embeds = {(position, content) for position, content in self.embeds if position < end}
        return self.tokens[:end], self.lora, self.salt, items, embeds


@st.composite
def contents(draw: st.DrawFn) -> Content:
    tokens = draw(st.lists(st.integers(0, 1), min_size=1, max_size=10).map(tuple))
    places = [(name, start) for name, size in LENGTHS.items() for start in range(len(tokens) - size + 1)]
    items = draw(st.lists(st.sampled_from(places), max_size=3).map(tuple))
    texts = st.sampled_from([None, "", "a", "b"])
    contents = st.dictionaries(st.integers(0, len(tokens) - 1), st.sampled_from(["", "a", "b"]), max_size=3)
    return Content(tokens, draw(texts), draw(texts), items, tuple(draw(contents).items()))


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Content, Content]:
    """Two contents that are alike in most parts."""
    first, other = draw(contents()), draw(contents())
    cut = draw(st.integers(0, len(first.tokens)))
    tokens = draw(st.sampled_from([first.tokens, first.tokens, first.tokens[:cut] + other.tokens]))
    lora = draw(st.sampled_from([first.lora, first.lora, first.lora, other.lora]))
    salt = draw(st.sampled_from([first.salt, first.salt, first.salt, other.salt]))
    one_replaced = other.items[:1] + first.items[1:]
    items = draw(
        st.sampled_from([first.items, first.items[::-1], first.items[1:], one_replaced, other.items])
    )
    fitting = tuple((name, start) for name, start in items if start + LENGTHS[name] <= len(tokens))
    embeds = draw(st.sampled_from([first.embeds, first.embeds, first.embeds[1:], other.embeds]))
    within = tuple((position, content) for position, content in embeds if position < len(tokens))
    return first, Content(tokens, lora, salt, fitting, within)


@HASH_FUNCTIONS
@settings(max_examples=200)
@given(pairs(), st.integers(1, 4))
def test_equal_hash_exactly_when_the_prefixes_are_equal(
    hash_fn: HashFunction, pair: tuple[Content, Content], unit: int
) -> None:
    named = [
        (content.prefix((index + 1) * unit), block_hash)
        for content in pair
        for index, block_hash in enumerate(content.request(unit, hash_fn).block_hashes)
    ]
    for prefix, block_hash in named:
        for other_prefix, other_hash in named:
            assert (prefix == other_prefix) == (block_hash == other_hash), (prefix, other_prefix)


@HASH_FUNCTIONS
@given(contents(), st.integers(1, 4), st.lists(st.integers(0, 4)), st.data())
def test_hashes_do_not_tell_prompt_from_output(
    hash_fn: HashFunction, content: Content, unit: int, steps: list[int], data: st.DataObject
) -> None:
    fresh = content.request(unit, hash_fn)
    start = data.draw(st.integers(content.prompt_end(), len(content.tokens)))
    request = content.request(unit, hash_fn, num_prompt_tokens=start)
    ends = [*accumulate(steps, initial=start), len(content.tokens)]
    for begin, end in pairwise(ends):
        request.append_output_token_ids(content.tokens[begin:end])
        assert request.block_hashes == fresh.block_hashes[: request.num_tokens // unit]
    assert request.all_token_ids == content.tokens


def test_an_image_before_the_last_one_counts_in_a_unit_that_output_completes() -> None:
    hasher = get_request_block_hasher(8, sha256)

    def hashes(image: str, prompt: range, output: list[int]) -> list[BlockHash]:
        features = [MultiModalFeature(image, 8, 2), MultiModalFeature("same", 11, 2)]
        request = Request("r", prompt, block_hasher=hasher, mm_features=features)
        request.append_output_token_ids(output)
        return request.block_hashes

    assert hashes("cat", range(14), [14, 15, 16]) != hashes("dog", range(14), [14, 15, 16])
    assert hashes("cat", range(14), [14, 15, 16]) == hashes("cat", range(17), [])


def test_each_unit_has_its_own_extra_keys() -> None:
    features = [MultiModalFeature("late", 7, 2), MultiModalFeature("early", 3, 5)]
    request = Request("r", range(16), lora_name="l", cache_salt="s", mm_features=[*features, features[0]])
    lora = LoraName("l")
    assert get_extra_keys(request, 0, 4) == (lora, CacheSalt("s"), MultiModalKey("early", 3))
    assert get_extra_keys(request, 4, 8) == (lora, MultiModalKey("early", -1), MultiModalKey("late", 3))
    assert get_extra_keys(request, 8, 12) == (lora, MultiModalKey("late", -1))
    assert get_extra_keys(request, 12, 16) == (lora,)
    assert get_extra_keys(Request("r", range(4)), 0, 4) is None


def test_an_embedding_is_in_the_unit_of_its_position() -> None:
    embeds: dict[int, Bytes] = {5: b"late", 3: bytearray(b"early"), 4: memoryview(b"")}
    request = Request("r", range(12), prompt_embeds=embeds)
    embeds[6] = b"too late"
    assert get_extra_keys(request, 0, 4) == (EmbeddingKey(b"early", 3),)
    assert get_extra_keys(request, 4, 8) == (EmbeddingKey(b"", 0), EmbeddingKey(b"late", 1))
    assert get_extra_keys(request, 8, 12) is None


@HASH_FUNCTIONS
def test_prompts_part_at_the_first_unit_with_another_embedding(hash_fn: HashFunction) -> None:
    hasher = get_request_block_hasher(4, hash_fn)

    def hashes(embeds: dict[int, bytes]) -> list[BlockHash]:
        return Request("r", range(16), block_hasher=hasher, prompt_embeds=embeds).block_hashes

    plain, one, other = hashes({}), hashes({4: b"a", 9: b"b"}), hashes({4: b"a", 9: b"c"})
    assert plain[0] == one[0] == other[0]
    assert plain[1] != one[1] == other[1]
    assert len({plain[2], one[2], other[2]}) == len({plain[3], one[3], other[3]}) == 3


def test_refuses_embeddings_that_cannot_be() -> None:
    assert Request("r", range(4), prompt_embeds={3: b"a"}).prompt_embeds == {3: b"a"}
    for position in (-1, 4, "0"):
        with pytest.raises(ValueError, match=f"prompt_embeds has position {position!r}: .* from 0 to 3"):
            Request("r", range(4), prompt_embeds={position: b"a"})  # type: ignore[dict-item]
    with pytest.raises(TypeError, match="prompt_embeds has int at 2: it must be bytes"):
        Request("r", range(4), prompt_embeds={2: 5})  # type: ignore[dict-item]


def test_a_request_starts_with_nothing_computed() -> None:
    request = Request("r", [5, 6, 7])
    assert (request.request_id, request.num_tokens, request.num_prompt_tokens) == ("r", 3, 3)
    assert (request.cache_salt, request.lora_name, request.mm_features) == (None, None, ())
    assert request.prompt_embeds == {}
    assert (request.num_computed_tokens, request.num_in_flight_tokens) == (0, 0)
    assert (request.shared_prefix_boundary, request.skip_reading_prefix_cache) == (0, False)
    assert request.status is RequestStatus.WAITING
    assert request.block_hashes == []


def test_output_is_appended_one_by_one_or_many() -> None:
    prompt = [5, 6, 7]
    request = Request("r", prompt)
    tokens = request.all_token_ids
    request.append_output_token_ids(8)
    request.append_output_token_ids([])
    request.append_output_token_ids([9, 10])
    prompt.append(11)
    assert tokens == [5, 6, 7, 8, 9, 10]
    assert (request.num_tokens, request.num_prompt_tokens) == (6, 3)
    assert repr(request) == "Request('r', 3 + 3 tokens)"


def test_tokens_can_be_read_like_a_tuple_and_not_written() -> None:
    tokens = Request("r", [5, 6, 7]).all_token_ids
    assert (tokens[0], tokens[-1], tokens[1:], len(tokens), list(tokens)) == (5, 7, (6, 7), 3, [5, 6, 7])
    assert tokens == (5, 6, 7) == tokens == Request("other", [5, 6, 7]).all_token_ids
    assert tokens != (5, 6)
    assert tokens != "567"
    assert repr(tokens) == "TokenView([5, 6, 7])"
    with pytest.raises(TypeError, match="item assignment"):
        tokens[0] = 1  # type: ignore[index]
    with pytest.raises(TypeError, match="unhashable"):
        hash(tokens)
    with pytest.raises(AttributeError):
        Request("r", [5]).all_token_ids = tokens  # type: ignore[misc]


def test_refuses_a_prompt_that_is_none() -> None:
    with pytest.raises(ValueError, match="prompt_token_ids is empty: request 'r'"):
        Request("r", [])
    with pytest.raises(ValueError, match=f"^prompt_token_ids has {2**63}"):
        Request("r", [1, 2**63])
    with pytest.raises(ValueError, match="cache_salt is"):
        Request("r", [1], cache_salt="\ud800")
    with pytest.raises(ValueError, match="lora_name is"):
        Request("r", [1], lora_name="\ud800")
    for name in ("cache_salt", "lora_name"):
        for value, words in ((3, "3"), (b"a", "b'a'")):
            with pytest.raises(TypeError, match=f"^{name} is {words}: it must be a text$"):
                Request("r", [1], **{name: value})  # type: ignore[arg-type]


def test_refuses_items_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="identifier is"):
        MultiModalFeature("\ud800", 0, 1)
    with pytest.raises(ValueError, match="offset is -1"):
        MultiModalFeature("a", -1, 1)
    with pytest.raises(ValueError, match="length is 0"):
        MultiModalFeature("a", 0, 0)
    fits, too_long = MultiModalFeature("a", 2, 2), MultiModalFeature("a", 2, 3)
    assert Request("r", range(4), mm_features=[fits]).mm_features == (fits,)
    with pytest.raises(ValueError, match="must end within the 4 prompt tokens"):
        Request("r", range(4), mm_features=[too_long])
    with pytest.raises(ValueError, match="the identifier has length 2 elsewhere"):
        Request("r", range(9), mm_features=[fits, too_long])


@pytest.mark.parametrize("lengths", [(32, 64, 32), (32, 32, 16), (64, 32, 32)])
def test_digests_of_one_request_have_one_length(lengths: tuple[int, ...]) -> None:
    def hasher(request: Request) -> list[BlockHash]:
        known = len(request.block_hashes)
        return [BlockHash(bytes(n)) for n in lengths[known : request.num_tokens // 4]]

    with pytest.raises(ValueError, match="block_hasher answers digests of"):
        Request("r", range(12), block_hasher=hasher)
    request = Request("r", range(7), block_hasher=hasher)
    with pytest.raises(ValueError, match="block_hasher answers digests of"):
        request.append_output_token_ids(range(5))
    assert (request.num_tokens, len(request.block_hashes)) == (7, 1)


def test_a_failed_append_changes_nothing() -> None:
    failing = False

    def hasher(request: Request) -> list[BlockHash]:
        if failing:
            raise RuntimeError("no hash")
        return get_request_block_hasher(2, sha256)(request)

    request = Request("r", [5, 6, 7], block_hasher=hasher)
    hashes = list(request.block_hashes)
    with pytest.raises(ValueError, match=f"^token_ids has {2**63}"):
        request.append_output_token_ids([8, 2**63])
    failing = True
    with pytest.raises(RuntimeError, match="no hash"):
        request.append_output_token_ids([8, 9])
    assert request.all_token_ids == [5, 6, 7]
    assert request.block_hashes == hashes
    failing = False
    request.append_output_token_ids(8)
    assert request.block_hashes == Request("r", [5, 6, 7, 8], block_hasher=hasher).block_hashes


@dataclass(frozen=True)
class Rule:
    id: str


RULE = Rule("Family/case")


@pytest.mark.parametrize(
    ("kind", "builtin"),
    [
        (PreconditionError, AssertionError),
        (ValuePreconditionError, ValueError),
        (UnsupportedError, NotImplementedError),
    ],
)
def test_a_refusal_names_its_clause(kind: type[PreconditionError], builtin: type[Exception]) -> None:
    with pytest.raises(builtin) as caught:
        require(False, RULE, "n is 3", kind)
    refusal = caught.value
    assert type(refusal) is kind
    assert isinstance(refusal, PreconditionError)
    assert refusal.clause is RULE
    assert str(refusal) == "Family/case: n is 3"
    assert str(pickle.loads(pickle.dumps(refusal))) == "Family/case: n is 3"


def test_a_message_is_only_built_for_a_refusal() -> None:
    built = []

    def message() -> str:
        built.append("n is 3")
        return built[-1]

    require(True, RULE, message)
    assert built == []
    with pytest.raises(PreconditionError, match=r"^Family/case: n is 3$"):
        require(False, RULE, message)
