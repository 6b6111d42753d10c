"""Requests, as far as the manager of a KV cache and its scheduler see them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import overload

from .hashing import BlockHash, encode_text, encode_token_ids

Bytes = bytes | bytearray | memoryview


class RequestStatus(Enum):
    """Where a request stands in the scheduler."""

    WAITING = "waiting"
    RUNNING = "running"
    PREEMPTED = "preempted"
    FINISHED = "finished"


@dataclass(frozen=True, slots=True)
class MultiModalFeature:
    """An item that takes `length` positions of a prompt, the first at `offset` (tokens).

    `identifier` names its content, and so its length: one identifier has one length everywhere.
    ValueError for an identifier with surrogates, a negative offset or a length below 1; TypeError for an
    identifier that is no text.
    """

    identifier: str
    offset: int
    length: int

    def __post_init__(self) -> None:
        encode_text("identifier", self.identifier)
        if self.offset < 0:
            raise ValueError(f"offset is {self.offset}: it must not be negative")
        if self.length < 1:
            raise ValueError(f"length is {self.length}: an item takes at least one position")


class TokenView(Sequence[int]):
    """A list of tokens that can be read but not written; it shows what is appended to the list later.

    A slice is a tuple. It equals every list, tuple or view with the same tokens.
    """

    __slots__ = ("_tokens",)
    __hash__ = None  # type: ignore[assignment]  # its contents grow

    def __init__(self, tokens: list[int]) -> None:
        self._tokens = tokens

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[int, ...]: ...
    def __getitem__(self, index: int | slice) -> int | tuple[int, ...]:
        return tuple(self._tokens[index]) if isinstance(index, slice) else self._tokens[index]

    def __len__(self) -> int:
        return len(self._tokens)

    def __iter__(self) -> Iterator[int]:
        return iter(self._tokens)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (TokenView, list, tuple)):
            return self._tokens == list(other)
        return NotImplemented

    def __repr__(self) -> str:
        return f"TokenView({self._tokens})"


class Request:
    """A prompt and the output appended to it so far.

    The manager reads it; the scheduler also sets the plain attributes:

    - `num_computed_tokens`: length of the prefix whose KV has been computed or scheduled;
    - `num_in_flight_tokens`: how many of these are scheduled but not processed yet;
    - `shared_prefix_boundary`: length at which sparse groups keep a state for other requests, 0 for none;
    - `skip_reading_prefix_cache`: a lookup finds nothing, publishing goes on;
    - `status`.

    `block_hashes` holds one hash for each full unit, none without a `block_hasher`.
    `block_hasher` is a result of `get_request_block_hasher`; it is asked at once and after every change.
    `prompt_embeds` has, by position in the prompt, the bytes of the embedding that stands there in place of
    the token's, or a digest of it.

    ValueError for an empty prompt, a token outside int64, a text with surrogates, for multimodal items
    that do not lie inside the prompt or give one identifier two lengths, and for an embedding outside the
    prompt; TypeError for one that is not bytes, and for a salt or an adapter's name that is no text.
    ValueError too where the hasher answers digests of different lengths.
    """

    def __init__(
        self,
        request_id: str,
        prompt_token_ids: Sequence[int],
        *,
        block_hasher: Callable[[Request], list[BlockHash]] | None = None,
        cache_salt: str | None = None,
        lora_name: str | None = None,
        mm_features: Sequence[MultiModalFeature] | None = None,
        prompt_embeds: Mapping[int, Bytes] | None = None,
    ) -> None:
        if len(prompt_token_ids) == 0:
            raise ValueError(f"prompt_token_ids is empty: request {request_id!r} needs at least one token")
        encode_token_ids(prompt_token_ids, "prompt_token_ids")
        if cache_salt is not None:
            encode_text("cache_salt", cache_salt)
        if lora_name is not None:
            encode_text("lora_name", lora_name)
        self.request_id = request_id
        self.cache_salt = cache_salt
        self.lora_name = lora_name
        self.mm_features = _checked_features(mm_features or (), 0, len(prompt_token_ids))
        self.prompt_embeds = _checked_embeds(prompt_embeds or {}, 0, len(prompt_token_ids))
        self.num_computed_tokens = 0
        self.num_in_flight_tokens = 0
        self.shared_prefix_boundary = 0
        self.skip_reading_prefix_cache = False
        self.status = RequestStatus.WAITING
        self.block_hashes: list[BlockHash] = []
        self._num_prompt_tokens = len(prompt_token_ids)
        self._tokens = list(prompt_token_ids)
        self._block_hasher = block_hasher
        self._hash_full_units()

    @property
    def num_tokens(self) -> int:
        """Number of prompt and output tokens."""
        return len(self._tokens)

    @property
    def num_prompt_tokens(self) -> int:
        """Number of prompt tokens."""
        return self._num_prompt_tokens

    @property
    def all_token_ids(self) -> TokenView:
        """The prompt's tokens, then the output's: a view that cannot be written."""
        return TokenView(self._tokens)

    def append_output_token_ids(self, token_ids: int | Sequence[int]) -> None:
        """Append one output token or several, then the hashes of the units that became full.

        ValueError for a token outside int64. After any error, the hasher's own included, nothing has changed.
        """
        new_tokens = (token_ids,) if isinstance(token_ids, int) else token_ids
        encode_token_ids(new_tokens)
        num_tokens_before = len(self._tokens)
        self._tokens.extend(new_tokens)
        try:
            self._hash_full_units()
        except Exception:
            del self._tokens[num_tokens_before:]
            raise

    def continue_prompt(
        self,
        position: int,
        token_ids: Sequence[int],
        *,
        mm_features: Sequence[MultiModalFeature] = (),
        prompt_embeds: Mapping[int, Bytes] | None = None,
    ) -> None:
        """Replace the output from `position` on by more prompt; the output before it is prompt from now on.

        So a session goes on after an answer, whose last token was sampled but never computed. Only output
        that is not computed can be replaced. `mm_features` and `prompt_embeds` are of the new part, with
        positions in the whole prompt. The hashes of units that held a replaced token are made again (clause
        Hash/names_the_prefix). The manager is not told: it sees the request at its next call.

        ValueError for a position before the prompt's end, inside what is computed or past the last token, for
        no token or one outside int64, and for items and embeddings that do not lie inside the new part;
        TypeError for an embedding that is not bytes. After any error, the hasher's own included, nothing has
        changed.
        """
        least = max(self._num_prompt_tokens, min(self.num_computed_tokens, self.num_tokens))
        if not least <= position <= self.num_tokens:
            raise ValueError(
                f"position is {position}: from {least}, where the prompt and what is computed end, to the "
                f"{self.num_tokens} tokens of request {self.request_id!r}"
            )
        if len(token_ids) == 0:
            raise ValueError(
                f"token_ids is empty: request {self.request_id!r} goes on with at least one token"
            )
        encode_token_ids(token_ids)
        end = position + len(token_ids)
        new_features = _checked_features(mm_features, position, end, self.mm_features)
        new_embeds = _checked_embeds(prompt_embeds or {}, position, end)
        before = self._num_prompt_tokens, self.mm_features, self.prompt_embeds
        # A unit has at most num_tokens / number of hashes tokens: so many end at `position` or before.
        num_kept = position * len(self.block_hashes) // self.num_tokens
        tokens, hashes = self._tokens[position:], self.block_hashes[num_kept:]
        self._tokens[position:], self.block_hashes[num_kept:] = token_ids, ()
        self._num_prompt_tokens, self.mm_features = end, new_features
        self.prompt_embeds = {**self.prompt_embeds, **new_embeds}
        try:
            self._hash_full_units()
        except Exception:
            self._tokens[position:], self.block_hashes[num_kept:] = tokens, hashes
            self._num_prompt_tokens, self.mm_features, self.prompt_embeds = before
            raise

    def _hash_full_units(self) -> None:
        if self._block_hasher is None:
            return
        new = self._block_hasher(self)
        lengths = {len(digest) for digest in (*self.block_hashes[:1], *new)}
        if len(lengths) > 1:
            raise ValueError(f"block_hasher answers digests of {sorted(lengths)} bytes: all have one length")
        self.block_hashes += new

    def __repr__(self) -> str:
        num_output_tokens = self.num_tokens - self.num_prompt_tokens
        return f"Request({self.request_id!r}, {self.num_prompt_tokens} + {num_output_tokens} tokens)"


@contextmanager
def appended(requests: Sequence[Request], token_ids: Sequence[int | Sequence[int]] | None) -> Iterator[None]:
    """Append output tokens to each request, none without ``token_ids``.

    After any error, also one in the body of the ``with``, nothing has been appended.
    """
    before = [(len(request._tokens), len(request.block_hashes)) for request in requests]
    try:
        for request, tokens in zip(requests, token_ids or [()] * len(requests), strict=True):
            request.append_output_token_ids(tokens)
        yield
    except BaseException:
        for request, (num_tokens, num_hashes) in zip(requests, before, strict=True):
            del request._tokens[num_tokens:], request.block_hashes[num_hashes:]
        raise


def _checked_features(
    new: Sequence[MultiModalFeature], start: int, end: int, known: Sequence[MultiModalFeature] = ()
) -> tuple[MultiModalFeature, ...]:
    """The items known, then the new ones, which lie inside the prompt tokens ``start`` to ``end``."""
    lengths = {item.identifier: item.length for item in known}
    for item in new:
        if item.offset < start or item.offset + item.length > end:
            begin = f"begin at {start} or later and " if start else ""
            raise ValueError(f"mm_features has {item}: it must {begin}end within the {end} prompt tokens")
        if lengths.setdefault(item.identifier, item.length) != item.length:
            raise ValueError(
                f"mm_features has {item}: the identifier has length {lengths[item.identifier]} elsewhere"
            )
    return (*known, *new)


def _checked_embeds(new: Mapping[int, Bytes], start: int, end: int) -> Mapping[int, bytes]:
    for position, embedding in new.items():
        if not isinstance(position, int) or not start <= position < end:
            raise ValueError(
                f"prompt_embeds has position {position!r}: it must be one of the prompt's, "
                f"from {start} to {end - 1}"
            )
        if not isinstance(embedding, Bytes):
            raise TypeError(f"prompt_embeds has {type(embedding).__name__} at {position}: it must be bytes")
    return {position: bytes(embedding) for position, embedding in new.items()}
