"""What an operation refuses before it changes anything."""

from collections.abc import Sequence

from pagedkv.spec import Request, ValuePreconditionError, require
from pagedkv.spec.blocks import KVCacheBlock
from pagedkv.spec.clauses import allocation
from pagedkv.spec.deployment import check_hashes
from pagedkv.spec.hashing import encode_token_ids

from .keys import check_digests
from .pool import BlockPool
from .single_type import SingleTypeKVCacheManager


def checked_start(request: Request, num_new_tokens: int, hit: int, max_model_len: int) -> int:
    """Where the new tokens begin. Refuses none, and more than a request can have."""
    require(
        isinstance(num_new_tokens, int) and isinstance(hit, int),
        allocation.ASKS_FOR_SOMETHING,
        f"num_new_tokens is {num_new_tokens!r}, num_new_computed_tokens is {hit!r}: both are whole numbers",
        ValuePreconditionError,
    )
    start = request.num_computed_tokens + hit
    require(
        0 < num_new_tokens <= max_model_len - start,
        allocation.ASKS_FOR_SOMETHING,
        f"num_new_tokens is {num_new_tokens} after {start} tokens, max_model_len is {max_model_len}",
        ValuePreconditionError,
    )
    return start


def check_names(pool: BlockPool, request: Request) -> None:
    """Refuse hashes that are not those of the request's units, or too long for the index."""
    check_hashes(request, pool.hash_block_size)
    # A hash function gives digests of one length; to look at all would take as long as the prompt.
    check_digests(request.block_hashes[-1:])


def check_hit(
    managers: Sequence[SingleTypeKVCacheManager],
    request: Request,
    hit: int,
    rows: Sequence[Sequence[KVCacheBlock]],
) -> None:
    """Refuse a hit that does not fill its rows, or that the request has no use for any more."""
    has_table = request.request_id in managers[0].ledger.rows
    require(
        len(rows) == len(managers),
        allocation.FITS_THE_HIT,
        f"new_computed_blocks has {len(rows)} groups, there are {len(managers)}",
    )
    excess = [len(row) * manager.block_size - hit for row, manager in zip(rows, managers, strict=True)]
    fills = all(0 <= e < manager.block_size for e, manager in zip(excess, managers, strict=True))
    is_whole = not any(_has_gap(manager, hit, row) for row, manager in zip(rows, managers, strict=True))
    is_due = not hit or not (has_table or request.num_computed_tokens)
    require(
        hit >= 0 and fills and is_whole and is_due,
        allocation.FITS_THE_HIT,
        f"request {request.request_id!r} takes {hit} tokens in {[len(row) for row in rows]} blocks per "
        f"group, {request.num_computed_tokens} are computed, it {'has a' if has_table else 'has no'} table",
    )


def checked_batch(
    requests: Sequence[Request],
    counts: Sequence[int],
    new_token_ids: Sequence[int | Sequence[int]] | None,
    max_model_len: int,
) -> list[int]:
    """Where the new tokens of each request begin. Refuses what would be refused of any of them."""
    appended = counts if new_token_ids is None else new_token_ids
    for name, given in (("num_new_tokens", counts), ("new_token_ids", appended)):
        require(
            len(given) == len(requests),
            allocation.ASKS_FOR_SOMETHING,
            f"{name} has {len(given)} values for {len(requests)} requests",
            ValuePreconditionError,
        )
    for tokens in new_token_ids or ():
        encode_token_ids([tokens] if isinstance(tokens, int) else tokens)
    return [checked_start(r, count, 0, max_model_len) for r, count in zip(requests, counts, strict=True)]


def _has_gap(manager: SingleTypeKVCacheManager, hit: int, row: Sequence[KVCacheBlock]) -> bool:
    """Whether a block lacks that the step after the hit reads."""
    first = manager.get_num_skipped_tokens(hit) // manager.block_size
    return any(block.is_null for block in row[first:])
