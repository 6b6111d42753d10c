"""The complete scheduler over the managers of both sides."""

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import pytest

from pagedkv.reference import Scheduler
from pagedkv.spec import (
    PreconditionError,
    Request,
    RequestStatus,
    ValuePreconditionError,
    get_request_block_hasher,
    sha256,
)
from pagedkv.spec.clauses import freeing, schedule

from .build import BLOCK, UNIT, attention, deployment, hybrid, ids, request, states, window, words


def scheduler(manager: Any, **limits: Any) -> Scheduler:
    """A scheduler over the manager; two requests run, twelve tokens a step, if nothing else is said."""
    defaults = {
        "max_model_len": 4096,
        "hash_block_size": UNIT,
        "max_num_running_reqs": 2,
        "max_num_scheduled_tokens": 12,
    }
    return Scheduler(manager, manager.kv_cache_config, **{**defaults, **limits})


def settle(made: Scheduler, output: Any, token: int = 7) -> list[str]:
    """Give each request that waits for one the same token."""
    parts = output.scheduled.items()
    return made.update_from_output(output, {name: [token] for name, part in parts if part.is_sampled})


def steps(made: Scheduler, number: int) -> list[dict[str, int]]:
    """The tokens by request of that many passes, each settled at once."""
    tokens = []
    for _ in range(number):
        output = made.schedule()
        tokens.append(output.num_scheduled_tokens)
        settle(made, output)
    return tokens


def serve(made: Scheduler, most: int = 200) -> int:
    """Serve all that is there; how many passes that took."""
    for number in range(most):
        if not made.has_requests():
            return number
        settle(made, made.schedule())
    raise AssertionError(f"{list(made.requests)} have not ended after {most} passes")


def come(made: Scheduler, *names: str, tokens: int = 8, output: int = 4, first: int = 100) -> list[Request]:
    """Requests without a common prefix arrive."""
    requests = [request(name, words(tokens, first + 1000 * i)) for i, name in enumerate(names)]
    for newcomer in requests:
        made.add_request(newcomer, max_output_tokens=output)
    return requests


def test_a_pass_spends_its_budget_on_who_runs_and_then_on_who_waits(side: ModuleType) -> None:
    made = scheduler(deployment(side, attention(UNIT)), max_num_running_reqs=3)
    come(made, "a", "b", "c", "d")
    assert steps(made, 3) == [{"a": 8, "b": 4}, {"a": 1, "b": 4, "c": 7}, {"a": 1, "b": 1, "c": 1}]
    # The last token of the output is not computed.
    assert steps(made, 3) == [{"a": 1, "b": 1, "c": 1}, {"b": 1, "c": 1, "d": 8}, {"c": 1, "d": 1}]


def test_who_has_all_output_ends_and_holds_nothing(side: ModuleType) -> None:
    manager = deployment(side, attention(UNIT))
    made = scheduler(manager)
    (first, second) = come(made, "a", "b", output=2)
    assert second.status is RequestStatus.WAITING
    settle(made, made.schedule())
    assert first.status is RequestStatus.RUNNING
    assert serve(made) == 2
    assert [r.status for r in (first, second)] == [RequestStatus.FINISHED] * 2
    assert (first.num_tokens, second.num_tokens) == (10, 10)
    assert manager.usage == 0.0


def test_a_prompt_without_output_ends_with_its_last_token(side: ModuleType) -> None:
    made = scheduler(deployment(side, attention(UNIT)), max_num_scheduled_tokens=7)
    come(made, "a", output=0)
    assert steps(made, 2) == [{"a": 7}, {"a": 1}]
    assert not made.has_requests()


def test_a_long_prompt_leaves_room_for_others(side: ModuleType) -> None:
    made = scheduler(deployment(side, attention(UNIT)), long_prefill_token_threshold=5)
    come(made, "a", "b")
    assert steps(made, 2) == [{"a": 5, "b": 5}, {"a": 3, "b": 3}]


def test_states_are_reached_at_the_ends_of_blocks(side: ModuleType) -> None:
    made = scheduler(hybrid(side), max_num_scheduled_tokens=BLOCK + 5)
    come(made, "a", tokens=2 * BLOCK + UNIT + 2)
    assert steps(made, 4) == [{"a": BLOCK}, {"a": BLOCK}, {"a": UNIT}, {"a": 2}]


