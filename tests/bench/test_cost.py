"""What the torch manager does grows with what is asked of it, and with nothing else: counted, not timed."""

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from pagedkv.conformance.bench.candidate import Candidate, deployment  # noqa: E402
from pagedkv.conformance.bench.candidates import candidate_named  # noqa: E402
from pagedkv.conformance.bench.cases import Decode  # noqa: E402
from pagedkv.conformance.bench.workload import admit, prompt  # noqa: E402

from .counting import Work, calls_of, work_of  # noqa: E402

IMPL = candidate_named("impl", "cpu")
BATCH = candidate_named("impl batch", "cpu")
ROUNDS = 3
SLACK = 1.25
"""How often a search has to go on depends on the keys."""


def least(works: Iterable[Work]) -> Work:
    """The least of some: now and then an act also makes room for twice as many keys or rows."""
    some = list(works)
    return Work(min(work.operations for work in some), min(work.elements for work in some))


def steps_of(candidate: Candidate, size: int) -> tuple[Work, int]:
    """The work of a decode step of so many requests, and the calls of another."""
    load = Decode(candidate, ROUNDS, size)
    works = []
    for number in range(ROUNDS - 1):
        load.prepare(number)
        works.append(work_of(vars(load)["_manager"], load.run))
    load.prepare(ROUNDS)
    return least(works), calls_of(load.run)


@pytest.fixture(scope="module")
def steps() -> dict[int, tuple[Work, int]]:
    """Batched steps of three sizes."""
    return {size: steps_of(BATCH, size) for size in (16, 64, 256)}


def test_a_batched_step_takes_as_many_operations_for_many_requests(
    steps: dict[int, tuple[Work, int]],
) -> None:
    operations = {size: work.operations for size, (work, _) in steps.items()}
    assert operations[64] < SLACK * operations[16]
    assert operations[256] < SLACK * operations[64]


def test_what_a_batched_step_touches_grows_with_the_requests(steps: dict[int, tuple[Work, int]]) -> None:
    elements = {size: work.elements for size, (work, _) in steps.items()}
    assert elements[64] < SLACK * 4 * elements[16]
    assert elements[256] < SLACK * 4 * elements[64]


def test_what_a_batched_step_asks_of_python_grows_with_the_requests(
    steps: dict[int, tuple[Work, int]],
) -> None:
    calls = {size: calls for size, (_, calls) in steps.items()}
    assert (calls[256] - calls[64]) / 192 < SLACK * (calls[64] - calls[16]) / 48


def test_a_single_call_costs_the_same_in_a_long_pass() -> None:
    (few, few_calls), (many, many_calls) = (steps_of(IMPL, size) for size in (16, 256))
    assert many.operations < SLACK * 16 * few.operations
    assert many.elements < SLACK * 16 * few.elements
    assert many_calls < SLACK * 16 * few_calls


Act = Callable[[], object]
Prepared = Callable[[Any, int, int], Act]
"""Brings about what an act on a manager's n-th request of so many tokens needs, and answers the act."""


@cache
def in_pool(num_blocks: int, prepared: Prepared) -> dict[int, Work]:
    """The work of an act in a pool of so many blocks, for 256, 1,024 and 4,096 tokens."""
    manager = IMPL.make_manager(deployment(num_blocks, 5000))
    return {
        size: least(work_of(manager, prepared(manager, size, n)) for n in range(3))
        for size in (256, 1024, 4096)
    }


def new_request(size: int, n: int, longer: int = 0) -> Any:
    """A request whose first ``size`` tokens are those of every other one of this size and number."""
    return IMPL.new_request(f"r{size}-{n}-{longer}", prompt(10 * size + n, size + longer))


def lookup(manager: Any, size: int, n: int) -> Act:
    admit(manager, new_request(size, n))
    request = new_request(size, n, 1)

    def act() -> None:
        assert manager.get_computed_blocks(request)[1] == size

    return act


def miss(manager: Any, size: int, n: int) -> Act:
    request = new_request(size, n)
    return lambda: manager.get_computed_blocks(request)


def admission(manager: Any, size: int, n: int) -> Act:
    request = new_request(size, n)
    return lambda: admit(manager, request)


def allocation(manager: Any, size: int, n: int) -> Act:
    request = new_request(size, n)
    admit(manager, request)
    request.append_output_token_ids(7)

    def act() -> None:
        assert manager.allocate_slots(request, 1).get_block_ids() != ([],)

    return act


def release(manager: Any, size: int, n: int) -> Act:
    request = new_request(size, n)
    admit(manager, request)
    return lambda: manager.free(request)


def withdrawal(manager: Any, size: int, n: int) -> Act:
    request = new_request(size, n)
    admit(manager, request)
    return lambda: manager.free(request, withdraw=True)


@pytest.mark.parametrize("act", [lookup, miss, admission, allocation, release, withdrawal])
def test_the_pool_does_not_count(act: Prepared) -> None:
    small, large = in_pool(2_000, act), in_pool(200_000, act)
    for size, work in small.items():
        assert large[size].elements < SLACK * work.elements
        assert large[size].operations < SLACK * work.operations


@pytest.mark.parametrize("act", [lookup, admission, release, withdrawal])
def test_what_is_touched_grows_with_the_blocks(act: Prepared) -> None:
    work = in_pool(2_000, act)
    for size in (256, 1024):
        assert work[4 * size].elements < SLACK * 4 * work[size].elements
    # A wider search goes on a few times, not once for each block.
    assert work[4096].operations < 5 * work[256].operations


@pytest.mark.parametrize("act", [miss, allocation])
def test_one_block_costs_the_same_wherever_it_is(act: Prepared) -> None:
    work = in_pool(2_000, act)
    assert work[4096].elements < SLACK * work[256].elements
    assert work[4096].operations < SLACK * work[256].operations


def test_a_scan_of_the_pool_would_be_seen() -> None:
    def scan(manager: Any, size: int, n: int) -> Act:
        once = miss(manager, size, n)
        return lambda: [once(), (manager.block_pool.ref_counts == 0).any()]

    small, large = in_pool(2_000, scan), in_pool(200_000, scan)
    assert large[256].elements - small[256].elements == 2 * 198_000 + 198_000


def test_only_what_indices_name_is_touched_of_the_state() -> None:
    state, here = torch.zeros(1000), torch.arange(5)
    for act, elements in (
        (lambda: state[here], 5 + 5),
        (lambda: state.index_select(0, here), 5 + 5),
        (lambda: state.index_put_((here,), torch.ones(())), 1 + 5 + 1),
        (lambda: state[10:20].gather(0, here), 5 + 5),
        (lambda: state.clone()[here], 2000 + 1000 + 5 + 5),
    ):
        assert work_of([state], act).elements == elements


def test_views_cost_nothing_and_what_reads_all_of_the_state_all_of_it() -> None:
    state = torch.zeros(10, 100)
    assert work_of([state], lambda: state.view(-1)[5:].unsqueeze(0).expand(7, -1)) == Work(0, 0)
    assert work_of([state], lambda: state.sum()) == Work(1, 1001)
    mask = torch.zeros(10, 100, dtype=torch.bool)
    assert work_of([state, mask], lambda: state[mask]).elements >= 1000
    assert work_of([state], lambda: [state.add_(1) for _ in range(3)]).operations == 3


def test_calls_of_python_are_counted() -> None:
    def once() -> int:
        return len("a")

    assert calls_of(lambda: [once() for _ in range(10)]) - calls_of(lambda: [once() for _ in range(5)]) == 10
