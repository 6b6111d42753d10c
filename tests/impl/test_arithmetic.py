"""Growth, entries that fall out of use, keys, claims and hits: each as the rule of the specification says."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from random import Random
from typing import get_args

import pytest
import torch

from pagedkv.impl import (
    BlockPool,
    ChunkedLocalAttentionManager,
    FullAttentionManager,
    KVCacheManager,
    MambaManager,
    RSWAManager,
    SlidingWindowManager,
)
from pagedkv.impl.single_type import SingleTypeKVCacheManager
from pagedkv.spec import BlockHash, KVCacheConfig, KVCacheGroupSpec, KVCacheSpec
from pagedkv.spec.rules.admission import admission_cap, watermark_blocks
from pagedkv.spec.rules.caching import is_kept, keeps_all, resend_length
from pagedkv.spec.rules.hits import Kind, longest_hit
from pagedkv.spec.rules.reach import Reads, gap_entries, skipped_entries
from pagedkv.spec.rules.rows import attention_growth, mamba_growth
from tests.scenarios.build import attention, chunked, ids, reference_window, states, window

from .crowds import crowded, names

SIZES = (1, 2, 3, 4)


def columns(rows: Sequence[tuple[int, ...]]) -> list[torch.Tensor]:
    return [torch.tensor(column) for column in zip(*rows, strict=True)]


def test_growth_of_attention_is_that_of_the_rule() -> None:
    for size in SIZES:
        manager = FullAttentionManager(attention(size), BlockPool(2, True, 1), True, 0, size)
        cases = list(product(range(7), range(1, 20)))
        lengths, ends = columns(cases)
        # It has places as far as draft models look, whatever the step computes.
        padding, moved, taken, _ = manager.growth(lengths, ends // 2, ends, False)
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
        growth = manager.growth(lengths, ends, ends + 5, is_first)
        for case, mine in zip(cases, zip(*(column.tolist() for column in growth), strict=True), strict=True):
            rule = mamba_growth(*case, size, speculative, is_first)
            padding, moved, taken, moved_from = mine
            assert (padding, moved, taken) == (rule.padding, rule.moved_to - rule.moved_from, rule.taken), (
                case
            )
            assert not moved or moved_from == rule.moved_from


def managers_of(size: int, pool: BlockPool) -> list[tuple[SingleTypeKVCacheManager, Reads, int]]:
    """One manager of each kind, with several reaches, and what the rules call it."""
    made: list[tuple[SingleTypeKVCacheManager, Reads, int]] = [
        (FullAttentionManager(attention(size), pool, True, 0, size), "prefix", 0),
        (MambaManager(states(size), pool, True, 0, size), "state", 0),
    ]
    for reach in (1, 2, size, 2 * size + 1):
        made.append((SlidingWindowManager(window(size, reach), pool, True, 0, size), "window", reach))
        made.append((ChunkedLocalAttentionManager(chunked(size, reach), pool, True, 0, size), "chunk", reach))
    return made


def test_entries_fall_out_of_use_as_the_rule_says() -> None:
    for size in SIZES:
        row = prompt = torch.tensor([0])
        kinds = managers_of(size, BlockPool(9, True, 1))
        for (manager, reads, reach), processed in product(kinds, range(8 * size)):
            manager.start(0, torch.arange(1, 9), 0)
            skip = manager.skippable(row, torch.tensor([processed]), prompt)
            expected = list(range(skipped_entries(reads, processed, reach, size)))
            assert skip.entry.tolist() == expected[::-1]
            assert skip.block.tolist() == [entry + 1 for entry in expected[::-1]]
            manager.let_go(row, torch.tensor([processed]), prompt, skip)
            # Whoever goes on from there lets go of what is new only.
            again = manager.skippable(row, torch.tensor([processed + size]), prompt)
            later = set(range(min(8, skipped_entries(reads, processed + size, reach, size))))
            assert set(again.entry.tolist()) == later - set(expected)
            assert manager.row(0).tolist() == [0] * len(expected) + list(range(len(expected) + 1, 9))


def test_a_gap_falls_out_of_use_as_the_rule_says() -> None:
    row, pool = torch.tensor([0]), BlockPool(9, True, 1)
    for size, reach, prompt in product(SIZES, (1, 2, 5), range(1, 12)):
        manager = RSWAManager(reference_window(size, reach), pool, True, 0, size)
        for processed in range(8 * size):
            manager.start(0, torch.arange(1, 9), 0)
            expected: set[int] = set()
            for n in (processed, processed + size):
                asked = torch.tensor([n]), torch.tensor([prompt])
                skip = manager.skippable(row, *asked)
                gap = {entry for entry in gap_entries(prompt, n, reach, size) if entry < 8}
                assert skip.entry.tolist() == sorted(gap - expected, reverse=True)
                manager.let_go(row, *asked, skip)
                expected |= gap
            assert [i for i, block in enumerate(manager.row(0).tolist()) if not block] == sorted(expected)


def kinds_of(size: int, reach: int) -> list[tuple[type[SingleTypeKVCacheManager], KVCacheSpec, Reads, int]]:
    """All kinds with one reach, and what the rules call them."""
    return [
        (FullAttentionManager, attention(size), "prefix", 0),
        (SlidingWindowManager, window(size, reach), "window", reach),
        (ChunkedLocalAttentionManager, chunked(size, reach), "chunk", reach),
        (MambaManager, states(size), "state", 0),
    ]


def test_blocks_are_kept_as_the_rule_says() -> None:
    blocks, reasons = 24, set[tuple[Reads, str]]()
    for size, per_hit, is_eagle in product((1, 2, 3), (1, 2, 4), (False, True)):
        grain = per_hit * size
        for reach, retention in product((1, 2, 3, 5, 8, 12), (None, 0, grain, 3 * grain)):
            for (manager, spec, reads, tail), junction in product(kinds_of(size, reach), (0, 13)):
                boundaries = [20, -7, junction]
                mask = manager.reachable_block_mask(0, blocks, grain, spec, is_eagle, retention, boundaries)
                numbers = (size, tail, grain, is_eagle, retention)
                rule = [is_kept(reads, i, *numbers, boundaries) for i in range(blocks)]
                assert (mask is None) == keeps_all(reads, *numbers), (reads, numbers)
                assert (mask or [True] * blocks) == rule, (reads, numbers, boundaries)
                later = manager.reachable_block_mask(5, 9, grain, spec, is_eagle, retention, boundaries)
                assert (later or [True] * 4) == rule[5:9]
                reasons.add((reads, "all" if mask is None else "some" if any(mask) else "none"))
    some = {(reads, how) for reads in ("window", "state") for how in ("all", "some")}
    assert reasons >= some | {("prefix", "all"), ("chunk", "all"), ("window", "none")}


def test_blocks_are_kept_where_hits_end_inside_blocks() -> None:
    for size, junction, prompt in product((2, 4), range(-1, 17), range(1, 17)):
        boundaries = [prompt - 1, junction]
        for retention in (0, 4 * size):
            rule = [is_kept("state", i, size, 0, 1, True, retention, boundaries) for i in range(9)]
            mask = MambaManager.reachable_block_mask(0, 9, 1, states(size), True, retention, boundaries)
            assert mask == rule, (size, retention, boundaries)


def test_without_a_grain_all_blocks_are_kept() -> None:
    for manager, spec, _, _ in kinds_of(2, 3):
        assert manager.reachable_block_mask(0, 9, None, spec, True, 0) is None


def test_what_a_request_may_claim_is_what_the_rule_says() -> None:
    for size, reach, in_flight, longest in product(SIZES, range(1, 12), range(1, 9), (1, 5, 30)):
        for manager, spec, reads, tail in kinds_of(size, reach):
            cap = manager.admission_cap_of(spec, in_flight, longest)
            assert cap == admission_cap(reads, tail, in_flight, longest, size), (
                reads,
                size,
                reach,
                in_flight,
            )


def test_the_watermark_is_the_share_of_the_rule() -> None:
    config = KVCacheConfig(1, [], [KVCacheGroupSpec(["layer"], attention(1))])
    for num_blocks, share in product((1, 2, 9, 10, 100), (0, 0.0, 0.01, 0.1, 0.29, 0.3, 0.5, 0.7, 0.999)):
        manager = KVCacheManager(replace(config, num_blocks=num_blocks), 9, 1, 1, watermark=share)
        assert manager.watermark_blocks == watermark_blocks(share, num_blocks)


def test_the_length_for_prompts_sent_again_is_that_of_the_rule() -> None:
    seen = set[int | None]()
    for unit, block, is_eagle in product((1, 2, 3), (1, 2, 4), (False, True)):
        specs = [attention(unit), states(unit * block)]
        config = KVCacheConfig(2, [], [KVCacheGroupSpec([f"layer {g}"], s) for g, s in enumerate(specs)])
        for wanted in (False, True):
            manager = KVCacheManager(
                config, 99, unit * block, unit, use_eagle=is_eagle, resend_boundaries=wanted
            )
            coordinator = manager.coordinator
            margin = coordinator.resend_margin
            seen.add(margin)
            for length in range(1, 30):
                rule = 0 if margin is None else resend_length(length, coordinator.alignment, margin)
                assert coordinator.resend_length(length) == rule
    assert seen == {None, 0, 1, 2, 3}


def test_hits_of_one_kind_are_those_of_the_rule() -> None:
    unit, num_units = 2, 12
    hashes = [BlockHash(crowded(n)) for n in range(num_units)]
    rng, lengths = Random(0), set[tuple[Reads, int]]()
    for _ in range(60):
        pool = BlockPool(num_units + 1, True, unit)
        share = rng.choice((0.5, 0.8, 0.95))
        cached = tuple(rng.random() < share for _ in hashes)
        held = [n for n, is_cached in enumerate(cached) if is_cached]
        blocks = torch.tensor(held, dtype=torch.int64) + 1
        own = names([hashes[n] for n in held], [0] * len(held), pool.keys)
        pool.keys.add(blocks, own, blocks * unit, keep_keys=True)
        size, drop, longest = unit * rng.choice((1, 2, 3)), rng.random() < 0.5, rng.randint(0, 27)
        for (manager, reads, reach), alignment in product(managers_of(size, pool), {unit, size, 2 * size}):
            if alignment < size and not manager.supports_fine_grained_hash_lookup:
                continue
            mine, found = manager.find_longest_cache_hit(
                hashes, longest, [0], pool, manager.kv_cache_spec, drop, alignment
            )
            rule = longest_hit([Kind(reads, reach, size, drop, cached)], longest, unit, alignment)
            assert found == rule.length
            (named_by,), width = rule.named_by, -(-rule.length // size)
            expected = [0] * (width - len(named_by)) + [length // unit for length in named_by]
            assert ids(mine[0]) == expected, (reads, reach, size, alignment, drop, cached)
            lengths.add((reads, rule.length))
    assert all(
        len([n for kind, n in lengths if kind == reads]) > 4 for reads in set(get_args(Reads)) - {"encoder"}
    )
