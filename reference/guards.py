"""What an operation refuses before it changes anything."""

from collections.abc import Sequence

from pagedkv.spec import Request, ValuePreconditionError, require
from pagedkv.spec.blocks import KVCacheBlock
from pagedkv.spec.clauses import allocation
from pagedkv.spec.rules.sizes import blocks_for

from .call import Call
from .single_type import SingleTypeKVCacheManager


def require_numbers(call: Call, request: Request, max_model_len: int) -> None:
    """Refuse a call that asks for nothing, or past the model's length."""
    num_new, num_external = call.end - call.start, call.start - call.local
    require(
        num_new + num_external > 0 and call.end <= max_model_len,
        allocation.ASKS_FOR_SOMETHING,
        f"num_new_tokens is {num_new}, num_external_computed_tokens {num_external}, after {call.local} "
        f"tokens; max_model_len is {max_model_len}",
        ValuePreconditionError,
    )
    require(
        num_external == 0 or call.start < request.num_tokens,
        allocation.LOAD_LEAVES_A_TOKEN,
        f"request {request.request_id!r} has {request.num_tokens} tokens, {call.local} and "
        f"{num_external} external ones are computed",
    )


def require_fitting_hit(
    managers: Sequence[SingleTypeKVCacheManager],
    call: Call,
    request: Request,
    rows: tuple[Sequence[KVCacheBlock], ...],
) -> None:
    """Refuse a hit in ``rows``, or what others have computed, that the request cannot take."""
    is_loaded = call.start > call.local
    covers = len(rows) == len(managers)
    for row, manager in zip(rows, managers, strict=covers):
        covers &= manager.takes_hits or not call.hit
        width = blocks_for(call.hit, manager.block_size)
        read = row[manager.num_skipped(call.start) :]
        covers &= not any(block.is_null for block in read)
        if is_loaded:
            # Loads begin with blocks; the state that the request goes on from is loaded.
            covers &= call.hit % manager.block_size == 0
            covers &= len(row) <= width if manager.reads == "state" else len(row) == width
        else:
            covers &= len(row) == width
    is_due = request.num_computed_tokens == 0 if call.is_first else not (call.hit or is_loaded)
    require(
        covers and is_due,
        allocation.FITS_THE_HIT,
        f"request {request.request_id!r} takes {call.hit} tokens in {[len(row) for row in rows]} blocks per "
        f"group and {call.start - call.local} external ones, {request.num_computed_tokens} are computed, it "
        f"{'has no' if call.is_first else 'has a'} table",
    )


def require_places(
    managers: Sequence[SingleTypeKVCacheManager], request_id: str, num_computed_tokens: int
) -> None:
    """Refuse more computed tokens than the request's tables have places for."""
    widths = [len(manager.rows.get(request_id, ())) for manager in managers]
    require(
        all(
            request_id in manager.rows and blocks_for(num_computed_tokens, manager.block_size) <= width
            for manager, width in zip(managers, widths, strict=True)
        ),
        allocation.COVERS_THE_TOKENS,
        f"num_computed_tokens is {num_computed_tokens}, request {request_id!r} has {widths} blocks per group",
    )
