"""Faults of what a request may claim when it is admitted."""

from functools import partial

from pagedkv.conformance.proofs.contracts import claims

from .fault import planted

_in_admission = partial(planted, "admission.py")

_WATERMARK = "int(Fraction(watermark) * num_blocks)"

FAULTS = (
    _in_admission(
        "window-claim-without-flight",
        "What is in flight is not counted.",
        "reach - 1 + max_in_flight_tokens",
        "reach - 1",
        (
            claims.windows_hold_no_more_than_they_claim,
            claims.windows_claim_one_block_more_than_their_tokens_fill,
        ),
    ),
    _in_admission(
        "window-claim-from-a-block",
        "A window is taken to begin with a block.",
        "max_model_len), block_size) + 1",
        "max_model_len), block_size)",
        (claims.windows_hold_no_more_than_they_claim,),
    ),
    _in_admission(
        "window-claim-past-the-model",
        "More is claimed than the model's length.",
        "min(reach - 1 + max_in_flight_tokens, max_model_len)",
        "reach - 1 + max_in_flight_tokens",
        (claims.windows_claim_one_block_more_than_their_tokens_fill,),
    ),
    _in_admission(
        "chunk-claim-one-token-short",
        "A chunk is counted without its last token.",
        "reach + max_in_flight_tokens",
        "reach - 1 + max_in_flight_tokens",
        (claims.chunks_hold_no_more_than_they_claim, claims.chunks_claim_what_their_tokens_fill),
    ),
    _in_admission(
        "all-claim-as-chunks",
        "Full attention and states are taken to let go.",
        'case "chunk":',
        "case _:",
        (claims.others_claim_all_their_tokens,),
    ),
    _in_admission(
        "watermark-rounded-up",
        "The watermark is rounded up.",
        _WATERMARK,
        "-int(-Fraction(watermark) * num_blocks // 1)",
        (claims.watermark_is_its_share_rounded_down,),
    ),
    _in_admission(
        "watermark-at-least-one",
        "A block stays free without a watermark.",
        _WATERMARK,
        f"max(1, {_WATERMARK})",
        (claims.watermark_of_nothing_is_none,),
    ),
)
