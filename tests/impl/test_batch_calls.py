"""How a batch is asked for, and what it refuses."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from pagedkv.impl import KVCacheManager
from pagedkv.spec import BlockHash, PreconditionError, Request, ValuePreconditionError
from tests.scenarios.build import UNIT, hybrid, publish, words
from tests.scenarios.sides import load

Running = tuple[KVCacheManager, list[Request]]


@pytest.fixture
def running(device: torch.device) -> Running:
    """Three requests that have computed all of their prompts."""
    manager: KVCacheManager = hybrid(load("impl"), device=device)
    return manager, [publish(manager, f"r{i}", words(6 + 4 * i, first=100 * i)) for i in range(3)]


def state_of(manager: KVCacheManager, requests: list[Request]) -> object:
    """All that a call could change."""
    return manager.snapshot(), [(list(r.all_token_ids), list(r.block_hashes)) for r in requests]


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda m, r: m.allocate_slots_batch(r, [1, 1]), ValuePreconditionError),
        (lambda m, r: m.allocate_slots_batch(r, [1] * 4), ValuePreconditionError),
        (lambda m, r: m.allocate_slots_batch(r, 1, [7, 8]), ValuePreconditionError),
        (lambda m, r: m.allocate_slots_batch(r, 1, [7] * 4), ValuePreconditionError),
        (lambda m, r: m.allocate_slots_batch(r, 1, []), ValuePreconditionError),
        (lambda m, r: m.allocate_slots_batch([], [1]), ValuePreconditionError),
        (lambda m, r: m.allocate_slots_batch(r, [1, 1, 0], [7, 8, 9]), ValuePreconditionError),
        (lambda m, r: m.allocate_slots_batch(r, [1, 4097, 1], [7, 8, 9]), ValuePreconditionError),
        (lambda m, r: m.allocate_slots_batch(r, 4090, [7, 8, 9]), ValuePreconditionError),
        (lambda m, r: m.allocate_slots_batch(r, 1, [7, 8, 2**63]), ValueError),
        (lambda m, r: m.allocate_slots_batch(r, 1, [[7] * 9, [8], [9, "ten"]]), ValueError),
        (lambda m, r: m.allocate_slots_batch(r, torch.tensor(1)), ValuePreconditionError),
        (lambda m, r: m.allocate_slots_batch(r, iter([1, 1, 1])), ValuePreconditionError),
    ],
    ids=range(13),
)
def test_a_batch_is_refused_and_changes_nothing(
    call: Callable[[KVCacheManager, list[Request]], object], kind: type[Exception], running: Running
) -> None:
    manager, requests = running
    before = state_of(manager, requests)
    with pytest.raises(kind) as refusal:
        call(manager, requests)
    assert state_of(manager, requests) == before
    if isinstance(refusal.value, PreconditionError):
        assert refusal.value.clause.id == "Allocate/asks_for_something"


def test_nobody_is_served_where_one_is_refused(running: Running) -> None:
    manager, requests = running
    newcomer = Request("newcomer", words(UNIT))
    newcomer.num_computed_tokens = 2
    asked = [*requests, newcomer]
    before = state_of(manager, asked)
    with pytest.raises(PreconditionError, match=r"'newcomer' .* 2 are computed, it has no table") as refusal:
        manager.allocate_slots_batch(asked, 1, [7, 8, 9, 10])
    assert refusal.value.clause.id == "Allocate/fits_the_hit"
    assert state_of(manager, asked) == before
    newcomer.num_computed_tokens = 0
    assert manager.allocate_slots_batch(asked, 1, [7, 8, 9, 10])[0] == [True] * 4


def test_a_batch_of_nobody(running: Running) -> None:
    manager, requests = running
    before = state_of(manager, requests)
    assert manager.allocate_slots_batch([], 1) == manager.allocate_slots_batch([], [], []) == ([], [])
    assert state_of(manager, requests) == before


@pytest.mark.parametrize("counts", [UNIT, [UNIT] * 3, (UNIT,) * 3])
@pytest.mark.parametrize("tokens", [[words(UNIT)] * 3, (tuple(words(UNIT)),) * 3])
def test_counts_and_tokens_for_all_or_for_each(counts: Any, tokens: Any, running: Running) -> None:
    manager, requests = running
    lengths = [request.num_tokens for request in requests]
    served, blocks = manager.allocate_slots_batch(requests, counts, tokens)
    assert served == [True] * 3
    assert [len(one.blocks[0]) for one in blocks if one is not None] == [1, 1, 1]
    assert [r.num_tokens for r in requests] == [n + UNIT for n in lengths]
    assert [list(r.all_token_ids)[-UNIT:] for r in requests] == [words(UNIT)] * 3


def test_single_tokens_may_come_without_lists(running: Running) -> None:
    manager, requests = running
    manager.allocate_slots_batch(requests, 1, [5, [6], 7])
    assert [request.all_token_ids[-1] for request in requests] == [5, 6, 7]


def test_after_an_error_in_one_request_nothing_has_been_appended(running: Running) -> None:
    manager, requests = running
    before = manager.snapshot(), [(r.num_tokens, len(r.block_hashes)) for r in requests]

    def fails(of: Request) -> list[BlockHash]:
        raise RuntimeError("no hash today")

    requests[2]._block_hasher = fails
    with pytest.raises(RuntimeError, match="no hash today"):
        manager.allocate_slots_batch(requests, UNIT, [words(UNIT)] * 3)
    assert (manager.snapshot(), [(r.num_tokens, len(r.block_hashes)) for r in requests]) == before


def test_a_first_digest_that_is_too_long_takes_all_back(device: torch.device) -> None:
    manager: KVCacheManager = hybrid(load("impl"), device=device)
    late = Request(
        "late", words(UNIT - 1), block_hasher=lambda r: [BlockHash(bytes(64))] * (r.num_tokens // UNIT)
    )
    assert manager.allocate_slots(late, UNIT - 1) is not None
    late.num_computed_tokens = UNIT - 1
    before = manager.snapshot()
    with pytest.raises(PreconditionError, match="64 bytes"):
        manager.allocate_slots_batch([late], 1, [5])
    assert (manager.snapshot(), late.num_tokens, late.block_hashes) == (before, UNIT - 1, [])