def test_the_last_gives_way_and_comes_back_first(side: ModuleType) -> None:
    # Six blocks: a and b fill four, and both need a third and a fourth.
    manager = deployment(side, attention(UNIT), num_blocks=6)
    made = scheduler(manager, max_num_scheduled_tokens=16)
    first, second = come(made, "a", "b", tokens=8, output=8)
    come(made, "c", tokens=4, output=1, first=9000)
    steps(made, 1)
    output = made.schedule()
    assert output.preempted_req_ids == ["b"]
    assert second.status is RequestStatus.PREEMPTED
    # It asked first, and nobody is admitted into what is left.
    assert output.num_scheduled_tokens == {"a": 1}
    settle(made, output)
    assert [entry.request.request_id for entry in made.queues.waiting] == ["b", "c"]
    serve(made)
    assert (first.num_tokens, second.num_tokens) == (16, 16)
    assert manager.usage == 0.0


def test_under_priorities_the_least_urgent_gives_way_and_its_work_is_withdrawn(side: ModuleType) -> None:
    manager = deployment(side, attention(UNIT), num_blocks=6)
    made = scheduler(manager, policy="priority", max_num_scheduled_tokens=16)
    later = request("later", words(7))
    made.add_request(later, priority=5, max_output_tokens=8)
    steps(made, 1)
    urgent = request("urgent", words(12, 900))
    made.add_request(urgent, priority=1, max_output_tokens=4)
    assert steps(made, 1) == [{"later": 1, "urgent": 12}]
    output = made.schedule()
    # It had its slots already, in a new block.
    assert output.preempted_req_ids == ["later"]
    assert output.num_scheduled_tokens == {"urgent": 1}
    settle(made, output)
    serve(made)
    assert (later.num_tokens, urgent.num_tokens) == (15, 16)


class Spares:
    """A manager that refuses to withdraw some requests."""

    def __init__(self, manager: Any, spared: Sequence[str]) -> None:
        self._manager = manager
        self.spared = spared

    def __getattr__(self, name: str) -> Any:
        return getattr(self._manager, name)

    def free(self, asked: Request, withdraw: bool = False) -> None:
        """Refuse as if another held a block of the request's keys."""
        if withdraw and asked.request_id in self.spared:
            raise PreconditionError(freeing.NOT_WHAT_OTHERS_TOOK, asked.request_id)
        self._manager.free(asked, withdraw)


@pytest.mark.parametrize(("spared", "victim"), [((), "c"), (("c",), "b")])
def test_who_may_not_be_withdrawn_is_spared(side: ModuleType, spared: Sequence[str], victim: str) -> None:
    manager = Spares(deployment(side, attention(UNIT), num_blocks=8), spared)
    made = scheduler(manager, policy="priority", max_num_running_reqs=3, max_num_scheduled_tokens=24)
    made.add_request(request("c", words(5)), 5, 6)
    steps(made, 1)
    made.add_request(request("b", words(6, 300)), 3, 6)
    made.add_request(request("a", words(12, 500)), 1, 6)
    steps(made, 1)
    output = made.schedule()
    assert output.preempted_req_ids == [victim]
    assert "a" in output.scheduled


def test_other_refusals_of_a_free_come_through(side: ModuleType) -> None:
    class Cannot(Spares):
        def free(self, asked: Request, withdraw: bool = False) -> None:
            raise PreconditionError(freeing.FORGETS_THE_REQUEST, "no")

    made = scheduler(Cannot(deployment(side, attention(UNIT), num_blocks=6), ()), max_num_scheduled_tokens=16)
    come(made, "a", "b", tokens=8, output=8)
    steps(made, 1)
    with pytest.raises(PreconditionError, match="Free/forgets_the_request"):
        made.schedule()


def test_who_never_fits_is_refused_at_once(side: ModuleType) -> None:
    manager = deployment(side, attention(UNIT), window(UNIT, 6), num_blocks=12)
    made = scheduler(manager, max_model_len=40, max_num_scheduled_tokens=4)
    # 27 tokens have KV: seven blocks of attention, and at most three of the window.
    made.add_request(request("fits", words(24)), max_output_tokens=4)
    with pytest.raises(ValuePreconditionError, match="needs up to 12 of 11 blocks") as refusal:
        made.add_request(request("wide", words(30)), max_output_tokens=4)
    assert refusal.value.clause is schedule.NEVER_FITS
    with pytest.raises(ValuePreconditionError, match="grows to 41 tokens, max_model_len is 40"):
        made.add_request(request("long", words(2)), max_output_tokens=39)
    # Without a limit of its own a request may become as long as the model allows.
    with pytest.raises(ValuePreconditionError, match="needs up to 13 of 11 blocks"):
        made.add_request(request("open", words(2)))
    assert list(made.requests) == ["fits"]
    serve(made)


