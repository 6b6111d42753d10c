"""What a request may claim when it is admitted. Blocks have 4 tokens."""

from itertools import product

from pagedkv.spec.clauses import allocation
from pagedkv.spec.rules.admission import admission_cap, watermark_blocks

from .contract import Contract


def windows_hold_no_more_than_they_claim(
    begin: int, end: int, reach: int, in_flight: int, longest: int
) -> None:
    """``begin`` to ``end`` are the positions that a window and what is in flight cover, wherever they lie."""
    assert 0 <= begin < end <= longest and reach >= 1 and in_flight >= 1
    assert end - begin < reach + in_flight
    claim = admission_cap("window", reach, in_flight, longest, 4)
    assert claim is not None and end <= 4 * (begin // 4 + claim), f"{claim}"


def chunks_hold_no_more_than_they_claim(
    begin: int, end: int, reach: int, in_flight: int, longest: int
) -> None:
    """The same of chunks of whole blocks, which begin with a block."""
    assert 0 <= begin < end <= longest and reach >= 1 and in_flight >= 1
    assert end - begin <= reach + in_flight and begin % 4 == 0
    claim = admission_cap("chunk", reach, in_flight, longest, 4)
    assert claim is not None and end <= begin + 4 * claim, f"{claim}"


def windows_claim_one_block_more_than_their_tokens_fill(
    span: int, reach: int, in_flight: int, longest: int
) -> None:
    """``span`` is what a window and what is in flight cover, at most all that a request can have."""
    assert reach >= 1 and in_flight >= 1 and longest >= 1
    assert span <= longest and span <= reach - 1 + in_flight and span in (longest, reach - 1 + in_flight)
    claim = admission_cap("window", reach, in_flight, longest, 4)
    assert claim is not None and 4 * (claim - 2) < span <= 4 * (claim - 1), f"{claim}"


def chunks_claim_what_their_tokens_fill(span: int, reach: int, in_flight: int, longest: int) -> None:
    """The same of chunks."""
    assert reach >= 1 and in_flight >= 1 and longest >= 1
    assert span <= longest and span <= reach + in_flight and span in (longest, reach + in_flight)
    claim = admission_cap("chunk", reach, in_flight, longest, 4)
    assert claim is not None and 4 * (claim - 1) < span <= 4 * claim, f"{claim}"


def others_claim_all_their_tokens(in_flight: int, longest: int) -> None:
    """Of full attention nothing is let go; of states few blocks are taken anyway."""
    assert in_flight >= 1 and longest >= 1
    claims = [
        admission_cap("prefix", 0, in_flight, longest, 4),
        admission_cap("state", 0, in_flight, longest, 4),
    ]
    assert claims == [None, None], f"{claims}"


def watermark_is_its_share_rounded_down(num_blocks: int) -> None:
    """Three eighths of the pool."""
    assert num_blocks >= 1
    kept = watermark_blocks(0.375, num_blocks)
    assert 8 * kept <= 3 * num_blocks < 8 * kept + 8, f"{kept}"


def watermark_of_nothing_is_none(num_blocks: int) -> None:
    """A pool without a watermark."""
    assert num_blocks >= 1
    kept = watermark_blocks(0.0, num_blocks)
    assert kept == 0, f"{kept}"


_SPANS = (allocation.WHOLE_SEQUENCE_FITS,)

CONTRACTS = (
    Contract(
        windows_hold_no_more_than_they_claim,
        admission_cap,
        _SPANS,
        lambda: product(range(8), range(1, 16), (1, 2, 4, 5, 8), (1, 3, 4), (5, 15)),
    ),
    Contract(
        chunks_hold_no_more_than_they_claim,
        admission_cap,
        _SPANS,
        lambda: product(range(0, 9, 4), range(1, 20), (1, 2, 4, 5, 8), (1, 3, 4), (5, 20)),
    ),
    *(
        Contract(
            check,
            admission_cap,
            _SPANS,
            lambda: product(range(1, 14), range(1, 9), range(1, 6), (1, 5, 8, 30)),
        )
        for check in (
            windows_claim_one_block_more_than_their_tokens_fill,
            chunks_claim_what_their_tokens_fill,
        )
    ),
    Contract(
        others_claim_all_their_tokens,
        admission_cap,
        _SPANS,
        lambda: product(range(1, 9), range(1, 20)),
    ),
    *(
        Contract(
            check,
            watermark_blocks,
            (allocation.WATERMARK,),
            lambda: ((num_blocks,) for num_blocks in range(1, 50)),
            searched,
        )
        for check, searched in (
            (watermark_is_its_share_rounded_down, "a fraction is reduced by as many divisions as it takes"),
            (watermark_of_nothing_is_none, ""),
        )
    ),
)
