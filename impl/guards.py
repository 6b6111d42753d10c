"""What an operation refuses before it changes anything."""

from collections.abc import Sequence
from typing import NamedTuple

from pagedkv.spec import Request, ValuePreconditionError, require
from pagedkv.spec.blocks import KVCacheBlock
from pagedkv.spec.clauses import allocation
from pagedkv.spec.deployment import check_hashes, check_progress, check_whole
from pagedkv.spec.hashing import encode_token_ids

from .digests import check_digests
from .layout import NOBODY
from .pool import BlockPool
from .single_type import SingleTypeKVCacheManager


class Counts(NamedTuple):
    """How much a call asks for: tokens, and blocks that stay free."""

    num_new_tokens: int
    num_new_computed_tokens: int = 0
    num_external_computed_tokens: int = 0
    num_lookahead_tokens: int = 0
    reserved_blocks: int = 0
    num_encoder_tokens: int = 0


def check_counts(request: Request, counts: Counts, max_model_len: int) -> tuple[int, int, int]:
    """Where the request goes on, where its new tokens begin and where they end.

    Refuses a call that asks for nothing, for less than nothing, or for more than a request can have.
    """
    check_progress(request)
    check_whole(allocation.ASKS_FOR_SOMETHING, 0, **counts._asdict())
    given = ", ".join(f"{name} is {value}" for name, value in counts._asdict().items())
    num_new, hit, num_external = counts[:3]
    local = request.num_computed_tokens + hit
    start = local + num_external
    require(
        num_new + num_external > 0 and num_new <= max_model_len - start,
        allocation.ASKS_FOR_SOMETHING,
        f"{given}, after {request.num_computed_tokens} tokens, max_model_len is {max_model_len}",
        ValuePreconditionError,
    )
    require(
        not num_external or start < request.num_tokens,
        allocation.LOAD_LEAVES_A_TOKEN,
        f"{given}, after {local} tokens of request {request.request_id!r}, which has {request.num_tokens}",
    )
    return local, start, start + num_new


def check_names(pool: BlockPool, request: Request) -> None:
    """Refuse hashes that are not those of the request's units, or too long for the index."""
    check_hashes(request, pool.hash_block_size)
    # The digests of a request have one length; to look at all would take as long as the prompt.
    check_digests(request.block_hashes[-1:])


def check_hit(
    managers: Sequence[SingleTypeKVCacheManager],
    request: Request,
    counts: Counts,
    rows: Sequence[Sequence[KVCacheBlock]],
) -> None:
    """Refuse a hit, or a load after it, that does not fill its rows or that the request has no use for."""
    hit, loads = counts.num_new_computed_tokens, counts.num_external_computed_tokens > 0
    require(
        len(rows) == len(managers),
        allocation.FITS_THE_HIT,
        f"new_computed_blocks has {len(rows)} groups, there are {len(managers)}",
    )
    start = request.num_computed_tokens + hit + counts.num_external_computed_tokens
    fits = all(_fits(manager, hit, start, loads, row) for manager, row in zip(managers, rows, strict=True))
    require(
        fits and _is_due(managers, request, hit > 0 or loads),
        allocation.FITS_THE_HIT,
        lambda: (
            f"request {request.request_id!r} takes {hit} tokens in {[len(row) for row in rows]} blocks per "
            f"group and {counts.num_external_computed_tokens} external ones, {_standing(managers, request)}"
        ),
    )


def row_with_places(
    managers: Sequence[SingleTypeKVCacheManager], request: Request, num_computed_tokens: int
) -> int:
    """The request's row. Refuses more computed tokens than that has places for, and a request without one."""
    check_progress(request)
    check_whole(allocation.COVERS_THE_TOKENS, 0, num_computed_tokens=num_computed_tokens)
    row = managers[0].ledger.rows.get(request.request_id, NOBODY)
    widths = [0 if row == NOBODY else int(manager.tables.length[row]) for manager in managers]
    places = min(width * manager.block_size for width, manager in zip(widths, managers, strict=True))
    require(
        row != NOBODY and num_computed_tokens <= places,
        allocation.COVERS_THE_TOKENS,
        f"num_computed_tokens is {num_computed_tokens}, request {request.request_id!r} has {widths} blocks "
        f"per group",
    )
    return row


def checked_batch(
    managers: Sequence[SingleTypeKVCacheManager],
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
    early = [request for request in requests if not _is_due(managers, request, False)]
    require(
        not early,
        allocation.FITS_THE_HIT,
        lambda: f"request {early[0].request_id!r} takes no hit, {_standing(managers, early[0])}",
    )
    for tokens in new_token_ids or ():
        encode_token_ids([tokens] if isinstance(tokens, int) else tokens)
    return [
        check_counts(r, Counts(count), max_model_len)[1] for r, count in zip(requests, counts, strict=True)
    ]


def _is_due(managers: Sequence[SingleTypeKVCacheManager], request: Request, takes_hit: bool) -> bool:
    """Whether the request's call comes when it may.

    Before the first one nothing is computed, and after it no hit is taken any more.
    """
    has_table = request.request_id in managers[0].ledger.rows
    return not takes_hit if has_table else not request.num_computed_tokens


def _standing(managers: Sequence[SingleTypeKVCacheManager], request: Request) -> str:
    has_table = request.request_id in managers[0].ledger.rows
    return f"{request.num_computed_tokens} are computed, it {'has a' if has_table else 'has no'} table"


def _fits(
    manager: SingleTypeKVCacheManager, hit: int, start: int, loads: bool, row: Sequence[KVCacheBlock]
) -> bool:
    """Whether a row has what a hit has, and no gap that the step from ``start`` on reads.

    A load begins with blocks, and brings the state that the request goes on from.
    """
    lacking = hit - len(row) * manager.block_size
    may_lack = loads and not manager.keeps_keys
    is_wide = -manager.block_size < lacking and (lacking <= 0 or may_lack)
    first = manager.get_num_skipped_tokens(start) // manager.block_size
    has_gap = any(block.is_null for block in row[first:])
    is_wide &= manager.takes_hits or not hit
    return is_wide and not has_gap and not (loads and hit % manager.block_size)
