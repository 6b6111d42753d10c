"""What is not covered, or cannot be right, is refused by its clause and changes nothing."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from pagedkv.spec import (
    CrossAttentionSpec,
    FullAttentionSpec,
    KVCacheConfig,
    KVCacheGroupSpec,
    KVCacheSpec,
    MambaSpec,
    PreconditionError,
    Request,
    RSWASpec,
    SinkFullAttentionSpec,
    SlidingWindowSpec,
    UnsupportedError,
    ValuePreconditionError,
    get_request_block_hasher,
    sha256,
)
from pagedkv.spec.blocks import KVCacheBlocks

FULL = FullAttentionSpec(4, 1, 1, "float32")
MAMBA = MambaSpec(4, ((1, 1),), ("float32",))


def config(*specs: KVCacheSpec, num_blocks: int = 9) -> KVCacheConfig:
    return KVCacheConfig(num_blocks, [], [KVCacheGroupSpec([f"l{g}"], spec) for g, spec in enumerate(specs)])


def manager(side: ModuleType, **changes: Any) -> Any:
    arguments: dict[str, Any] = {"max_model_len": 32, "scheduler_block_size": 4, "hash_block_size": 2}
    specs = changes.pop("specs", (FULL, MAMBA))
    return side.KVCacheManager(config(*specs), **{**arguments, **changes})


def request(num_tokens: int = 6, name: str = "r") -> Request:
    return Request(name, list(range(num_tokens)), block_hasher=get_request_block_hasher(2, sha256))


def named(judged: Any, owner: Request, block_ids: tuple[int, ...], *arguments: Any) -> None:
    """Ask the pool to name these blocks."""
    pool = judged.block_pool
    pool.cache_full_blocks(owner, [pool.blocks[i] for i in block_ids], *arguments)


def partly_named(judged: Any, owner: Request, group: int) -> None:
    """Ask the pool to name a block by its first half."""
    judged.block_pool.cache_partial_block(owner, judged.block_pool.blocks[5], 2, group, 4)


@pytest.mark.parametrize(
    ("make", "clause", "kind"),
    [
        (lambda side: manager(side, scheduler_block_size=6), "Config/sizes_divide", ValuePreconditionError),
        (lambda side: manager(side, hash_block_size=3), "Config/sizes_divide", ValuePreconditionError),
        (lambda side: manager(side, scheduler_block_size=0), "Config/sizes_are_positive", ValueError),
        (lambda side: manager(side, scheduler_block_size=4.0), "Config/sizes_are_positive", ValueError),
        (lambda side: manager(side, hash_block_size=2.0), "Config/sizes_are_positive", ValueError),
        (lambda side: manager(side, max_model_len=None), "Config/sizes_are_positive", ValueError),
        (lambda side: manager(side, max_model_len="32"), "Config/sizes_are_positive", ValueError),
        (lambda side: manager(side, max_in_flight_tokens=1.5), "Config/sizes_are_positive", ValueError),
        (lambda side: manager(side, retention_interval=4.0), "Config/retention_by_hits", ValueError),
        (
            lambda side: manager(side, specs=(FULL, MambaSpec(4, (), (), "bogus"))),  # type: ignore[arg-type]
            "Config/covered",
            UnsupportedError,
        ),
        (lambda side: manager(side, max_model_len=0), "Config/sizes_are_positive", ValuePreconditionError),
        (lambda side: manager(side, hash_block_size=0), "Config/sizes_are_positive", ValuePreconditionError),
        (
            lambda side: FullAttentionSpec(0, 1, 1, "float32"),
            "Config/sizes_are_positive",
            ValuePreconditionError,
        ),
        (lambda side: KVCacheConfig(True), "Config/sizes_are_positive", ValuePreconditionError),
        (
            lambda side: SlidingWindowSpec(4, 1, 1, "float32", 2**31),
            "Config/sizes_are_positive",
            ValuePreconditionError,
        ),
        (lambda side: manager(side, max_model_len=2**53), "Config/sizes_are_positive", ValueError),
        (
            lambda side: manager(side, specs=(FULL, MAMBA, MambaSpec(2, (), ()))),
            "Config/one_state_size",
            PreconditionError,
        ),
        (
            lambda side: manager(side, specs=(FULL, CrossAttentionSpec(4, 1, 1, "float32"))),
            "Config/cross_without_caching",
            UnsupportedError,
        ),
        (
            lambda side: manager(side, specs=(SinkFullAttentionSpec(4, 1, 1, "float32", 6),)),
            "Config/sinks_are_blocks",
            ValuePreconditionError,
        ),
        (
            lambda side: manager(side, specs=(SinkFullAttentionSpec(4, 1, 1, "float32", 36),)),
            "Config/sinks_are_blocks",
            ValuePreconditionError,
        ),
        (lambda side: manager(side, specs=()), "Config/covered", UnsupportedError),
        (lambda side: manager(side, specs=(KVCacheSpec(4),)), "Config/covered", UnsupportedError),
        (
            lambda side: manager(side, specs=(MAMBA, MambaSpec(4, (), (), "all"))),
            "Config/one_state_mode",
            PreconditionError,
        ),
        # Modes that cannot go together are the reason, whatever their blocks are.
        (
            lambda side: manager(side, specs=(MAMBA, MambaSpec(2, (), (), "all"))),
            "Config/one_state_mode",
            PreconditionError,
        ),
        (
            lambda side: manager(side, specs=(MambaSpec(32, (), (), "none"),), scheduler_block_size=32),
            "Config/running_states_alone",
            PreconditionError,
        ),
        (
            lambda side: manager(
                side, specs=(MambaSpec(16, (), (), "none"),), scheduler_block_size=16, enable_caching=False
            ),
            "Config/running_states_alone",
            PreconditionError,
        ),
        (lambda side: manager(side, pcp_world_size=2), "Config/context_parallel", UnsupportedError),
        (
            lambda side: manager(
                side, specs=(FULL, SlidingWindowSpec(4, 1, 1, "float32", 3)), dcp_world_size=2
            ),
            "Config/context_parallel",
            UnsupportedError,
        ),
        (lambda side: manager(side, dcp_world_size=0), "Config/sizes_are_positive", ValuePreconditionError),
        (lambda side: manager(side, num_prefill_lookahead=1), "Config/covered", UnsupportedError),
    ],
)
def test_a_deployment_is_refused(
    make: Callable[[ModuleType], object], clause: str, kind: type[Exception], side: ModuleType
) -> None:
    with pytest.raises(kind) as refusal:
        make(side)
    assert getattr(refusal.value, "clause").id == clause  # noqa: B009


@pytest.mark.parametrize(
    ("call", "clause"),
    [
        (lambda m, r: m.allocate_slots(r, 0), "Allocate/asks_for_something"),
        (lambda m, r: m.allocate_slots(r, -1), "Allocate/asks_for_something"),
        (lambda m, r: m.allocate_slots(r, 33), "Allocate/asks_for_something"),
        (lambda m, r: m.allocate_slots(r, 1, num_encoder_tokens=-1), "Allocate/asks_for_something"),
        (lambda m, r: m.allocate_slots(r, 1.5), "Allocate/asks_for_something"),
        (lambda m, r: m.allocate_slots(r, "1"), "Allocate/asks_for_something"),
        (lambda m, r: m.allocate_slots(r, 1, None), "Allocate/asks_for_something"),
        (lambda m, r: m.allocate_slots(r, 1, -4), "Allocate/asks_for_something"),
        (lambda m, r: m.allocate_slots(r, 1, reserved_blocks=1.5), "Allocate/asks_for_something"),
        (lambda m, r: m.allocate_slots(r, 1, num_lookahead_tokens=1.5), "Allocate/asks_for_something"),
        (lambda m, r: m.cache_blocks(request(6, "unknown"), 4), "Allocate/covers_the_tokens"),
        (lambda m, r: m.cache_blocks(request(6, "unknown"), 0), "Allocate/covers_the_tokens"),
        (lambda m, r: m.evict_blocks([1, 1.5]), "Pool/evict_takes_keys"),
        (lambda m, r: m.truncate_computed_blocks(KVCacheBlocks(([],)), 0), "Hit/truncation"),
        (lambda m, r: m.truncate_computed_blocks(KVCacheBlocks(([], [])), 0.5), "Hit/truncation"),
        (lambda m, r: m.allocate_slots(r, 1, 4), "Allocate/fits_the_hit"),
        (
            lambda m, r: m.allocate_slots(r, 1, 0, KVCacheBlocks(([m.block_pool.blocks[1]], []))),
            "Allocate/fits_the_hit",
        ),
        (
            lambda m, r: m.allocate_slots(
                r, 1, 4, KVCacheBlocks(([m.block_pool.blocks[1]], [m.block_pool.null_block]))
            ),
            "Allocate/fits_the_hit",
        ),
        (lambda m, r: m.evict_blocks({1, 9}), "Pool/evict_takes_keys"),
        (lambda m, r: m.block_pool.free_blocks([m.block_pool.blocks[8]]), "Pool/freed_once_per_holder"),
        (lambda m, r: m.block_pool.get_new_blocks(9), "Pool/never_more_than_free"),
        (lambda m, r: m.block_pool.get_new_blocks(-1), "Pool/never_more_than_free"),
        (lambda m, r: m.allocate_slots(r, 2**63), "Allocate/asks_for_something"),
        (lambda m, r: m.remove_skipped_blocks("held", "x"), "Allocate/skipped_are_freed"),
        (lambda m, r: m.remove_skipped_blocks("held", 2**70, 6), "Allocate/skipped_are_freed"),
        (lambda m, r: m.remove_skipped_blocks("held", 2, -1), "Allocate/skipped_are_freed"),
        (lambda m, r: m.record_blocks_for_zeroing("held", "4"), "Allocate/lists_new_blocks"),
        (lambda m, r: m.record_blocks_for_zeroing("held", -4), "Allocate/lists_new_blocks"),
        (lambda m, r: named(m, r, (5, 6), 0, 2, 4, 2**32), "Index/both_ways"),
        (lambda m, r: named(m, r, (5, 6), 0, 2, 4, -1), "Index/both_ways"),
        (lambda m, r: named(m, r, (5, 5), 0, 2, 2, 0), "Index/promotion"),
        (lambda m, r: named(m, r, (5, 6), 0, 3, 2, 0), "Index/promotion"),
        (lambda m, r: partly_named(m, r, 2**32), "Index/both_ways"),
        (lambda m, r: partly_named(m, r, -1), "Index/both_ways"),
        (lambda m, r: named(m, r, (5, 6), 0, 2, 0, 0), "Index/promotion"),
        (lambda m, r: named(m, r, (5, 6), 0, 2, 2, 0, [True]), "Index/promotion"),
        (lambda m, r: m.block_pool.get_cached_block(r.block_hashes[0], [0, -1]), "Index/both_ways"),
        (lambda m, r: m.block_pool.get_cached_block(r.block_hashes[0], [2**40]), "Index/both_ways"),
        (lambda m, r: m.allocate_slots(r, 1, num_lookahead_tokens=2**53), "Allocate/asks_for_something"),
        (lambda m, r: m.remove_skipped_blocks("held", -(2**63), 6), "Allocate/skipped_are_freed"),
    ],
)
def test_a_call_is_refused_and_changes_nothing(
    call: Callable[[Any, Request], object], clause: str, side: ModuleType
) -> None:
    judged, asked = manager(side), request()
    assert judged.allocate_slots(request(name="held"), 6) is not None
    before = judged.snapshot()
    with pytest.raises(PreconditionError) as refusal:
        call(judged, asked)
    assert getattr(refusal.value, "clause").id == clause  # noqa: B009
    assert judged.snapshot() == before


@pytest.mark.parametrize("field", ["num_computed_tokens", "num_in_flight_tokens", "shared_prefix_boundary"])
@pytest.mark.parametrize("value", [-1, 2**63, 1.5, None, "x"])
def test_what_a_scheduler_notes_of_a_request_is_a_number_of_tokens(
    field: str, value: object, side: ModuleType
) -> None:
    judged, held, asked = manager(side), request(name="held"), request()
    assert judged.allocate_slots(held, 6) is not None
    before = judged.snapshot()
    for one in (held, asked):
        setattr(one, field, value)
        for call in (judged.allocate_slots, judged.cache_blocks):
            with pytest.raises(ValuePreconditionError, match=f"{field} is {value!r}, not a whole number"):
                call(one, 1)
    assert judged.snapshot() == before


def test_the_largest_numbers_are_counted_with(side: ModuleType) -> None:
    most, size = 2**53 - 1, 2**31 - 1
    judged = manager(
        side,
        specs=(SlidingWindowSpec(4, 1, 1, "float32", size), RSWASpec(4, 1, 1, "float32", size)),
        max_model_len=most,
    )
    asked = request()
    assert judged.allocate_slots(asked, most) is None
    assert judged.allocate_slots(asked, 6, num_lookahead_tokens=most) is None
    assert judged.snapshot() == manager(side, specs=(FULL, FULL)).snapshot()
    assert judged.allocate_slots(asked, 6) is not None
    before = judged.snapshot()
    judged.remove_skipped_blocks(asked.request_id, -most, most)
    assert judged.snapshot() == before
    states = (MambaSpec(size, (), (), "none", num_speculative_blocks=size - 1),)
    speculative = manager(
        side,
        specs=states,
        scheduler_block_size=size,
        hash_block_size=1,
        max_model_len=size,
        enable_caching=False,
    )
    assert speculative.allocate_slots(Request("r", [7]), 1) is None


def test_usage_is_the_held_share_of_the_blocks_beside_null(side: ModuleType) -> None:
    pool = side.BlockPool(9, True, 2)
    assert pool.get_usage() == 0.0
    taken = pool.get_new_blocks(2)
    assert pool.get_usage() == 0.25
    pool.free_blocks(taken)
    assert pool.get_usage() == 0.0
    assert side.BlockPool(1, True, 2).get_usage() == 0.0
    odd = side.BlockPool(52, True, 2)
    odd.get_new_blocks(6)
    assert odd.get_usage() == 6 / 51


def test_a_hit_is_for_a_request_that_has_nothing_yet(side: ModuleType) -> None:
    judged, owner, asked = manager(side, specs=(FULL,)), request(), request(name="asked")
    assert judged.allocate_slots(owner, 6) is not None
    judged.new_step_starts()
    blocks, hit, _ = judged.get_computed_blocks(asked)
    assert hit == 4

    def refused(reason: str) -> None:
        before = judged.snapshot()
        with pytest.raises(PreconditionError, match=reason):
            judged.allocate_slots(asked, 2, hit, blocks)
        assert judged.snapshot() == before

    asked.num_computed_tokens = 2
    refused("2 are computed, it has no table")
    asked.num_computed_tokens = 0
    assert judged.allocate_slots(asked, 2, hit, blocks) is not None
    refused("0 are computed, it has a table")
    judged.free(asked)
    judged.free(owner)
    assert judged.usage == 0.0


@pytest.mark.parametrize(
    ("num_computed", "clause"), [(4, "Allocate/fits_the_hit"), (-4, "Allocate/asks_for_something")]
)
def test_before_the_first_call_nothing_is_computed(side: ModuleType, num_computed: int, clause: str) -> None:
    made, newcomer = manager(side), request(10)
    newcomer.num_computed_tokens = num_computed
    before = made.snapshot()
    with pytest.raises(PreconditionError) as refusal:
        made.allocate_slots(newcomer, 2)
    assert getattr(refusal.value, "clause").id == clause  # noqa: B009
    assert made.snapshot() == before


def test_keys_are_for_tokens_that_have_places(side: ModuleType) -> None:
    made, newcomer = manager(side, specs=(FULL,)), request(10)
    assert made.allocate_slots(newcomer, 4, delay_cache_blocks=True) is not None
    before = made.snapshot()
    with pytest.raises(PreconditionError, match=r"num_computed_tokens is 10, request 'r' has \[1\] blocks"):
        made.cache_blocks(newcomer, 10)
    assert made.snapshot() == before
    made.cache_blocks(newcomer, 4)
    assert len(made.snapshot().index) == 1


def test_without_caching_there_are_no_keys(side: ModuleType) -> None:
    made, newcomer = manager(side, specs=(FULL,), enable_caching=False), request(10)
    assert made.allocate_slots(newcomer, 8) is not None
    made.cache_blocks(newcomer, 8)
    assert made.snapshot().index == {}


def test_a_request_without_hashes_is_served_and_names_nothing(side: ModuleType) -> None:
    judged = manager(side)
    unnamed = Request("r", list(range(20)))
    assert judged.get_computed_blocks(unnamed)[1] == 0
    assert judged.allocate_slots(unnamed, 20) is not None
    unnamed.num_computed_tokens = 20
    judged.cache_blocks(unnamed, 20)
    assert judged.snapshot().index == {}
    judged.free(unnamed)
    assert judged.usage == 0.0


def test_hashes_of_other_units_are_refused(side: ModuleType) -> None:
    judged = manager(side)
    other = Request("r", list(range(20)), block_hasher=get_request_block_hasher(4, sha256))
    before = judged.snapshot()
    calls: list[Callable[[], object]] = [
        lambda: judged.get_computed_blocks(other),
        lambda: judged.get_computed_blocks_for_connector(other),
        lambda: judged.allocate_slots(other, 20),
    ]
    for call in calls:
        with pytest.raises(PreconditionError, match=r"Hash/every_full_unit: .* 5 hashes for 10 full units"):
            call()
    assert judged.snapshot() == before


def test_less_than_no_speculative_block_is_refused() -> None:
    with pytest.raises(ValuePreconditionError, match="num_speculative_blocks is -1"):
        MambaSpec(4, ((1, 1),), ("float32",), num_speculative_blocks=-1)
