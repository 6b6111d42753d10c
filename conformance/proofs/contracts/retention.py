"""With a retention interval keys go where hits are meant to be found, and no further.

Blocks have 4 tokens, hits end on multiples of 12 where nothing else is said.
"""

from itertools import product

from pagedkv.spec.clauses import allocation
from pagedkv.spec.rules.caching import is_kept, keeps_all, resend_length

from .answers import is_used
from .contract import Contract


def interval_keeps_what_its_hits_use(i: int, length: int, reach: int, is_eagle: bool) -> None:
    """Windows, with an interval of 24 tokens."""
    assert i >= 0 and length > 0 and length % 24 == 0 and reach >= 1
    kept = is_kept("window", i, 4, reach, 12, is_eagle, 24, ())
    assert kept or not is_used(i, length, reach, is_eagle, 4)


def interval_keeps_no_more(i: int, after: int, reach: int, is_eagle: bool) -> None:
    """``after`` is the first end of an interval behind what precedes block ``i``; no window reaches another.

    Longer hits use no block before it that it does not use.
    """
    assert i >= 0 and after % 24 == 0 and after - 24 <= 4 * i < after and 1 <= reach <= 17
    kept = is_kept("window", i, 4, reach, 12, is_eagle, 24, ())
    assert kept == any(is_used(i, length, reach, is_eagle, 4) for length in (after - 24, after)), f"{kept}"


def boundary_keeps_what_its_hit_uses(i: int, boundary: int, length: int, reach: int, is_eagle: bool) -> None:
    """``length`` is the longest that a hit within ``boundary`` can have; without an end of an interval."""
    assert i >= 0 and boundary >= 0 and reach >= 1
    assert length % 12 == 0 and length <= boundary < length + 12
    kept = is_kept("window", i, 4, reach, 12, is_eagle, 0, (boundary,))
    assert kept == is_used(i, length, reach, is_eagle, 4), f"{kept}"


def either_boundary_is_enough(i: int, boundary: int, other: int, reach: int, is_eagle: bool) -> None:
    """What one of two boundaries keeps, and no more."""
    assert i >= 0 and boundary >= 0 and other >= 0 and reach >= 1
    both = is_kept("window", i, 4, reach, 12, is_eagle, 0, (boundary, other))
    alone = [is_kept("window", i, 4, reach, 12, is_eagle, 0, (b,)) for b in (boundary, other)]
    assert both == any(alone), f"{both}"


def states_are_kept_at_ends_of_intervals(i: int, is_eagle: bool) -> None:
    """A state is that of the end of its block. Draft models read none."""
    assert i >= 0
    kept = is_kept("state", i, 4, 0, 4, is_eagle, 12, ())
    assert kept == ((4 * i + 4) % 12 == 0), f"{kept}"


def states_are_kept_at_boundaries(i: int, boundary: int, is_eagle: bool) -> None:
    """Hits by units of 2 tokens: the last state that is not behind the boundary."""
    assert i >= 0 and boundary >= 0
    kept = is_kept("state", i, 4, 0, 2, is_eagle, 0, (boundary,))
    assert kept == (4 * i + 4 <= boundary < 4 * i + 8), f"{kept}"


def others_keep_everything_with_an_interval(i: int, boundary: int, reach: int, is_eagle: bool) -> None:
    """Full attention and chunks, and states with an interval of a block."""
    assert i >= 0 and boundary >= 0 and reach >= 1
    kept = [
        is_kept("prefix", i, 4, 0, 12, is_eagle, 0, (boundary,)),
        is_kept("chunk", i, 4, reach, 12, is_eagle, 0, (boundary,)),
        is_kept("state", i, 4, 0, 4, is_eagle, 4, (boundary,)),
    ]
    assert all(kept), f"{kept}"


