"""The hit of several kinds is the longest length that all of them answer.

Full attention comes first, as in every lookup. Units have one token. A claim is about all lookups in the
caches, whatever their limit.
"""

from collections.abc import Sequence
from itertools import product

from pagedkv.spec.clauses import hit
from pagedkv.spec.rules.hits import Kind, longest_hit

from .answers import all_cached, longest_answer, lookups, names
from .contract import Contract

Two = tuple[bool, bool]
Three = tuple[bool, bool, bool]
Four = tuple[bool, bool, bool, bool]


def _judge(kinds: Sequence[Kind], alignment: int) -> None:
    for asked in lookups(kinds, 1, alignment):
        found = longest_hit(kinds, *asked)
        assert found.length == longest_answer(kinds, asked), f"{found}, {asked}"
        # Whoever is asked later is asked within what the first one had, so no junction lies beyond that.
        first = longest_answer(kinds[:1], asked)
        assert found.junction == (first if first > found.length else 0), f"{found}, {asked}"
        assert found.named_by == tuple(names(kind, found.length, asked) for kind in kinds), (
            f"{found}, {asked}"
        )


def attention_and_states_by_units(attention: Three, states: Three, is_eagle: bool) -> None:
    """Blocks of two units, hits that may end inside a block."""
    assert len(attention) <= 3 and len(states) <= 3
    _judge([Kind("prefix", 0, 2, is_eagle, attention), Kind("state", 0, 2, is_eagle, states)], 1)


def attention_and_states_by_blocks(attention: Three, states: Four, is_eagle: bool) -> None:
    """Blocks of one and of two units; a hit ends with a block of both."""
    assert len(attention) <= 3 and len(states) <= 4
    _judge([Kind("prefix", 0, 1, is_eagle, attention), Kind("state", 0, 2, is_eagle, states)], 2)


def two_kinds_of_states(attention: Two, some: Two, others: Two) -> None:
    """Kinds of states shorten each other's hit until none objects."""
    assert len(attention) <= 2 and len(some) <= 2 and len(others) <= 2
    kinds = [
        Kind("prefix", 0, 2, False, attention),
        Kind("state", 0, 2, False, some),
        Kind("state", 0, 2, False, others),
    ]
    _judge(kinds, 1)


def states_alone(some: Three, others: Three) -> None:
    """Without attention the first kind of states is what could be lost."""
    assert len(some) <= 3 and len(others) <= 3
    _judge([Kind("state", 0, 2, True, some), Kind("state", 0, 2, True, others)], 1)


def two_kinds_of_attention(fine: Three, coarse: Four, is_eagle: bool) -> None:
    """Two block sizes, of which one may give up a block for EAGLE."""
    assert len(fine) <= 3 and len(coarse) <= 4
    _judge([Kind("prefix", 0, 1, False, fine), Kind("prefix", 0, 2, is_eagle, coarse)], 2)


def two_kinds_of_attention_by_units(short: Three, long: Three, is_eagle: bool) -> None:
    """Blocks of two and of three units, hits that may end inside either; one may give up a unit."""
    assert len(short) <= 3 and len(long) <= 3
    _judge([Kind("prefix", 0, 2, False, short), Kind("prefix", 0, 3, is_eagle, long)], 1)


def attention_and_windows(attention: Three, windows: Three) -> None:
    """Blocks of one token; windows that reach two blocks back."""
    assert len(attention) <= 3 and len(windows) <= 3
    _judge([Kind("prefix", 0, 1, False, attention), Kind("window", 3, 1, False, windows)], 1)


def attention_and_windows_of_draft_models(attention: Four, windows: Three) -> None:
    """Attention's block is two of the windows', and each gives up a block of its own."""
    assert len(attention) <= 4 and len(windows) <= 3
    for reach in (2, 3):
        _judge([Kind("prefix", 0, 2, True, attention), Kind("window", reach, 1, True, windows)], 2)


def attention_and_chunks(attention: Three, chunks: Three, is_eagle: bool) -> None:
    """Chunks of two blocks of one token; the attention may have a draft model."""
    assert len(attention) <= 3 and len(chunks) <= 3
    _judge([Kind("prefix", 0, 1, is_eagle, attention), Kind("chunk", 2, 1, False, chunks)], 1)


def windows_and_states(windows: Three, states: Four, is_eagle: bool) -> None:
    """Hits end with blocks of two units, the windows have blocks of one."""
    assert len(windows) <= 3 and len(states) <= 4
    _judge([Kind("window", 2, 1, is_eagle, windows), Kind("state", 0, 2, is_eagle, states)], 2)


def two_kinds_of_windows(short: Three, long: Three, is_eagle: bool) -> None:
    """What the longer one reads the shorter one need not have, and the other way round with EAGLE."""
    assert len(short) <= 3 and len(long) <= 3
    _judge([Kind("window", 2, 1, is_eagle, short), Kind("window", 3, 1, False, long)], 1)


def windows_beside_hits_inside_blocks(attention: Two, windows: Two, states: Two, is_eagle: bool) -> None:
    """Three kinds: the windows' blocks are units, so that every hit ends with one of them."""
    assert len(attention) <= 2 and len(windows) <= 2 and len(states) <= 2
    kinds = [
        Kind("prefix", 0, 2, is_eagle, attention),
        Kind("window", 2, 1, is_eagle, windows),
        Kind("state", 0, 2, is_eagle, states),
    ]
    _judge(kinds, 1)


_CLAUSES = (
    hit.LONGEST,
    hit.ALIGNED,
    hit.BLOCKS_COVER_IT,
    hit.LEAVES_A_TOKEN,
    hit.EAGLE_DROPS_ONE,
    hit.JUNCTION,
)
_FLAG = (False, True)

CONTRACTS = (
    *(
        Contract(check, longest_hit, _CLAUSES, lambda: product(all_cached(3), all_cached(3), _FLAG))
        for check in (
            attention_and_states_by_units,
            two_kinds_of_attention_by_units,
            attention_and_chunks,
            two_kinds_of_windows,
        )
    ),
    *(
        Contract(check, longest_hit, _CLAUSES, lambda: product(all_cached(4), all_cached(4), _FLAG))
        for check in (attention_and_states_by_blocks, two_kinds_of_attention, windows_and_states)
    ),
    Contract(
        attention_and_windows_of_draft_models,
        longest_hit,
        _CLAUSES,
        lambda: product(all_cached(4), all_cached(3)),
    ),
    Contract(two_kinds_of_states, longest_hit, _CLAUSES, lambda: product(all_cached(2), repeat=3)),
    *(
        Contract(check, longest_hit, _CLAUSES, lambda: product(all_cached(3), repeat=2))
        for check in (states_alone, attention_and_windows)
    ),
    Contract(
        windows_beside_hits_inside_blocks,
        longest_hit,
        _CLAUSES,
        lambda: product(all_cached(2), all_cached(2), all_cached(2), _FLAG),
    ),
)
