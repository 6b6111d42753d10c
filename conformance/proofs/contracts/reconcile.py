"""The hit of several kinds is the longest length that all of them answer.

Attention comes first, as in every lookup. ``max_length`` is bounded where only states are asked.
"""

from collections.abc import Iterable, Sequence
from itertools import product

from pagedkv.spec.clauses import hit
from pagedkv.spec.rules.reconcile import Kind, common_hit, kind_hit

from .answers import (
    Grid,
    all_cached,
    attention_answers,
    is_fewest_blocks,
    keys_in_block,
    state_answers,
)
from .contract import Contract

Two = tuple[bool, bool]
Three = tuple[bool, bool, bool]
Four = tuple[bool, bool, bool, bool]

UNIT = 2


def _answers(kind: Kind, max_length: int, alignment: int) -> list[int]:
    if kind.is_mamba:
        return state_answers(kind.cached, max_length, UNIT, alignment)
    return attention_answers(kind.cached, max_length, _grid(kind, alignment), kind.drops_for_eagle)


def _grid(kind: Kind, alignment: int) -> Grid:
    return Grid(kind.block_size, UNIT, alignment)


def _judge_names(kind: Kind, names: Sequence[int], length: int, max_length: int, alignment: int) -> None:
    """Attention's blocks each by the longest key in it, states by the one at the end."""
    if kind.is_mamba:
        assert names == ((length,) if length else ()), f"{names} for {length}"
    else:
        assert is_fewest_blocks(len(names), length, kind.block_size), f"{names} for {length}"
        for block, name in enumerate(names):
            known = keys_in_block(kind.cached, block, max_length, _grid(kind, alignment))
            assert name == max(known, default=None), f"{names} for {length}"


def _judge_common(kinds: Sequence[Kind], max_length: int, alignment: int) -> None:
    found = common_hit(kinds, max_length, UNIT, alignment)
    answers = [_answers(kind, max_length, alignment) for kind in kinds]
    common = [length for length in answers[0] if all(length in others for others in answers)]
    assert found.length == max(common), f"{found}"
    # Whoever is asked later is asked within what the first one had, so no junction lies beyond that.
    lost = max(answers[0])
    assert found.junction == (lost if lost > found.length else 0), f"{found}"
    for kind, names in zip(kinds, found.named_by, strict=True):
        _judge_names(kind, names, found.length, max_length, alignment)


def common_hit_by_units(attention: Three, states: Two, max_length: int, drop_eagle: bool) -> None:
    """One kind of each, blocks of two units, hits that may end inside a block."""
    assert max_length >= 0
    kinds = [Kind(False, 4, drop_eagle, attention), Kind(True, 4, drop_eagle, states)]
    _judge_common(kinds, max_length, UNIT)


def common_hit_by_blocks(attention: Four, states: Four, max_length: int, drop_eagle: bool) -> None:
    """Blocks of one and of two units; a hit ends with a block of both."""
    assert max_length >= 0
    kinds = [Kind(False, 2, drop_eagle, attention), Kind(True, 4, drop_eagle, states)]
    _judge_common(kinds, max_length, 4)


def common_hit_of_two_kinds_of_states(attention: Two, some: Two, others: Two, max_length: int) -> None:
    """Kinds of states shorten each other's candidate until none objects."""
    assert max_length >= 0
    kinds = [Kind(False, 4, False, attention), Kind(True, 4, False, some), Kind(True, 4, False, others)]
    _judge_common(kinds, max_length, UNIT)


def common_hit_of_states_alone(some: Three, others: Three, max_length: int) -> None:
    """Without attention the first kind of states is what could be lost."""
    assert 0 <= max_length <= 7
    _judge_common([Kind(True, 4, True, some), Kind(True, 4, True, others)], max_length, UNIT)


def common_hit_of_two_kinds_of_attention(
    fine: Three, coarse: Four, max_length: int, drop_coarse: bool
) -> None:
    """Two block sizes, of which one may give up a block for EAGLE."""
    assert max_length >= 0
    kinds = [Kind(False, 2, False, fine), Kind(False, 4, drop_coarse, coarse)]
    _judge_common(kinds, max_length, 4)


def common_hit_of_two_kinds_of_attention_by_units(
    short: Two, long: Three, max_length: int, drop_long: bool
) -> None:
    """Blocks of two and of three units, hits that may end inside either; one may give up a unit."""
    assert max_length >= 0
    kinds = [Kind(False, 4, False, short), Kind(False, 6, drop_long, long)]
    _judge_common(kinds, max_length, UNIT)


def kind_hit_is_its_longest_answer(cached: Three, max_length: int, is_mamba: bool, is_eagle: bool) -> None:
    """A kind asked alone; states give up nothing for EAGLE."""
    assert 0 <= max_length <= 7
    kind = Kind(is_mamba, 4, is_eagle, cached)
    found = kind_hit(kind, max_length, UNIT, UNIT)
    assert found.length == max(_answers(kind, max_length, UNIT)), f"{found}"
    _judge_names(kind, found.named_by, found.length, max_length, UNIT)


_CLAUSES = (hit.LONGEST, hit.ALIGNED, hit.BLOCKS_COVER_IT, hit.LEAVES_A_TOKEN, hit.EAGLE_DROPS_ONE)


def _caches(*units: int) -> Iterable[tuple[object, ...]]:
    """Everything that kinds with so many units can hold, with every length that matters."""
    return product(*map(all_cached, units), range(UNIT * (max(units) + 1)))


def _with_flags(cases: Iterable[tuple[object, ...]], num_flags: int) -> Iterable[tuple[object, ...]]:
    return ((*case, *flags) for case in cases for flags in product((False, True), repeat=num_flags))


CONTRACTS = (
    Contract(
        common_hit_by_units,
        common_hit,
        (*_CLAUSES, hit.JUNCTION),
        lambda: _with_flags(_caches(4, 4), 1),
    ),
    Contract(
        common_hit_by_blocks,
        common_hit,
        (*_CLAUSES, hit.JUNCTION),
        lambda: _with_flags(_caches(4, 4), 1),
    ),
    Contract(
        common_hit_of_two_kinds_of_states,
        common_hit,
        (*_CLAUSES, hit.JUNCTION),
        lambda: _caches(2, 3, 3),
    ),
    Contract(
        common_hit_of_states_alone,
        common_hit,
        (*_CLAUSES, hit.JUNCTION),
        lambda: _caches(4, 4),
    ),
    Contract(
        common_hit_of_two_kinds_of_attention,
        common_hit,
        (*_CLAUSES, hit.JUNCTION),
        lambda: _with_flags(_caches(4, 4), 1),
    ),
    Contract(
        common_hit_of_two_kinds_of_attention_by_units,
        common_hit,
        (*_CLAUSES, hit.JUNCTION),
        lambda: _with_flags(_caches(3, 4), 1),
    ),
    Contract(
        kind_hit_is_its_longest_answer,
        kind_hit,
        _CLAUSES,
        lambda: _with_flags(_caches(4), 2),
    ),
)
