"""Faults of what is kept at intervals and boundaries, and for prompts sent again."""

from functools import partial

from pagedkv.conformance.proofs.contracts import retention

from .fault import planted

_in_caching = partial(planted, "caching.py")

_RESENT = "floor_to(max(0, num_prompt_tokens - 1 - margin), alignment)"

FAULTS = (
    _in_caching(
        "interval-ignored",
        "All hits are meant to be found, whatever the interval.",
        "    every = (alignment if retention is None else retention) // block_size\n    if every",
        "    every = alignment // block_size\n    if every",
        (retention.interval_keeps_no_more, retention.states_are_kept_at_ends_of_intervals),
    ),
    _in_caching(
        "interval-keeps-nothing",
        "With an interval only boundaries count.",
        "if every and (",
        "if retention is None and (",
        (retention.interval_keeps_what_its_hits_use, retention.others_keep_everything_with_an_interval),
    ),
    _in_caching(
        "others-thinned-by-an-interval",
        "An interval is for all kinds.",
        'if reads in ("prefix", "chunk") or (',
        'if (reads in ("prefix", "chunk") and retention is None) or (',
        (retention.others_keep_everything_with_an_interval, retention.others_keep_all),
    ),
    _in_caching(
        "two-states-read",
        "A hit is taken to read two states.",
        'read = 1 if reads == "state"',
        'read = 2 if reads == "state"',
        (
            retention.states_are_kept_at_ends_of_intervals,
            retention.states_are_kept_at_boundaries,
        ),
    ),
    _in_caching(
        "states-given-up",
        "A draft model is taken to read states.",
        'int(is_eagle and reads == "window")',
        "int(is_eagle)",
        (retention.states_are_kept_at_ends_of_intervals, retention.states_are_kept_at_boundaries),
    ),
    _in_caching(
        "boundary-not-rounded",
        "A boundary counts where it lies, not where a hit ends before it.",
        "[floor_to(boundary, alignment) for boundary in boundaries]",
        "[*boundaries]",
        (retention.boundary_keeps_what_its_hit_uses,),
    ),
    _in_caching(
        "boundary-of-no-hit",
        "The block that EAGLE gives up of an empty hit is kept.",
        " for length in lengths if length > 0]",
        " for length in lengths]",
        (retention.boundary_keeps_what_its_hit_uses,),
    ),
    _in_caching(
        "boundary-tail-one-block-short",
        "The first block that a hit at a boundary reads is not kept.",
        "end - read <= i < end",
        "end - read < i < end",
        (retention.boundary_keeps_what_its_hit_uses, retention.states_are_kept_at_boundaries),
    ),
    _in_caching(
        "first-boundary-only",
        "Only the prompt's own boundary is kept.",
        "for end in ends)",
        "for end in ends[:1])",
        (retention.either_boundary_is_enough,),
    ),
    _in_caching(
        "all-is-some",
        "One kept block is taken for all.",
        "return all(is_kept(",
        "return any(is_kept(",
        (
            retention.windows_keep_all_where_hits_leave_none_out,
            retention.with_boundaries_only_not_all_is_kept,
        ),
    ),
    _in_caching(
        "all-without-the-interval",
        "Whether all are kept is judged by all hits.",
        "reach, alignment, is_eagle, retention) for i in range(every + 1))",
        "reach, alignment, is_eagle) for i in range(every + 1))",
        (
            retention.windows_keep_all_where_hits_leave_none_out,
            retention.with_boundaries_only_not_all_is_kept,
        ),
    ),
    _in_caching(
        "resent-last-token-hit",
        "The last token is taken for one that can be hit.",
        _RESENT,
        "floor_to(max(0, num_prompt_tokens - margin), alignment)",
        (retention.prompt_sent_again_hits_the_longest_length, retention.short_prompt_sent_again_hits_nothing),
    ),
    _in_caching(
        "resent-without-the-margin",
        "What a draft model gives up is taken for hit.",
        _RESENT,
        "floor_to(max(0, num_prompt_tokens - 1), alignment)",
        (retention.prompt_sent_again_hits_the_longest_length, retention.short_prompt_sent_again_hits_nothing),
    ),
    _in_caching(
        "resent-before-the-start",
        "A short prompt has a negative length.",
        _RESENT,
        "floor_to(num_prompt_tokens - 1 - margin, alignment)",
        (retention.short_prompt_sent_again_hits_nothing,),
    ),
)
