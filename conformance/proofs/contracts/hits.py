"""One kind answers the longest of its answers, and names the blocks that are read by keys they have.

The caches are tuples of a fixed length, so that a search over them ends. A claim is about all lookups in
them, whatever their limit.
"""

from itertools import product

from pagedkv.spec.clauses import hit
from pagedkv.spec.rules.hits import Kind, longest_hit, names_of_hit

from .answers import all_cached, is_answered, longest_answer, lookups, names
from .contract import Contract

Three = tuple[bool, bool, bool]
Four = tuple[bool, bool, bool, bool]
Five = tuple[bool, bool, bool, bool, bool]

# Any length


def _judge_names(kind: Kind, unit: int, alignment: int) -> None:
    """For the last lengths within each limit: others have no key that the limit cuts off."""
    for asked in lookups([kind], unit, alignment):
        for length in asked.lengths[-3:]:
            found = names_of_hit(kind, length, *asked)
            expected = names(kind, length, asked) if is_answered(kind, length, asked) else None
            assert found == expected, f"{found} for {length}, {asked}"


def names_of_attention_by_units(cached: Five, is_eagle: bool) -> None:
    """Blocks of three units, hits that may end inside them."""
    assert len(cached) <= 5
    _judge_names(Kind("prefix", 0, 3, is_eagle, cached), 1, 1)


def names_of_attention_by_blocks(cached: Five, is_eagle: bool) -> None:
    """Blocks of two units, hits that end with them: keys inside a block do not count."""
    assert len(cached) <= 5
    _judge_names(Kind("prefix", 0, 2, is_eagle, cached), 1, 2)


def names_of_windows(cached: Four) -> None:
    """Blocks of two tokens, windows from those that reach no earlier token to those that reach all."""
    assert len(cached) <= 4
    for reach in (1, 2, 3, 6):
        _judge_names(Kind("window", reach, 2, False, cached), 2, 2)


def names_of_windows_of_draft_models(cached: Four) -> None:
    """The same where one block more has to be there."""
    assert len(cached) <= 4
    for reach in (1, 2, 3, 5):
        _judge_names(Kind("window", reach, 2, True, cached), 2, 2)


def names_of_windows_by_pairs_of_blocks(cached: Five, is_eagle: bool) -> None:
    """Hits of two blocks of one token: with EAGLE one block more has to be there, not two."""
    assert len(cached) <= 5
    for reach in (1, 2, 4):
        _judge_names(Kind("window", reach, 1, is_eagle, cached), 1, 2)


def names_of_chunks(cached: Four) -> None:
    """Blocks of two tokens, chunks shorter and longer, of whole blocks and not."""
    assert len(cached) <= 4
    for reach in (1, 3, 4):
        _judge_names(Kind("chunk", reach, 2, False, cached), 2, 2)


def names_of_states(cached: Four, is_eagle: bool) -> None:
    """Blocks of two units: the key of the state, whatever is cached around it and whoever reads it."""
    assert len(cached) <= 4
    _judge_names(Kind("state", 0, 2, is_eagle, cached), 1, 1)


# The longest


def _judge_hit(kind: Kind, unit: int, alignment: int) -> None:
    for asked in lookups([kind], unit, alignment):
        found = longest_hit([kind], *asked)
        assert found.length == longest_answer([kind], asked), f"{found}, {asked}"
        assert found.junction == 0, f"{found}, {asked}"
        assert found.named_by == (names(kind, found.length, asked),), f"{found}, {asked}"


def full_hit_by_units(cached: Five, is_eagle: bool) -> None:
    """Hits that may end inside a block of three units."""
    assert len(cached) <= 5
    _judge_hit(Kind("prefix", 0, 3, is_eagle, cached), 1, 1)


def full_hit_by_blocks(cached: Five, is_eagle: bool) -> None:
    """Hits of whole blocks of two units."""
    assert len(cached) <= 5
    _judge_hit(Kind("prefix", 0, 2, is_eagle, cached), 1, 2)


def full_hit_by_pairs_of_blocks(cached: Five, is_eagle: bool) -> None:
    """Hits that end with every second block."""
    assert len(cached) <= 5
    _judge_hit(Kind("prefix", 0, 1, is_eagle, cached), 1, 2)


