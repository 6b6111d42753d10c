"""The hashes of units, from the seed on."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from .encoding import HashTriple
from .extra_keys import ExtraKey, get_extra_keys
from .functions import HashFunction
from .index_keys import BlockHash

if TYPE_CHECKING:  # requests imports this package
    from pagedkv.spec.requests import Request

_none_hash: BlockHash | None = None


def init_none_hash(hash_fn: HashFunction, seed: str | None = None) -> None:
    """Fix the seed, the parent of every first unit, for the whole process; call it once at start-up.

    The seed is the hash of a triple without tokens, which no unit has. Its parent is `seed`, for runs that
    must be the same everywhere (whoever knows it can prepare collisions); without it the text of
    PYTHONHASHSEED, or 32 random bytes where Python itself would draw a seed: when that is unset, empty or
    "random". Calling it again replaces the seed: hashes made before and after then have nothing in common.
    """
    global _none_hash
    text = os.environ.get("PYTHONHASHSEED", "") if seed is None else seed
    is_random = seed is None and text in ("", "random")
    parent = os.urandom(32) if is_random else os.fsencode(text)
    _none_hash = BlockHash(hash_fn(HashTriple(parent, (), None)))


def get_none_hash() -> BlockHash:
    """Return the parent of every first unit. RuntimeError before `init_none_hash`."""
    if _none_hash is None:
        raise RuntimeError("the seed of the hashes is not fixed yet: call init_none_hash(hash_fn) first")
    return _none_hash


def hash_block_tokens(
    hash_fn: HashFunction,
    parent_block_hash: BlockHash | None,
    token_ids: Sequence[int],
    extra_keys: tuple[ExtraKey, ...] | None = None,
) -> BlockHash:
    """Return the hash of one unit (clause Hash/names_the_prefix); changes nothing.

    `parent_block_hash` is the hash of the unit before, None for the first unit. No extra keys are None or ().
    ValueError for no tokens or a token outside int64; RuntimeError when the seed is needed and not fixed yet.
    """
    if not token_ids:
        raise ValueError("token_ids is empty: a unit has at least one token")
    parent = get_none_hash() if parent_block_hash is None else parent_block_hash
    return BlockHash(hash_fn(HashTriple(parent, tuple(token_ids), extra_keys or None)))


def get_request_block_hasher(unit: int, hash_fn: HashFunction) -> Callable[[Request], list[BlockHash]]:
    """Return a function that gives the hashes of the units that became full since `request.block_hashes`.

    That function changes nothing: its caller appends what it returns. Whether prompt or output filled a unit
    makes no difference to its hash. ValueError unless `unit` (tokens) is a positive integer.
    """
    if not isinstance(unit, int) or isinstance(unit, bool) or unit <= 0:
        raise ValueError(f"unit is {unit!r}: it must be a positive number of tokens")

    def hash_new_full_units(request: Request) -> list[BlockHash]:
        token_ids = request.all_token_ids
        known = request.block_hashes
        parent = known[-1] if known else None
        new_hashes = []
        for start in range(len(known) * unit, len(token_ids) - unit + 1, unit):
            end = start + unit
            parent = hash_block_tokens(
                hash_fn, parent, token_ids[start:end], get_extra_keys(request, start, end)
            )
            new_hashes.append(parent)
        return new_hashes

    return hash_new_full_units