def test_a_request_arrives_once_and_new(side: ModuleType) -> None:
    made = scheduler(deployment(side, attention(UNIT)))
    come(made, "a")
    with pytest.raises(ValuePreconditionError) as refusal:
        come(made, "a")
    assert refusal.value.clause is schedule.ARRIVES_ONCE
    begun = request("b", words(8))
    begun.num_computed_tokens = 4
    with pytest.raises(ValuePreconditionError, match="'b' is new and has 4 computed tokens"):
        made.add_request(begun, max_output_tokens=1)


@pytest.mark.parametrize(
    "limits",
    [
        {"max_num_scheduled_tokens": 0},
        {"max_num_scheduled_tokens": 1.5},
        {"max_num_running_reqs": 0},
        {"max_model_len": 4097},
        {"long_prefill_token_threshold": -1},
        {"max_in_flight_steps": 1.5},
        {"num_ranks": 0},
        {"reserved_blocks": -1},
        {"policy": "bogus"},
    ],
)
def test_limits_that_are_none_are_refused(side: ModuleType, limits: dict[str, Any]) -> None:
    (name,) = limits
    with pytest.raises(PreconditionError, match=f"{name} is {limits[name]!r}"):
        scheduler(deployment(side, attention(UNIT)), **limits)


@pytest.mark.parametrize(
    ("others", "told"),
    [
        ({"priority": "x"}, "priority is 'x'"),
        ({"max_output_tokens": -5}, "max_output_tokens is -5"),
        ({"num_encoder_tokens": -3}, "num_encoder_tokens is -3"),
    ],
)
def test_a_request_with_impossible_numbers_does_not_arrive(
    side: ModuleType, others: dict[str, Any], told: str
) -> None:
    made = scheduler(deployment(side, attention(UNIT)), policy="priority")
    come(made, "a")
    with pytest.raises(ValuePreconditionError, match=told):
        made.add_request(request("b", words(8)), **others)
    assert list(made.requests) == ["a"]
    serve(made)


