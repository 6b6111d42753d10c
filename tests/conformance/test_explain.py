"""What a failure is told with."""

import shlex
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from pagedkv.conformance.campaign.campaign import Finding
from pagedkv.conformance.campaign.faults import fault_of
from pagedkv.conformance.campaign.minimise import minimise
from pagedkv.conformance.campaign.runs import Run, replay_moves
from pagedkv.conformance.explain import explain, explain_finding
from pagedkv.conformance.replay import replay_trace, trace_of_run
from pagedkv.conformance.state_text import state_lines
from pagedkv.conformance.subjects import Subject, reference
from pagedkv.conformance.wording import step_in_words, world_in_words
from pagedkv.invariants.breach import Breach
from pagedkv.reference import KVCacheManager
from pagedkv.spec import Snapshot
from pagedkv.spec.clauses import pool
from pagedkv.spec.moves import (
    Admit,
    CommonPrefix,
    EndPass,
    Evict,
    Finish,
    Move,
    Preempt,
    Reset,
    Schedule,
    Truncate,
)
from pagedkv.spec.outcomes import (
    Allocated,
    Answered,
    Found,
    Nothing,
    Outcome,
    Raised,
    Stepped,
    Viewed,
    Waits,
)
from pagedkv.spec.snapshot import CopyName, HandOffName, KeyName, Marks
from pagedkv.spec.trace import Trace
from pagedkv.spec.world import Group, Image, Prompt

from .planted import HIT_STORY, STORY, WORLD, Blind, Fails, KeepsKeys, planted

PATH = Path("traces/a b.jsonl")


def found(subject: Subject, story: tuple[Move, ...]) -> Finding:
    """The fault that a story shows, minimised."""
    run = replay_moves(subject, WORLD, story)
    run = minimise(run, lambda moves: replay_moves(subject, WORLD, moves))
    return Finding(fault_of(run), run, 6, len(story))


def trace_of(subject: Subject, story: tuple[Move, ...]) -> Trace:
    """What a story is on a subject."""
    return trace_of_run(replay_moves(subject, WORLD, story), subject, 0, 6)


def test_a_fault_is_told_whole() -> None:
    text = explain_finding(found(planted(Blind), HIT_STORY), planted(Blind), 0, PATH)
    head, *parts = text.split("\n\n")
    clause, sentence, because = head.split("\n")
    assert clause == "Hit/longest is broken by admit with full"
    assert sentence.strip().startswith("A hit is the longest prefix that every group can answer")
    assert because.startswith("  Because: the hit is 0, not 2")
    world, steps, state, seen_again = parts
    assert world.split("\n")[1:] == [
        "  6 blocks, 2 tokens per hash, at most 4 tokens in a pass",
        "  group 0: full, blocks of 2 tokens",
        "  p0: 4 tokens of [7, 8, 9, 7, 8]",
        "  p1: 3 tokens of [7, 8, 9]",
    ]
    assert steps.split("\n") == [
        "Steps",
        "  1. submit r0 with p0",
        "  2. begin a pass",
        "  3. admit r0 for 4 tokens: hit 0, got [[1, 2]]",
        "  4. end the pass",
        "  5. submit r1 with p1",
        "  6. begin a pass",
        "  7. admit r1 for 2 tokens: hit 0, got [[3]]",
    ]
    assert state.split("\n") == [
        "State before and after step 7",
        "  queue                         [3, 4, 5] -> [4, 5]",
        "  table of r0                   [[1, 2]]",
        "  keys of block 1               p0:2 (group 0)",
        "  keys of block 2               p0:4 (group 0)",
        "  table of r1                   none -> [[3]]",
        "  keys of block 3               none -> p0:2 (group 0)",
        "  holders of block 3            0 -> 1",
        "  filled by this pass, group 0  none -> 3",
        "  named in this pass, group 0   none -> 3 as p0:2 by r1",
        "  cached blocks of r1           none -> [1]",
        "  index of p0:2, group 0        none -> [1, 3]",
    ]
    assert seen_again == ("Trace: traces/a b.jsonl\nAgain: pagedkv replay 'traces/a b.jsonl' --on planted\n")