def windows_keep_all_where_hits_leave_none_out(reach: int, is_eagle: bool) -> None:
    """Three blocks between the lengths of hits, or six between the ends of intervals."""
    assert reach >= 1

    def leaves_none_out(every: int) -> bool:
        second = range(every // 4, every // 2)
        return all(
            any(is_used(i, length, reach, is_eagle, 4) for length in (every, 2 * every)) for i in second
        )

    by_hits = keeps_all("window", 4, reach, 12, is_eagle, None)
    by_intervals = keeps_all("window", 4, reach, 12, is_eagle, 24)
    assert by_hits == leaves_none_out(12), f"{by_hits}"
    assert by_intervals == leaves_none_out(24), f"{by_intervals}"


def with_boundaries_only_not_all_is_kept(reach: int, is_eagle: bool) -> None:
    """Windows and states; whatever others do."""
    assert reach >= 1
    windows = keeps_all("window", 4, reach, 12, is_eagle, 0)
    states = [keeps_all("state", 4, 0, 12, is_eagle, retention) for retention in (0, 12)]
    assert not windows and not any(states), f"{windows}, {states}"


def others_keep_all(reach: int, is_eagle: bool) -> None:
    """Full attention and chunks; states without an interval, or with one of a block."""
    assert reach >= 1
    answers = [
        keeps_all("prefix", 4, 0, 12, is_eagle, 0),
        keeps_all("chunk", 4, reach, 12, is_eagle, 24),
        keeps_all("state", 4, 0, 12, is_eagle, None),
        keeps_all("state", 4, 0, 4, is_eagle, 4),
    ]
    assert all(answers), f"{answers}"


def prompt_sent_again_hits_the_longest_length(num_prompt_tokens: int, length: int, margin: int) -> None:
    """``length`` is any that a hit may have, with what a draft model gives up before the last token."""
    assert 0 <= margin <= 12 and length > 0 and length % 4 == 0 and length + margin < num_prompt_tokens
    resent = resend_length(num_prompt_tokens, 4, margin)
    assert resent >= length and resent % 4 == 0 and resent + margin < num_prompt_tokens, f"{resent}"


def short_prompt_sent_again_hits_nothing(num_prompt_tokens: int, margin: int) -> None:
    """No unit of 4 tokens lies before the last token and what a draft model gives up."""
    assert num_prompt_tokens >= 1 and 0 <= margin <= 12 and num_prompt_tokens <= margin + 4
    resent = resend_length(num_prompt_tokens, 4, margin)
    assert resent == 0, f"{resent}"


_KEYS = (allocation.FULL_BLOCKS_BECOME_KEYS,)
_RESENT = (allocation.RESEND_BOUNDARIES,)
_BOTH = (False, True)

CONTRACTS = (
    Contract(
        interval_keeps_what_its_hits_use,
        is_kept,
        _KEYS,
        lambda: product(range(20), range(24, 97, 24), range(1, 40, 3), _BOTH),
    ),
    Contract(
        interval_keeps_no_more,
        is_kept,
        _KEYS,
        lambda: product(range(20), range(24, 97, 24), range(1, 18), _BOTH),
    ),
    Contract(
        boundary_keeps_what_its_hit_uses,
        is_kept,
        _KEYS,
        lambda: product(range(10), range(40), range(0, 37, 12), range(1, 20, 2), _BOTH),
    ),
    Contract(
        either_boundary_is_enough,
        is_kept,
        _KEYS,
        lambda: product(range(10), range(0, 40, 5), range(0, 40, 7), (1, 5, 9), _BOTH),
    ),
    Contract(states_are_kept_at_ends_of_intervals, is_kept, _KEYS, lambda: product(range(20), _BOTH)),
    Contract(states_are_kept_at_boundaries, is_kept, _KEYS, lambda: product(range(10), range(40), _BOTH)),
    Contract(
        others_keep_everything_with_an_interval,
        is_kept,
        _KEYS,
        lambda: product(range(10), range(0, 40, 5), range(1, 12), _BOTH),
    ),
    Contract(
        windows_keep_all_where_hits_leave_none_out,
        keeps_all,
        _KEYS,
        lambda: product(range(1, 40), _BOTH),
    ),
    Contract(with_boundaries_only_not_all_is_kept, keeps_all, _KEYS, lambda: product(range(1, 20), _BOTH)),
    Contract(others_keep_all, keeps_all, _KEYS, lambda: product(range(1, 20), _BOTH)),
    Contract(
        prompt_sent_again_hits_the_longest_length,
        resend_length,
        _RESENT,
        lambda: product(range(1, 50), range(4, 50, 4), range(13)),
    ),
    Contract(
        short_prompt_sent_again_hits_nothing,
        resend_length,
        _RESENT,
        lambda: product(range(1, 20), range(13)),
    ),
)