def full_hit_of_one_unit_blocks(cached: Three, is_eagle: bool) -> None:
    """Blocks that are units of three tokens: nothing lies inside them."""
    assert len(cached) <= 3
    _judge_hit(Kind("prefix", 0, 3, is_eagle, cached), 3, 3)


def window_hit(cached: Three, is_eagle: bool) -> None:
    """Blocks of two tokens: what lies before the window may be missing."""
    assert len(cached) <= 3
    for reach in (1, 2, 4):
        _judge_hit(Kind("window", reach, 2, is_eagle, cached), 2, 2)


def window_hit_by_pairs_of_blocks(cached: Five, is_eagle: bool) -> None:
    """Hits that end with every second block of one token: with EAGLE that is after the drop."""
    assert len(cached) <= 5
    for reach in (2, 3):
        _judge_hit(Kind("window", reach, 1, is_eagle, cached), 1, 2)


def chunk_hit(cached: Four) -> None:
    """Blocks of two tokens: what lies before the chunk of the next token may be missing."""
    assert len(cached) <= 4
    for reach in (1, 3, 4):
        _judge_hit(Kind("chunk", reach, 2, False, cached), 2, 2)


def state_hit_by_units(cached: Four, is_eagle: bool) -> None:
    """A state may lie after any unit, and nothing is given up."""
    assert len(cached) <= 4
    _judge_hit(Kind("state", 0, 3, is_eagle, cached), 1, 1)


def state_hit_by_blocks(cached: Five, is_eagle: bool) -> None:
    """States between the boundaries of two units do not count."""
    assert len(cached) <= 5
    _judge_hit(Kind("state", 0, 2, is_eagle, cached), 1, 2)


# What EAGLE costs


def _judge_drop(cached: Four, block_size: int, alignment: int, cost: int) -> None:
    kind = Kind("prefix", 0, block_size, False, cached)
    for asked in lookups([kind], 1, alignment):
        plain = longest_hit([kind], *asked).length
        dropped = longest_hit([kind._replace(drops_for_eagle=True)], *asked).length
        assert dropped == 0 if plain == 0 else plain - dropped == cost, f"{plain} and {dropped}, {asked}"


def eagle_drops_one_unit(cached: Four) -> None:
    """With hits by units, what EAGLE costs is one unit."""
    assert len(cached) <= 4
    _judge_drop(cached, 3, 1, cost=1)


def eagle_drops_one_block(cached: Four) -> None:
    """With hits by blocks, what EAGLE costs is one block."""
    assert len(cached) <= 4
    _judge_drop(cached, 2, 2, cost=2)


_CLAUSES = (hit.LONGEST, hit.ALIGNED, hit.BLOCKS_COVER_IT, hit.LEAVES_A_TOKEN, hit.EAGLE_DROPS_ONE)

CONTRACTS = (
    *(
        Contract(check, names_of_hit, _CLAUSES, lambda: product(all_cached(5), (False, True)))
        for check in (
            names_of_attention_by_units,
            names_of_attention_by_blocks,
            names_of_windows_by_pairs_of_blocks,
            names_of_states,
        )
    ),
    *(
        Contract(check, names_of_hit, _CLAUSES, lambda: product(all_cached(4)))
        for check in (names_of_windows, names_of_windows_of_draft_models, names_of_chunks)
    ),
    *(
        Contract(check, longest_hit, _CLAUSES, lambda: product(all_cached(5), (False, True)))
        for check in (
            full_hit_by_units,
            full_hit_by_blocks,
            full_hit_by_pairs_of_blocks,
            full_hit_of_one_unit_blocks,
            window_hit,
            window_hit_by_pairs_of_blocks,
            state_hit_by_units,
            state_hit_by_blocks,
        )
    ),
    Contract(chunk_hit, longest_hit, _CLAUSES, lambda: product(all_cached(4))),
    *(
        Contract(check, longest_hit, (hit.EAGLE_DROPS_ONE,), lambda: product(all_cached(4)))
        for check in (eagle_drops_one_unit, eagle_drops_one_block)
    ),
)
