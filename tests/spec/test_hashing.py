"""Hashes name prefixes: nothing that shapes the KV is lost, and nothing else gets in."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator

import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from pagedkv.spec.hashing import (
    BlockHash,
    CacheSalt,
    EmbeddingKey,
    ExtraKey,
    HashFunction,
    HashTriple,
    LoraName,
    MultiModalKey,
    canonical_bytes,
    canonical_cbor,
    get_block_hash,
    get_group_id,
    get_none_hash,
    get_request_block_hasher,
    hash_block_tokens,
    init_none_hash,
    make_block_hash_with_group_id,
    sha256,
    sha256_cbor,
    units,
    xxh3_128,
)
from pagedkv.spec.requests import MultiModalFeature, Request

INT64 = st.integers(-(2**63), 2**63 - 1)
EXTRA_KEYS = st.one_of(
    st.builds(LoraName, st.text()),
    st.builds(CacheSalt, st.text()),
    st.builds(MultiModalKey, st.text(), INT64),
    st.builds(EmbeddingKey, st.binary(), INT64),
)
TRIPLES = st.builds(
    HashTriple,
    st.binary(max_size=40),
    st.lists(INT64).map(tuple),
    st.none() | st.lists(EXTRA_KEYS, max_size=4).map(tuple),
)
HASH_FUNCTIONS = pytest.mark.parametrize("hash_fn", [sha256, sha256_cbor, xxh3_128])


@pytest.fixture(autouse=True, scope="module")
def seed_zero() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(units, "_none_hash", None)
        patch.setenv("PYTHONHASHSEED", "0")
        init_none_hash(sha256)
        yield


# The bytes can be read back, so they lose nothing. The reader follows the module's description alone.


class Reader:
    def __init__(self, content: bytes) -> None:
        self.rest = content

    def take(self, size: int) -> bytes:
        assert size <= len(self.rest)
        taken, self.rest = self.rest[:size], self.rest[size:]
        return taken

    def integer(self, size: int, signed: bool = False) -> int:
        return int.from_bytes(self.take(size), "little", signed=signed)

    def blob(self) -> bytes:
        return self.take(self.integer(8))

    def key(self) -> ExtraKey:
        kind, body = self.integer(1), self.blob()
        if kind in (1, 2):
            return LoraName(body.decode()) if kind == 1 else CacheSalt(body.decode())
        offset, content = int.from_bytes(body[:8], "little", signed=True), body[8:]
        if kind == 3:
            return MultiModalKey(content.decode(), offset)
        assert kind == 4
        return EmbeddingKey(content, offset)

    def triple(self) -> HashTriple:
        parent = self.blob()
        tokens = tuple(self.integer(8, signed=True) for _ in range(self.integer(8)))
        has_extras = [False, True][self.integer(1)]
        keys = tuple(self.key() for _ in range(self.integer(8))) if has_extras else None
        assert self.rest == b""
        return HashTriple(parent, tokens, keys)

    def cbor(self) -> object:
        first = self.integer(1)
        major_type, argument = first >> 5, first & 31
        if first == 0xF6:
            return None
        if argument >= 24:
            size = {24: 1, 25: 2, 26: 4, 27: 8}[argument]
            argument = int.from_bytes(self.take(size), "big")
            assert argument >= (24 if size == 1 else 256 ** (size // 2)), "a shorter head would do"
        match major_type:
            case 0 | 1:
                return argument if major_type == 0 else -1 - argument
            case 2:
                return self.take(argument)
            case 3:
                return self.take(argument).decode()
        assert major_type == 4
        return tuple(self.cbor() for _ in range(argument))


@given(TRIPLES)
def test_canonical_bytes_read_back(triple: HashTriple) -> None:
    assert Reader(canonical_bytes(triple)).triple() == triple


@given(TRIPLES)
def test_canonical_cbor_reads_back(triple: HashTriple) -> None:
    reader = Reader(canonical_cbor(triple))
    item = reader.cbor()
    assert reader.rest == b""
    assert isinstance(item, tuple)
    parent, tokens, items = item
    kinds = {1: LoraName, 2: CacheSalt, 3: MultiModalKey, 4: EmbeddingKey}
    keys = None if items is None else tuple(kinds[kind](*fields) for kind, *fields in items)
    assert HashTriple(parent, tokens, keys) == triple


# Vectors: these bytes and digests are for ever, in every version and language.

FULL_TRIPLE = HashTriple(
    b"\xaa\xbb", (1, -2), (LoraName("l"), CacheSalt("é"), MultiModalKey("img", -3), MultiModalKey("", 2**32))
)
FULL_BYTES = bytes.fromhex(
    "0200000000000000 aabb"
    "0200000000000000 0100000000000000 feffffffffffffff"
    "01 0400000000000000"
    "01 0100000000000000 6c"
    "02 0200000000000000 c3a9"
    "03 0b00000000000000 fdffffffffffffff 696d67"
    "03 0800000000000000 0000000001000000"
)
FULL_CBOR = bytes.fromhex(
    "83 42aabb 82 01 21 84 82 01 616c 82 02 62c3a9 83 03 63696d67 22 83 03 60 1b0000000100000000"
)


EMBEDDED = HashTriple(b"", (7,), (EmbeddingKey(b"\x00\xff", 1), EmbeddingKey(b"", 2)))
EMBEDDED_BYTES = bytes.fromhex(
    "0000000000000000"
    "0100000000000000 0700000000000000"
    "01 0200000000000000"
    "04 0a00000000000000 0100000000000000 00ff"
    "04 0800000000000000 0200000000000000"
)


def test_the_bytes_of_embeddings_are_fixed() -> None:
    assert canonical_bytes(EMBEDDED) == EMBEDDED_BYTES
    assert canonical_cbor(EMBEDDED) == bytes.fromhex("83 40 81 07 82 83 04 4200ff 01 83 04 40 02")


def test_the_bytes_are_fixed() -> None:
    assert canonical_bytes(FULL_TRIPLE) == FULL_BYTES
    assert canonical_bytes(HashTriple(b"", (), None)) == bytes(17)
    assert canonical_bytes(HashTriple(b"", (), ())) == bytes(16) + b"\x01" + bytes(8)
    assert sha256(FULL_TRIPLE) == hashlib.sha256(FULL_BYTES).digest()


@pytest.mark.parametrize(
    ("token", "item"),
    [
        (0, "00"),
        (23, "17"),
        (24, "1818"),
        (255, "18ff"),
        (256, "190100"),
        (65535, "19ffff"),
        (65536, "1a00010000"),
        (2**32 - 1, "1affffffff"),
        (2**32, "1b0000000100000000"),
        (2**63 - 1, "1b7fffffffffffffff"),
        (-1, "20"),
        (-24, "37"),
        (-25, "3818"),
        (-(2**63), "3b7fffffffffffffff"),
    ],
)
def test_the_integers_of_cbor_are_fixed(token: int, item: str) -> None:
    assert canonical_cbor(HashTriple(b"", (token,), None)) == bytes.fromhex("83 40 81" + item + "f6")


def test_the_cbor_is_fixed() -> None:
    assert canonical_cbor(FULL_TRIPLE) == FULL_CBOR
    long_parent = bytes(range(32))
    assert canonical_cbor(HashTriple(long_parent, (), ())) == b"\x83\x58\x20" + long_parent + b"\x80\x80"
    assert sha256_cbor(FULL_TRIPLE) == hashlib.sha256(FULL_CBOR).digest()


@pytest.mark.parametrize(
    ("hash_fn", "digests"),
    [
        (
            sha256,
            [
                "f2fca3d0ebfbb37c009e657013d2b597ab503234af9334906b7848a340ced60e",
                "dc7ee12c9c4974c329483d39745c05874f1ae2b5621e6c957eaafa59d75867d9",
                "0c04ef49180cccc353fd49a03fd0c153b17828b8e187368c364606c887c52b03",
            ],
        ),
        (
            sha256_cbor,
            [
                "9237bac404e27c29cdf54311927fbcc153d6d1e87e03f97c730f17da336bcc89",
                "5e925aca07fd7d0cc3419d4c06e39025bcefe397e6f98e3eb9f635c59c964d40",
                "b6b96831bf50033b97bf2c70b5b1288df7eed979e44f6e2519eef8054b66aeca",
            ],
        ),
        (
            xxh3_128,
            [
                "64f6cbe12f0ab4c01e9c179991eaf62c",
                "3cbea295a0340ba71904bfd489b81565",
                "d0c0087ee39e8e55e9d8c3aa6db5141f",
            ],
        ),
    ],
)
def test_the_hashes_of_a_request_are_fixed(hash_fn: HashFunction, digests: list[str]) -> None:
    request = Request(
        "r",
        range(12),
        block_hasher=get_request_block_hasher(4, hash_fn),
        cache_salt="salt",
        lora_name="lora",
        mm_features=[MultiModalFeature("b", 6, 3), MultiModalFeature("a", 5, 1)],
    )
    assert get_none_hash().hex() == "675bac45eeab445a11ab0acd085859864180a09d590a84b6111f4effd8c821a5"
    assert [block_hash.hex() for block_hash in request.block_hashes] == digests


def test_the_fast_hash_is_xxh3_of_the_canonical_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert xxhash.xxh3_128_hexdigest(b"") == "99aa06d3014798d86001c324468d497f"
    assert xxh3_128(FULL_TRIPLE) == xxhash.xxh3_128_digest(FULL_BYTES)
    monkeypatch.setitem(sys.modules, "xxhash", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'pagedkv\[xxhash\]'"):
        xxh3_128(FULL_TRIPLE)


@HASH_FUNCTIONS
def test_no_kind_of_extra_key_passes_for_another(hash_fn: HashFunction) -> None:
    keys: list[ExtraKey] = [LoraName("X"), CacheSalt("X"), MultiModalKey("X", 0), EmbeddingKey(b"X", 0)]
    assert len({hash_block_tokens(hash_fn, None, [1], (key,)) for key in keys}) == len(keys)


def test_no_extra_keys_and_no_parent_have_one_meaning() -> None:
    assert hash_block_tokens(sha256, None, [1], ()) == hash_block_tokens(sha256, None, [1])
    assert hash_block_tokens(sha256, None, [1]) == hash_block_tokens(sha256, get_none_hash(), (1,), None)


@given(st.binary(), st.integers(0, 2**32 - 1))
def test_keys_of_the_index_come_apart_again(digest: bytes, group_id: int) -> None:
    key = make_block_hash_with_group_id(BlockHash(digest), group_id)
    assert (get_block_hash(key), get_group_id(key)) == (digest, group_id)
    assert make_block_hash_with_group_id(BlockHash(b"h"), 258) == b"h\x00\x00\x01\x02"


def test_the_seed_is_random_unless_it_is_fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(units, "_none_hash", get_none_hash())

    def seed(value: str | None) -> BlockHash:
        monkeypatch.delenv("PYTHONHASHSEED", raising=False)
        if value is not None:
            monkeypatch.setenv("PYTHONHASHSEED", value)
        init_none_hash(sha256)
        return get_none_hash()

    assert seed("7") == seed("7") != seed("8")
    for unfixed in (None, "", "random"):
        assert seed(unfixed) != seed(unfixed)


def test_the_seed_must_be_fixed_before_the_first_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(units, "_none_hash", None)
    with pytest.raises(RuntimeError, match="init_none_hash"):
        hash_block_tokens(sha256, None, [1])
    assert hash_block_tokens(sha256, BlockHash(b"parent"), [1])


@HASH_FUNCTIONS
@pytest.mark.parametrize("token", [2**63, -(2**63) - 1, 2**200, 1.5])
def test_refuses_what_is_no_token(hash_fn: HashFunction, token: int) -> None:
    with pytest.raises(ValueError, match=rf"token_ids has {token}: .* -2\*\*63 to 2\*\*63 - 1"):
        hash_block_tokens(hash_fn, None, [0, token])


def test_refuses_what_has_no_name() -> None:
    with pytest.raises(ValueError, match="token_ids is empty"):
        hash_block_tokens(sha256, None, [])
    for unit in (0, -4, 2.5, True, "2"):
        with pytest.raises(ValueError, match=f"unit is {unit!r}: it must be a positive number of tokens"):
            get_request_block_hasher(unit, sha256)  # type: ignore[arg-type]
    for group_id in (-1, 2**32):
        with pytest.raises(ValueError, match=f"group_id is {group_id}:"):
            make_block_hash_with_group_id(BlockHash(b""), group_id)
    for offset in (2**63, -(2**63) - 1):
        with pytest.raises(ValueError, match=f"offset is {offset}:"):
            MultiModalKey("a", offset)
        with pytest.raises(ValueError, match=f"offset is {offset}:"):
            EmbeddingKey(b"a", offset)


def test_refuses_texts_that_are_no_text() -> None:
    with pytest.raises(ValueError, match=r"name is '\\ud800'"):
        LoraName("\ud800")
    with pytest.raises(ValueError, match=r"salt is '\\ud800'"):
        CacheSalt("\ud800")
    with pytest.raises(ValueError, match=r"identifier is '\\ud800'"):
        MultiModalKey("\ud800", 0)


def test_a_given_seed_gives_the_same_hashes_whatever_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", "7")
    init_none_hash(sha256, seed="random")
    first = get_none_hash()
    monkeypatch.setenv("PYTHONHASHSEED", "8")
    init_none_hash(sha256, seed="random")
    assert get_none_hash() == first
    init_none_hash(sha256, seed="another")
    assert get_none_hash() != first
