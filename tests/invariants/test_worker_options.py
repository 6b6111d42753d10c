"""What the worker's memory holds after drafts, loads and zeroing."""

from collections.abc import Sequence

import pytest

from pagedkv.invariants.slots import in_words
from pagedkv.invariants.work import Work
from pagedkv.invariants.worker import Worker
from pagedkv.spec import World
from pagedkv.spec.clauses import worker as clauses
from pagedkv.spec.world import Group, Prompt

from .build import TOKENS

PROMPTS = (Prompt(TOKENS, 11), Prompt((1, *TOKENS), 11))
STATES = World((Group("mamba", 4, speculative=2),), 12, 4, PROMPTS, 2, 12)
ATTENTION = World((Group("full", 2),), 12, 2, PROMPTS, 2, 12)
GAPPED = World(
    (Group("reference", 2, reach=2), Group("full", 2)),
    13,
    2,
    tuple(Prompt(TOKENS, length) for length in (1, 8, 1)),
    3,
    12,
)
"""The first request's steps see all before them up to that at token 3."""


def work(
    start: int,
    end: int,
    row: Sequence[int] = (),
    *,
    request: str = "r0",
    loaded_from: int | None = None,
    drafts: int = 0,
    accepted: int = 0,
    prompt: int = 0,
    more: Sequence[Sequence[int]] = (),
    valid: int | None = None,
) -> Work:
    """What a step computes for a request, of the first prompt unless another is named.

    ``row`` is its table, or what that has more, and ``more`` that of further groups.
    """
    return Work(
        request,
        prompt,
        start,
        end,
        (tuple(row), *map(tuple, more)),
        is_new=start == 0,
        is_whole=start == 0 or loaded_from is not None,
        loaded_from=start if loaded_from is None else loaded_from,
        drafts=drafts,
        accepted=accepted,
        valid=valid,
    )


def does(
    worker: Worker, *works: Work, copies: Sequence[tuple[int, int]] = (), zeroed: Sequence[int] = ()
) -> int:
    """Run a step; answers how many positions or states it read wrongly."""
    found = list(worker.step(copies, works, zeroed))
    assert all(breach.clause is clauses.READS_ITS_PREFIX for breach in found)
    return len(found)


def holds(worker: Worker, block: int) -> str:
    """What a block holds, in words."""
    return in_words(worker.memory[block].runs) if block in worker.memory else "never written"


def decoding(*row: int) -> Worker:
    """A worker whose request of the first prompt has the states of 4 tokens in the first block of ``row``."""
    worker = Worker(STATES)
    assert not does(worker, work(0, 4, row))
    return worker


def test_the_states_of_drafts_lie_one_behind_the_other() -> None:
    worker = decoding(1, 2, 3)
    assert not does(worker, work(4, 7, (4,), drafts=2, accepted=1))
    assert [holds(worker, block) for block in (1, 2, 3, 4)] == ["[p0:4]", "[p0:5]", "[p0:6]", "[nothing]"]


@pytest.mark.parametrize("accepted", [0, 1, 2])
def test_a_request_goes_on_from_the_state_of_its_last_accepted_draft(accepted: int) -> None:
    worker = decoding(1, 2, 3)
    assert not does(worker, work(4, 7, (4,), drafts=2, accepted=accepted))
    lost = worker.copy()
    lost.memory.pop(2 + accepted)
    assert not does(worker, work(5 + accepted, 6 + accepted))
    assert does(lost, work(5 + accepted, 6 + accepted))


KEPT_PER_BLOCK = World((Group("mamba-all", 4, speculative=2),), 12, 4, PROMPTS, 2, 12)
KEPT_ALONE = World((Group("mamba-none", 12, speculative=2),), 12, 4, PROMPTS, 2, 12, enable_caching=False)


@pytest.mark.parametrize("accepted", [0, 1, 2])
@pytest.mark.parametrize(("world", "first"), [(KEPT_PER_BLOCK, 2), (KEPT_ALONE, 0)])
def test_drafts_leave_states_in_the_same_places_in_every_mode(
    world: World, first: int, accepted: int
) -> None:
    worker, row = Worker(world), (1, 2, 3, 4, 5)
    assert not does(worker, work(0, 6, row))
    assert not does(worker, work(6, 9, drafts=2, accepted=accepted))
    right = [f"[p0:{n}]" if n <= 7 + accepted else "[nothing]" for n in (7, 8, 9)]
    assert [holds(worker, block) for block in row[first : first + 3]] == right
    if world is KEPT_PER_BLOCK:
        # The state after 8 tokens lands in its own entry, if they are right.
        assert holds(worker, 2) == ("[p0:8]" if accepted else "[p0:6]")
    lost = worker.copy()
    lost.memory.pop(row[first + accepted])
    assert not does(worker, work(7 + accepted, 8 + accepted))
    assert does(lost, work(7 + accepted, 8 + accepted))


