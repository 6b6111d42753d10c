"""Growth, entries that fall out of use, names and hits: each as the rule of the specification says."""

from collections.abc import Sequence
from itertools import product
from random import Random

import pytest
import torch

from pagedkv.impl import BlockPool, FullAttentionManager, MambaManager
from pagedkv.impl.lookup import Prefix, attention_hit, state_hit
from pagedkv.spec import BlockHash
from pagedkv.spec.rules.hits import full_attention_hit, mamba_hit
from pagedkv.spec.rules.rows import attention_growth, mamba_growth, skipped_entries
from tests.scenarios.build import attention, states

from .crowds import crowded, names

SIZES = (1, 2, 3, 4)


def columns(rows: Sequence[tuple[int, ...]]) -> list[torch.Tensor]:
    return [torch.tensor(column) for column in zip(*rows, strict=True)]


def test_growth_of_attention_is_that_of_the_rule() -> None:
    for size in SIZES:
        manager = FullAttentionManager(attention(size), BlockPool(2, True, 1), True, 0, size)
        cases = list(product(range(7), range(1, 20)))
        lengths, ends = columns(cases)
        padding, moved, taken, _ = manager.growth(lengths, ends, False)
        expected = [attention_growth(length, end, size) for length, end in cases]
        assert taken.tolist() == [growth.taken for growth in expected]
        assert padding.tolist() == moved.tolist() == [0] * len(cases)


@pytest.mark.parametrize("is_first", [True, False])
def test_growth_of_states_is_that_of_the_rule(is_first: bool) -> None:
    for size, speculative in product(SIZES, range(4)):
        manager = MambaManager(states(size, speculative), BlockPool(2, True, 1), True, 0, size)
        # A row that has been allocated before ends in its running state and the speculative ones.
        least = 0 if is_first else 1 + speculative
        cases = list(product(range(least, least + 6), range(1, 24)))
        lengths, ends = columns(cases)
        growth = manager.growth(lengths, ends, is_first)
        for case, mine in zip(cases, zip(*(column.tolist() for column in growth), strict=True), strict=True):
            rule = mamba_growth(*case, size, speculative, is_first)
            padding, moved, taken, moved_from = mine
            assert (padding, moved, taken) == (rule.padding, rule.moved_to - rule.moved_from, rule.taken), (
                case
            )
            assert not moved or moved_from == rule.moved_from


def test_entries_fall_out_of_use_as_the_rule_says() -> None:
    for size in SIZES:
        pool = BlockPool(9, True, 1)
        managers = (
            (MambaManager(states(size), pool, True, 0, size), True),
            (FullAttentionManager(attention(size), pool, True, 0, size), False),
        )
        row = torch.tensor([0])
        for (manager, is_mamba), processed in product(managers, range(8 * size)):
            manager.start(0, torch.arange(1, 9), 0)
            skip = manager.skippable(row, torch.tensor([processed]))
            expected = list(range(skipped_entries(is_mamba, processed, size)))
            assert skip.entry.tolist() == expected[::-1]
            assert skip.block.tolist() == [entry + 1 for entry in expected[::-1]]
            manager.let_go(row, torch.tensor([processed]), skip)
            # Whoever goes on from there lets go of what is new only.
            again = manager.skippable(row, torch.tensor([processed + size]))
            assert set(again.entry.tolist()) == set(
                range(skipped_entries(is_mamba, processed + size, size))
            ) - set(expected)
            assert manager.row(0).tolist() == [0] * len(expected) + list(range(len(expected) + 1, 9))


def test_hits_of_one_kind_are_those_of_the_rule() -> None:
    unit, num_units = 2, 12
    hashes = [BlockHash(crowded(n)) for n in range(num_units)]
    rng, lengths = Random(0), set[int]()
    for _ in range(150):
        pool = BlockPool(num_units + 1, True, unit)
        share = rng.choice((0.5, 0.8, 0.95))
        cached = [rng.random() < share for _ in hashes]
        held = [n for n, is_cached in enumerate(cached) if is_cached]
        blocks = torch.tensor(held, dtype=torch.int64) + 1
        own = names([hashes[n] for n in held], [0] * len(held), pool.keys)
        pool.keys.add(blocks, own, blocks * unit, keep_keys=True)
        prefix = Prefix(pool, hashes)
        size, drop, longest = unit * rng.choice((1, 2, 3)), rng.random() < 0.5, rng.randint(0, 27)
        for alignment in {unit, size, 2 * size}:
            mine = attention_hit(prefix, [0], longest, size, alignment, drop)
            rule = full_attention_hit(cached, longest, size, unit, alignment, drop)
            assert mine.length == rule.length
            found = mine.rows(mine.length, size)[0].tolist()
            assert found == [length // unit for length in rule.named_by]
            mine, rule = (
                state_hit(prefix, [0], longest, alignment),
                mamba_hit(cached, longest, unit, alignment),
            )
            assert mine.length == rule.length
            width = -(-rule.length // size)
            assert mine.rows(mine.length, size)[0].tolist() == (
                [0] * (width - 1) + [rule.length // unit] if width else []
            )
            lengths.add(rule.length)
    assert len(lengths) > 6