def test_the_values_name_keys_as_the_state_does() -> None:
    text = explain_finding(found(planted(KeepsKeys), STORY), planted(KeepsKeys), 0, PATH)
    assert "  Because: block 1 was evicted and has [p0:2 (group 0)]\n" in text
    assert "KeyName" not in text


def test_nothing_of_a_subject_reaches_the_terminal_as_a_command() -> None:
    subject = replace(planted(Fails), name="own\x1b[0m:make")
    text = explain_finding(found(subject, STORY), subject, 0, PATH)
    assert "  1. reset the cache: raised OSError: \\x1b[2Jno such\\ndevice\n" in text
    assert "  The step raised: no state after it is known.\n" in text
    assert all(line.isprintable() for line in text.split("\n"))
    assert shlex.split(text.rpartition("Again: ")[2])[-2:] == ["--on", "own\\x1b[0m:make"]


def test_a_subject_that_hides_its_state_is_told_without() -> None:
    subject = planted(Fails, "safety", tells_state=False)
    text = explain_finding(found(subject, STORY), subject, 0, PATH)
    assert "\n\nplanted does not tell its state.\n\nTrace: " in text
    assert "State before" not in text


def test_a_run_that_ended_its_process_is_not_played_again() -> None:
    breach = Breach(pool.COUNT_IS_HOLDERS, "the process died with exit code -11")
    run = Run(WORLD, STORY[:3], (), 3, Counter(), (breach,))
    deadly = replace(reference(), make=lambda world: pytest.fail("was played"))
    text = explain_finding(Finding(fault_of(run), run, 1, 3), deadly, 0, PATH)
    assert text.startswith("Pool/count_is_holders is broken by admit with full\n")
    # Only the last step ended it; the trace does not tell what the others answered.
    assert "\nSteps\n  1. submit r0 with p0\n  2. begin a pass\n" in text
    assert "  3. admit r0 for at most 4 tokens: the process ended\n" in text


def test_a_step_whose_answer_the_trace_does_not_tell_has_no_other_answer_now() -> None:
    breach = Breach(pool.COUNT_IS_HOLDERS, "the process died with exit code -11")
    trace = trace_of_run(Run(WORLD, STORY[:3], (), 3, Counter(), (breach,)), reference(), 0, 1)
    text = explain(trace, PATH, "reference", list(replay_trace(trace, reference())))
    assert "\nSteps\n  1. submit r0 with p0\n  2. begin a pass\n  3. admit" in text
    assert text.count("(the trace has another answer)") == 1


def test_long_values_are_cut() -> None:
    breach = Breach(pool.COUNT_IS_HOLDERS, 2_000 * "x")
    text = explain(
        trace_of_run(Run(WORLD, STORY[:1], (), 0, Counter(), (breach,)), reference(), 0, 0), PATH, "a"
    )
    assert f"  Because: {1_500 * 'x'}... (2000 characters in all)\n" in text


def test_a_clause_of_another_version_is_told_by_its_id() -> None:
    trace = trace_of(planted(KeepsKeys), STORY)
    assert trace.breach is not None
    text = explain(replace(trace, breach=replace(trace.breach, clause="Pool/later")), PATH, "a")
    assert text.startswith(
        "Pool/later is broken by evict with full\n  This version of the specification has no such clause.\n"
    )


def test_a_replay_that_goes_otherwise_is_told_beside_the_trace() -> None:
    trace = trace_of(planted(KeepsKeys), (*HIT_STORY, Evict((2,))))
    text = explain(trace, PATH, "blind", list(replay_trace(trace, planted(Blind))))
    assert "  The trace tells of another breach: Pool/evict_takes_keys.\n" in text
    assert "  8. admit r1 for 2 tokens: hit 0, got [[3]] (the trace has another answer)\n" in text
    assert "  10. evict blocks 2\n" in text