@pytest.mark.parametrize(("kind", "row"), [("all", (1, 2, 3, 4)), ("all", (1, 2, 3, 4, 0)), ("none", (1, 2))])
def test_a_draft_without_a_place_for_its_state_is_seen(kind: str, row: Sequence[int]) -> None:
    worker = Worker(KEPT_PER_BLOCK if kind == "all" else KEPT_ALONE)
    assert not does(worker, work(0, 6, row))
    first, *_ = worker.step((), (work(6, 9, drafts=2, accepted=0),))
    assert first.clause is clauses.STATES_OF_DRAFTS


def test_a_block_for_two_states_is_seen() -> None:
    worker = Worker(KEPT_ALONE)
    assert not does(worker, work(0, 6, (1, 2, 1)))
    assert [breach.clause for breach in worker.step((), (work(6, 9, drafts=2, accepted=0),))] == [
        clauses.STATES_OF_DRAFTS,
        clauses.READS_ITS_PREFIX,
    ]


def test_a_step_without_drafts_reads_and_writes_the_running_entry_again() -> None:
    worker = decoding(1, 2, 3)
    does(worker, work(4, 7, (4,), drafts=2, accepted=1))
    does(worker, work(6, 7))
    assert holds(worker, 2) == "[p0:7]"
    worker.memory.pop(3)
    assert not does(worker, work(7, 8))


@pytest.mark.parametrize(("accepted", "landed"), [(0, "[p0:6]"), (1, "[p0:8]"), (2, "[p0:8]")])
def test_the_state_at_a_boundary_that_right_tokens_cross_gets_into_its_entry(
    accepted: int, landed: str
) -> None:
    worker = decoding(1, 2, 3)
    assert not does(worker, work(4, 6))
    assert not does(worker, work(6, 9, (4, 5), drafts=2, accepted=accepted))
    assert holds(worker, 2) == landed


def test_what_a_rejected_draft_wrote_is_content_of_nobody() -> None:
    worker = Worker(ATTENTION)
    does(worker, work(0, 5, (1, 2, 3)))
    assert not does(worker, work(5, 8, (4,), drafts=2, accepted=1))
    assert [holds(worker, block) for block in (3, 4)] == ["[p0:5..6]", "[p0:7, nothing]"]
    assert not does(worker, work(7, 9, (5,)))
    assert holds(worker, 4) == "[p0:7..8]"


def test_a_rejected_draft_that_is_read_is_seen() -> None:
    worker = Worker(ATTENTION)
    does(worker, work(0, 5, (1, 2, 3)))
    does(worker, work(5, 8, (4,), drafts=2, accepted=0))
    assert does(worker, work(8, 9, (5,)))


def test_a_step_reads_what_it_loads() -> None:
    worker = Worker(ATTENTION)
    assert not does(worker, work(4, 6, (1, 2, 3), loaded_from=0))
    assert [holds(worker, block) for block in (1, 2, 3)] == ["[p0:1..2]", "[p0:3..4]", "[p0:5..6]"]
    assert does(Worker(ATTENTION), work(4, 6, (1, 2, 3), loaded_from=2))


def test_a_load_of_a_state_is_that_of_its_last_token() -> None:
    worker = Worker(STATES)
    worker.load(0, ((0, 1, 2, 3),), 0, 8, 8)
    assert holds(worker, 1) == "[p0:8]"
    worker.load(0, ((0, 1, 2, 3),), 0, 8, 4)
    assert holds(worker, 1) == "[nothing]"


def test_what_a_failed_load_leaves_out_is_content_of_nobody() -> None:
    worker = Worker(ATTENTION)
    worker.load(0, ((1, 2, 3),), 0, 6, 2)
    assert [holds(worker, block) for block in (1, 2, 3)] == [
        "[p0:1..2]",
        "[nothing in 2 slots]",
        "[nothing in 2 slots]",
    ]
    assert not does(worker.copy(), work(2, 6, (1, 2, 3), loaded_from=2))
    assert does(worker, work(4, 6, (1, 2, 3), loaded_from=4))