def test_hashes_of_other_units_do_not_arrive(side: ModuleType) -> None:
    made = scheduler(deployment(side, attention(UNIT)))
    stranger = Request("b", words(8), block_hasher=get_request_block_hasher(UNIT // 2, sha256))
    with pytest.raises(PreconditionError, match="request 'b' has 4 hashes for 2 full units"):
        made.add_request(stranger)
    assert not made.has_requests()


def test_tokens_that_are_none_settle_nothing(side: ModuleType) -> None:
    made = scheduler(deployment(side, attention(UNIT)))
    come(made, "a")
    output = made.schedule()
    with pytest.raises(ValueError, match="'x'"):
        made.update_from_output(output, {"a": ["x"]})  # type: ignore[list-item]
    assert made.processed_step_seq == 0
    assert settle(made, output) == []


def test_a_hit_that_does_not_fit_an_idle_pool_is_given_up(side: ModuleType) -> None:
    # The hit ends inside a block of each of three groups, and its sources and copies are too many together.
    manager = deployment(side, attention(BLOCK), attention(3 * BLOCK), states(), num_blocks=8)
    made = scheduler(manager, max_num_scheduled_tokens=64)
    for name in ("a", "b"):
        made.add_request(request(name, words(2 * BLOCK + 2 * UNIT + 1)), max_output_tokens=1)
        chunks = [{name: 2 * BLOCK}, {name: 2 * UNIT}, {name: 1}]
        assert steps(made, 3 + (name == "b")) == [{}] * (name == "b") + chunks
        assert not made.has_requests()


def test_an_abort_frees_what_a_request_holds_wherever_it_is(side: ModuleType) -> None:
    manager = deployment(side, attention(UNIT))
    made = scheduler(manager, max_num_running_reqs=1)
    come(made, "a", "b")
    output = made.schedule()
    made.finish_requests(["b", "nobody", "a"])
    # The step still writes.
    assert manager.usage > 0.0
    assert made.has_requests()
    settle(made, output)
    assert manager.usage == 0.0
    assert not made.has_requests()


def test_steps_in_flight_keep_their_blocks_and_give_them_back_in_order(side: ModuleType) -> None:
    manager = deployment(side, attention(UNIT))
    made = scheduler(manager, max_num_scheduled_tokens=16, max_in_flight_steps=2)
    come(made, "a", "b")
    outputs = [made.schedule() for _ in range(3)]
    assert [output.num_scheduled_tokens for output in outputs] == [{"a": 8, "b": 8}] + [{"a": 1, "b": 1}] * 2
    tables = [manager.get_block_ids(name)[0] for name in "ab"]
    made.finish_requests(["a"])
    before = manager.block_pool.get_num_free_blocks()
    settle(made, outputs[0])
    made.finish_requests(["b"])
    settle(made, outputs[1])
    assert manager.block_pool.get_num_free_blocks() == before
    settle(made, outputs[2])
    free = ids(manager.block_pool.get_new_blocks(39))
    # First a, then b, each from its end; blocks without keys are the first to be used again.
    assert free[-4:] == [*tables[0][1::-1], *tables[1][1::-1]]
    assert free[:2] == [tables[1][2], tables[0][2]]


def test_what_a_step_gives_to_one_that_gave_way_since_is_dropped(side: ModuleType) -> None:
    manager = deployment(side, attention(UNIT), num_blocks=6)
    made = scheduler(manager, max_num_scheduled_tokens=16, max_in_flight_steps=1)
    first, second = come(made, "a", "b", tokens=8, output=8)
    outputs = [made.schedule(), made.schedule()]
    assert outputs[1].preempted_req_ids == ["b"]
    for output in outputs:
        settle(made, output)
    assert (first.num_tokens, second.num_tokens) == (10, 8)
    serve(made)
    assert (first.num_tokens, second.num_tokens) == (16, 16)
    assert manager.usage == 0.0


def test_ends_of_copies_wait_for_their_step(side: ModuleType) -> None:
    manager = hybrid(side)
    made = scheduler(manager, max_num_scheduled_tokens=64, max_in_flight_steps=1)
    come(made, "a", tokens=BLOCK + 2 * UNIT + 1, output=6)
    outputs = [made.schedule() for _ in range(2)]
    while not outputs[-1].copies:
        settle(made, outputs.pop(0))
        outputs.append(made.schedule())
    (copy,) = outputs[-1].copies
    assert [fence for fence, _ in made.deferred_frees] == [outputs[-1].step_seq]
    assert [block.block_id for block in made.deferred_frees[0][1]] == [copy.dst_block_id, copy.src_block_id]
    for output in outputs:
        settle(made, output)
    assert not made.deferred_frees


def test_steps_are_settled_in_order_with_their_tokens(side: ModuleType) -> None:
    made = scheduler(deployment(side, attention(UNIT)), max_in_flight_steps=1)
    come(made, "a")
    outputs = [made.schedule(), made.schedule()]
    with pytest.raises(PreconditionError, match="2 steps were made and 0 settled") as refusal:
        made.schedule()
    assert refusal.value.clause is schedule.SETTLED_IN_ORDER
    with pytest.raises(PreconditionError, match="step 2 with"):
        made.update_from_output(outputs[1], {"a": [7]})
    for tokens in ([], [7, 8]):
        with pytest.raises(PreconditionError, match="step 1 with"):
            made.update_from_output(outputs[0], {"a": tokens})
    assert made.update_from_output(outputs[0], {"a": [7]}) == []


def test_drafts_are_computed_and_what_was_wrong_is_computed_again(side: ModuleType) -> None:
    made = scheduler(deployment(side, attention(UNIT)))
    (only,) = come(made, "a", output=6)
    output = made.schedule()
    made.update_from_output(output, {"a": [1]}, {"a": [2, 3, 9]})
    output = made.schedule()
    assert output.scheduled["a"].draft_token_ids == (2, 3, 9)
    assert output.num_scheduled_tokens == {"a": 4}
    made.update_from_output(output, {"a": [2, 3, 4]}, {"a": [5, 6, 7, 8]})
    assert (only.num_tokens, only.num_computed_tokens) == (12, 11)
    output = made.schedule()
    # Two tokens are missing: one draft and the one after it.
    assert output.scheduled["a"].draft_token_ids == (5,)
    assert made.update_from_output(output, {"a": [5, 6]}) == ["a"]
    assert list(only.all_token_ids)[8:] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("mode", ["align", "all"])
def test_no_more_drafts_come_than_states_have_places_for(side: ModuleType, mode: Any) -> None:
    made = scheduler(deployment(side, states(UNIT, 2, mode)))
    (only,) = come(made, "a", output=6)
    output = made.schedule()
    while not output.scheduled["a"].is_sampled:
        settle(made, output)
        output = made.schedule()
    with pytest.raises(PreconditionError) as refusal:
        made.update_from_output(output, {"a": [1]}, {"a": [2, 3, 9]})
    assert refusal.value.clause is schedule.DRAFTS_HAVE_PLACES
    assert (only.num_tokens, made.processed_step_seq) == (8, output.step_seq - 1)
    made.update_from_output(output, {"a": [1]}, {"a": [2, 3]})
    assert made.schedule().scheduled["a"].draft_token_ids == (2, 3)


def test_a_prefix_of_others_is_not_computed_again(side: ModuleType) -> None:
    made = scheduler(deployment(side, attention(UNIT)), max_num_scheduled_tokens=64)
    for name in "ab":
        made.add_request(request(name, words(14)), max_output_tokens=1)
    assert steps(made, 1) == [{"a": 14, "b": 2}]


class Connector:
    """Brings four tokens after the hit."""

    supports_divergent_local_hybrid_hits = False

    def get_num_new_matched_tokens(self, asked: Request, hit: int) -> int:
        """Four."""
        return UNIT


def test_options_and_external_tokens_reach_the_manager(side: ModuleType) -> None:
    asked: list[dict[str, Any]] = []

    class Asked(Spares):
        def allocate_slots(self, *args: Any, **options: Any) -> Any:
            asked.append(options)
            return self._manager.allocate_slots(*args)

    manager = Asked(deployment(side, attention(UNIT)), ())
    options = {"num_lookahead_tokens": 2, "full_sequence_must_fit": True, "reserved_blocks": 3}
    made = scheduler(manager, connector=Connector(), **options)
    made.add_request(request("a", words(8)), max_output_tokens=4, num_encoder_tokens=5)
    assert made.schedule().num_scheduled_tokens == {"a": 4}
    options["num_encoder_tokens"] = 5
    assert asked == [{**options, "has_scheduled_reqs": False, "num_external_computed_tokens": UNIT}]


def test_a_reset_waits_until_nothing_is_held(side: ModuleType) -> None:
    made = scheduler(deployment(side, attention(UNIT)))
    come(made, "a")
    steps(made, 1)
    assert not made.reset_prefix_cache()
    serve(made)
    assert made.reset_prefix_cache()


@pytest.mark.parametrize("specs", [(states(),), (attention(BLOCK), window(BLOCK, 20), states())])
def test_without_hits_inside_blocks_the_rest_of_a_prompt_is_one_chunk(
    side: ModuleType, specs: Sequence[Any]
) -> None:
    made = scheduler(deployment(side, *specs), max_num_scheduled_tokens=64)
    come(made, "a", tokens=2 * BLOCK + UNIT + 2)
    assert steps(made, 2) == [{"a": 2 * BLOCK}, {"a": UNIT + 2}]


def test_one_longer_than_the_model_allows_is_refused_whatever_the_pool(side: ModuleType) -> None:
    made = scheduler(deployment(side, attention(UNIT)), max_model_len=16)
    with pytest.raises(ValuePreconditionError, match="grows to 17 tokens, max_model_len is 16"):
        come(made, "a", tokens=8, output=9)
    come(made, "a", tokens=8, output=8)


def test_reserved_blocks_and_steps_in_flight_count_in_what_fits(side: ModuleType) -> None:
    manager = deployment(side, attention(UNIT), num_blocks=6)
    come(scheduler(manager), "a", tokens=17, output=1)
    with pytest.raises(ValuePreconditionError, match="needs up to 5 of 4 blocks"):
        come(scheduler(manager, reserved_blocks=1), "a", tokens=17, output=1)
    windows, mamba = deployment(side, window(UNIT, 6)), deployment(side, states())
    # Five tokens of the window and four of each step, with an end of a block on either side.
    at_once, in_flight = ({"max_num_scheduled_tokens": 4, "max_in_flight_steps": n} for n in (0, 1))
    assert [scheduler(windows, **limits).most_blocks(100) for limits in (at_once, in_flight)] == [3, 4]
    assert [scheduler(mamba, **limits).most_blocks(100) for limits in (at_once, in_flight)] == [3, 4]


def test_lookahead_and_whole_sequences_count_in_what_fits(side: ModuleType) -> None:
    manager = deployment(side, attention(UNIT), num_blocks=6)
    come(scheduler(manager, num_lookahead_tokens=3), "a", tokens=17, output=1)
    with pytest.raises(ValuePreconditionError, match="needs up to 6 of 5 blocks"):
        come(scheduler(manager, num_lookahead_tokens=4), "a", tokens=17, output=1)
    # Nobody asks for places beyond the longest that a request can become.
    come(scheduler(manager, num_lookahead_tokens=4, max_model_len=18), "a", tokens=17, output=1)
    windows = deployment(side, window(UNIT, 6))
    limits: dict[str, Any] = {"max_num_scheduled_tokens": 4, "full_sequence_must_fit": True}
    whole, capped = (scheduler(windows, **limits, max_in_flight_tokens=n) for n in (None, 8))
    # All its tokens are asked for; the manager may know that fewer are ever held: 13 in one more block.
    assert (whole.most_blocks(100), capped.most_blocks(100)) == (25, 5)


def test_room_for_all_tokens_is_asked_once(side: ModuleType) -> None:
    # Eight blocks: b is admitted when a has gone, since the rest of its prompt would not fit beside it.
    made = scheduler(deployment(side, attention(UNIT), num_blocks=8), full_sequence_must_fit=True)
    come(made, "a", "b", tokens=16, output=1)
    assert steps(made, 4) == [{"a": 12}, {"a": 4}, {"b": 12}, {"b": 4}]
    assert serve(made) == 0


def test_nobody_else_gives_way_while_blocks_come_back(side: ModuleType) -> None:
    manager = deployment(side, attention(UNIT), num_blocks=7)
    made = scheduler(manager, max_num_running_reqs=3, max_num_scheduled_tokens=24, max_in_flight_steps=1)
    come(made, "a", "b", "c", tokens=8, output=8)
    outputs = [made.schedule(), made.schedule()]
    assert outputs[1].preempted_req_ids == ["c"]
    assert outputs[1].num_scheduled_tokens == {}
    for output in outputs:
        settle(made, output)
    assert made.schedule().num_scheduled_tokens == {"a": 1, "b": 1}


def test_drafts_need_their_step_settled(side: ModuleType) -> None:
    made = scheduler(deployment(side, attention(UNIT)), max_in_flight_steps=1)
    come(made, "a", output=8)
    outputs = [made.schedule(), made.schedule()]
    # The next token is computed already: a guess of it comes too late.
    made.update_from_output(outputs[0], {"a": [1]}, {"a": [9, 9]})
    made.update_from_output(outputs[1], {"a": [2]}, {"a": [3, 9]})
    verified = made.schedule()
    assert verified.scheduled["a"].draft_token_ids == (3, 9)
    # What follows depends on which of them are right.
    assert made.schedule().num_scheduled_tokens == {}
    made.update_from_output(verified, {"a": [3, 4]})
    assert made.requests["a"].request.num_computed_tokens == 11


def test_drafts_for_which_there_is_no_room_are_not_waited_for(side: ModuleType) -> None:
    made = scheduler(deployment(side, attention(UNIT)), max_in_flight_steps=1, max_num_scheduled_tokens=1)
    come(made, "a", tokens=1, output=4)
    made.update_from_output(made.schedule(), {"a": [1]}, {"a": [2]})
    outputs = [made.schedule(), made.schedule()]
    assert [output.num_scheduled_tokens for output in outputs] == [{"a": 1}, {"a": 1}]


def test_a_hit_that_nobody_completes_is_not_taken(side: ModuleType) -> None:
    class Lags(Spares):
        def get_computed_blocks_for_connector(self, asked: Request) -> tuple[Any, int, int, bool]:
            return None, UNIT, 0, True

    hits = []

    class BringsNothing(Connector):
        supports_divergent_local_hybrid_hits = True

        def get_num_new_matched_tokens(self, asked: Request, hit: int) -> int:
            hits.append(hit)
            return 0

    made = scheduler(Lags(deployment(side, attention(UNIT)), ()), connector=BringsNothing())
    come(made, "a")
    assert steps(made, 1) == [{"a": 8}]
    # It may have more than the common hit.
    assert hits == [UNIT, 0]


def test_a_load_begins_where_blocks_end(side: ModuleType) -> None:
    manager = hybrid(side)
    made = scheduler(manager, max_num_scheduled_tokens=2 * BLOCK)
    prompt = words(2 * BLOCK + UNIT + 2)
    made.add_request(request("a", prompt), max_output_tokens=1)
    serve(made)
    made.connector = Connector()
    made.add_request(request("b", prompt), max_output_tokens=1)
    # It has a unit more than the hit, which ends a unit inside a block: two are loaded.
    assert made._look_up(made.requests["b"].request)[1:] == (2 * BLOCK, 2 * UNIT)
