"""What an operation refuses before it changes anything."""

from collections.abc import Sequence

from pagedkv.spec import Request, ValuePreconditionError, require
from pagedkv.spec.blocks import KVCacheBlock
from pagedkv.spec.clauses import allocation
from pagedkv.spec.rules.sizes import blocks_for

from .call import Call
from .single_type import SingleTypeKVCacheManager


def require_numbers(
    call: Call, request: Request, max_model_len: int, num_lookahead_tokens: int, reserved_blocks: int
) -> None:
    """Refuse a call that asks for nothing, for less than nothing, or past the model's length."""
    num_new, num_external = call.end - call.start, call.start - call.local
    require(
        min(num_new, num_external, num_lookahead_tokens, reserved_blocks, call.encoder) >= 0
        and num_new + num_external > 0
        and call.end <= max_model_len,
        allocation.ASKS_FOR_SOMETHING,
        f"num_new_tokens is {num_new}, num_external_computed_tokens {num_external}, num_lookahead_tokens "
        f"{num_lookahead_tokens}, reserved_blocks {reserved_blocks}, num_encoder_tokens {call.encoder}, "
        f"after {call.local} tokens; max_model_len is {max_model_len}",
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
    covers = call.hit >= 0 and len(rows) == len(managers)
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
    is_due = not (call.hit or is_loaded) or (call.is_first and request.num_computed_tokens == 0)
    require(
        covers and is_due,
        allocation.FITS_THE_HIT,
        f"request {request.request_id!r} takes {call.hit} tokens in {[len(row) for row in rows]} blocks per "
        f"group and {call.start - call.local} external ones, {request.num_computed_tokens} are computed, it "
        f"{'has no' if call.is_first else 'has a'} table",
    )