def test_a_replay_without_a_breach_says_so() -> None:
    trace = trace_of(planted(KeepsKeys), STORY)
    text = explain(trace, PATH, "reference", list(replay_trace(trace, reference())))
    assert text.startswith(
        "No clause broke on reference.\n  The trace tells of a breach of Pool/evict_takes_keys.\n\n"
    )
    assert explain(trace_of(reference(), STORY), PATH, "x").startswith("No clause broke on reference.\n")


def test_a_replay_that_cannot_go_on_says_why() -> None:
    trace = trace_of(reference(), STORY)
    poor = replace(reference(), missing={"reset": "it is read-only"})
    text = explain(trace, PATH, "poor", list(replay_trace(trace, poor)))
    assert text.startswith(
        "Step 7 cannot be played on poor: reference has no reset: it is read-only.\n"
        "  The trace tells of none.\n"
    )
    assert "  7. reset the cache: yes (recorded; not played)\n" in text


HIT = Found(4, ((1,), (0, 2)), 6)


@pytest.mark.parametrize(
    ("move", "outcome", "words"),
    [
        (
            Admit("r0", 9),
            Allocated(4, ((5,), (0, 6)), HIT),
            "admit r0 for 4 tokens: hit 4 in [[1], [0, 2]], junction 6, got [[5], [0, 6]]",
        ),
        (Admit("r0", 9, "none"), Allocated(1, None), "admit r0 for 1 token, without lookup: got None"),
        (
            Admit("r0", 9, "divergent"),
            Waits(Found(4, ((1,), ()), 0, True)),
            "admit r0 for at most 9 tokens, looked up for a connector: hit 4 in [[1], []], a group lags, "
            "has to wait",
        ),
        (Schedule("r0", 9), Waits(), "schedule r0 for at most 9 tokens: has to wait"),
        (
            Preempt("r0", True, True),
            Nothing(),
            "preempt r0, withdrawing this pass's work, popping its blocks and freeing them",
        ),
        (Preempt("r0", False), Nothing(), "preempt r0"),
        (Finish("r0", True), Nothing(), "finish r0, popping its blocks and freeing them"),
        (
            EndPass(True),
            Stepped(((1, 2), (3, 4)), (HandOffName("r0", 1, 5, 6),)),
            "end the pass, releasing copies before hand-offs: copied 1 to 2, 3 to 4; "
            "handed over block 5 of r0 at 6 tokens",
        ),
        (EndPass(), Stepped((), ()), "end the pass"),
        (Evict((1, 2)), Nothing(), "evict blocks 1, 2"),
        (
            Evict(tuple(range(1, 31))),
            None,
            f"evict blocks {', '.join(map(str, range(1, 25)))}, ... 30 in all: the process ended",
        ),
        (Reset(), Answered(False), "reset the cache: no"),
        (
            Truncate("r0", 4),
            Viewed(HIT, ((1,), (0, 2))),
            "look r0 up and cut the hit at 4 tokens: hit 4 in [[1], [0, 2]], junction 6, [[1], [0, 2]]",
        ),
        (
            Truncate("r0", 1),
            Viewed(Found(0, ()), None),
            "look r0 up and cut the hit at 1 token: hit 0, refused",
        ),
        (CommonPrefix("r0"), Answered((2, 0)), "count the blocks that r0 shares with all: [2, 0]"),
        (Reset(), Raised("KeyError", "r0"), "reset the cache: raised KeyError: r0"),
    ],
)
def test_a_step_is_one_line(move: Move, outcome: Outcome | None, words: str) -> None:
    assert step_in_words(move, outcome, True) == words