def test_blocks_are_zeroed_before_anything_is_copied() -> None:
    worker = Worker(ATTENTION)
    does(worker, work(0, 3, (1, 2)))
    first = worker.copy()
    assert not does(first, work(3, 4), copies=[(2, 3)], zeroed=[3])
    assert holds(first, 3) == "[p0:3]"
    assert does(worker, work(3, 4), copies=[(2, 3)], zeroed=[2])
    assert holds(worker, 3) == "never written"


def test_blocks_are_zeroed_before_the_step_loads_and_writes() -> None:
    worker = Worker(ATTENTION)
    assert not does(worker, work(4, 6, (1, 2, 3), loaded_from=0), zeroed=[1, 2, 3])


def test_a_zeroed_block_that_is_read_is_seen() -> None:
    worker = Worker(ATTENTION)
    does(worker, work(0, 4, (1, 2)))
    assert does(worker, work(4, 5, (3,)), zeroed=[1])


def gapped() -> Worker:
    """A worker whose request of the first prompt has 8 tokens, of the first group in blocks 1 to 4."""
    worker = Worker(GAPPED)
    assert not does(worker, work(0, 8, (1, 2, 3, 4), more=[(5, 6, 7, 8)]))
    return worker


def test_what_is_computed_behind_a_gap_tells_where_the_prompt_ends() -> None:
    worker = gapped()
    words = ["[p0:1..2]", "[p0:3..4]", "[p0:5..6 behind 1]", "[p0:7..8 behind 1]"]
    # All groups compute from what the others have seen.
    assert [holds(worker, block) for block in range(1, 9)] == words * 2


@pytest.mark.parametrize(("prompt", "hit", "wrong"), [(1, 4, 0), (1, 6, 2), (2, 6, 0)])
def test_only_who_has_the_same_prompt_goes_on_from_behind_a_gap(prompt: int, hit: int, wrong: int) -> None:
    worker, n = gapped(), hit // 2
    rows = (*(1, 2, 3, 4)[:n], *(9, 10)[n - 2 :]), (*(5, 6, 7, 8)[:n], *(11, 12)[n - 2 :])
    step = work(hit, 8, rows[0], more=rows[1:], request="r1", prompt=prompt, loaded_from=hit)
    # In each group the block of the tokens 4 and 5 is another's.
    assert does(worker, step) == wrong


def misled() -> Worker:
    """A worker that has loaded 4 tokens, of which 2 are right, for two requests that share them."""
    worker = Worker(ATTENTION)
    fails = work(4, 6, (1, 2, 3), loaded_from=0, valid=2)
    assert not does(worker, fails, work(4, 6, (1, 2, 4), request="r1", loaded_from=4))
    return worker


def test_all_that_follows_from_an_invalid_load_is_invalid() -> None:
    worker = misled()
    words = ["[p0:1..2]", *["[invalid since step 1 in 2 slots]"] * 3]
    assert [holds(worker, block) for block in (1, 2, 3, 4)] == words
    # So is what later steps compute from it, or copy.
    assert not does(worker, work(6, 7, (5,), request="r1"), copies=[(4, 6)])
    assert [holds(worker, block) for block in (5, 6)] == ["[invalid since step 1]", words[1]]
    # Whoever does not read it has nothing to do with it.
    assert not does(worker, work(2, 4, (1, 7), request="r2", loaded_from=2))
    assert holds(worker, 7) == "[p0:3..4]"


def test_a_state_that_follows_from_an_invalid_load_is_invalid() -> None:
    worker = Worker(STATES)
    assert not does(worker, work(4, 8, (1, 2), loaded_from=0, valid=0))
    assert [holds(worker, block) for block in (1, 2)] == ["[invalid since step 1]"] * 2
    assert not does(worker, work(8, 9, (3,)))
    assert holds(worker, 3) == "[invalid since step 1]"


@pytest.mark.parametrize(("forgets", "wrong"), [((), 2), (("r0",), 1), (("r0", "r1"), 0)])
def test_who_goes_on_from_an_invalid_load_is_named(forgets: Sequence[str], wrong: int) -> None:
    worker = misled()
    for request in forgets:
        worker.drop(request)
    assert not list(worker.copy().forget_invalid(0, None))
    found = [breach.clause for breach in worker.forget_invalid(1, None)]
    assert found == [clauses.INVALID_LOADS] * wrong
    assert [holds(worker, block) for block in (1, 2, 3, 4)] == ["[p0:1..2]", *["never written"] * 3]
    assert not list(worker.forget_invalid(1, None))
    running = [r for r in ("r0", "r1") if r not in forgets]
    later = [work(6, 7, (8 + i,), request=request) for i, request in enumerate(running)]
    assert bool(does(worker, *later)) == bool(wrong)
