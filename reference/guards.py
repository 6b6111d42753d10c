"""What an operation refuses before it changes anything."""

from collections.abc import Sequence

from pagedkv.spec import Request, require
from pagedkv.spec.blocks import KVCacheBlock
from pagedkv.spec.clauses import allocation
from pagedkv.spec.rules.sizes import blocks_for

from .single_type import SingleTypeKVCacheManager


def require_fitting_hit(
    managers: Sequence[SingleTypeKVCacheManager],
    is_first: bool,
    request: Request,
    length: int,
    rows: tuple[Sequence[KVCacheBlock], ...],
) -> None:
    """Refuse a hit of ``length`` tokens in ``rows`` that the request cannot take."""
    widths = [blocks_for(length, manager.block_size) for manager in managers]
    read = [row[manager.num_skipped(length) :] for row, manager in zip(rows, managers, strict=True)]
    covers = [len(row) for row in rows] == widths and not any(block.is_null for row in read for block in row)
    is_due = length == 0 or (is_first and request.num_computed_tokens == 0)
    require(
        covers and length >= 0 and is_due,
        allocation.FITS_THE_HIT,
        f"request {request.request_id!r} takes {length} tokens in {[len(row) for row in rows]} blocks per "
        f"group, {request.num_computed_tokens} are computed, it {'has no' if is_first else 'has a'} table",
    )