def test_a_world_is_told_with_all_that_shapes_it() -> None:
    world = replace(
        WORLD,
        groups=(Group("full", 2, eagle=True, variant=2), Group("mamba", 4, speculative=1)),
        prompts=(Prompt((7, 8), 1, "a", "b", (Image("cat", 0, 1),)),),
        use_eagle=True,
        enable_caching=False,
    )
    assert world_in_words(world) == [
        "6 blocks, 2 tokens per hash, at most 4 tokens in a pass, caching off, EAGLE",
        "group 0: full, blocks of 2 tokens, EAGLE, variant 2",
        "group 1: mamba, blocks of 4 tokens, 1 speculative",
        "p0: 1 token of [7, 8], salt 'a', adapter 'b', image 'cat' at 0 for 1",
    ]


def plain_state(num_blocks: int = 4) -> Snapshot[KeyName]:
    """A state in which nothing is held."""
    return Snapshot(
        ref_counts=(0,) * num_blocks,
        keys=((),) * num_blocks,
        queue=tuple(range(1, num_blocks)),
        index={},
        tables={},
        num_cached={},
        copies=(),
        hand_offs=(),
        pins={},
        marks=Marks((frozenset(),), (frozenset(),), ({},)),
    )


def test_of_a_state_everything_that_changed_is_told() -> None:
    before = plain_state()
    key = KeyName(0, 1, 2)
    after = Snapshot(
        ref_counts=(0, 2, 0, 0),
        keys=((), (key, KeyName(0, 1, 1)), (), ()),
        queue=(2, 3),
        index={key: (1,), KeyName(0, 0, 9): (3,)},
        tables={"r0": ((1,),)},
        num_cached={"r0": (1,)},
        copies=(CopyName(0, 1, 2),),
        hand_offs=(HandOffName("r0", 0, 1, 2),),
        pins={"r0": (1,)},
        marks=Marks((frozenset({1}),), (frozenset({("r0", 1, key)}),), ({"r0": 2},)),
    )
    assert [line.split("  ", 1)[0] for line in state_lines(before, before)] == ["queue"]
    told = dict(line.split("  ", 1) for line in state_lines(before, after))
    assert {name: change.strip() for name, change in told.items()} == {
        "queue": "[1, 2, 3] -> [2, 3]",
        "table of r0": "none -> [[1]]",
        "keys of block 1": "none -> p1:2, p1:1 (group 0)",
        "holders of block 1": "0 -> 2",
        "cached blocks of r0": "none -> [1]",
        # Two keys about which index and blocks do not agree.
        "index of p1:1, group 0": "none -> []",
        "index of p0:9, group 0": "none -> [3]",
        "queued copies": "none -> 1 to 2 (group 0)",
        "hand-offs": "none -> block 1 of r0 at 2 (group 0)",
        "pinned for r0": "none -> [1]",
        "filled by this pass, group 0": "none -> 1",
        "named in this pass, group 0": "none -> 1 as p1:2 by r0",
        "partial entries, group 0": "none -> r0 at 2",
    }


def test_a_change_far_behind_in_a_long_list_is_told() -> None:
    before = plain_state(1000)
    queue = [*before.queue]
    queue[700] = 7777
    (line,) = state_lines(before, replace(before, queue=tuple(queue)))
    old, new = line.split(" -> ")
    assert "7777" in new and "7777" not in old
    assert "701" in old
    assert len(line) < 400


def test_of_what_did_not_change_only_the_beginning_is_told() -> None:
    before = replace(plain_state(), tables={f"r{i}": ((i,),) for i in range(50)})
    after = replace(before, tables={**before.tables, "r49": ((7,),)})
    lines = state_lines(before, after)
    assert any(line.startswith("table of r49") and line.endswith("[[49]] -> [[7]]") for line in lines)
    assert lines[-1] == "and 26 more without a change"
    assert len(lines) == 24 + 1 + 1


def test_a_manager_without_a_fault_has_nothing_to_explain() -> None:
    assert not replay_moves(planted(KVCacheManager), WORLD, STORY).breaches
    assert not replay_moves(planted(KVCacheManager), WORLD, HIT_STORY).breaches
