from dataclasses import replace

import pytest

from pagedkv.invariants import key_laws, pool_laws
from pagedkv.spec.moves import (
    Admit,
    BeginPass,
    Continue,
    EndPass,
    Evict,
    Finish,
    Preempt,
    Reset,
    Schedule,
    Submit,
)
from pagedkv.spec.outcomes import Answered
from pagedkv.spec.world import Prompt

from .build import (
    ATTENTION,
    HYBRID,
    TOKENS,
    Case,
    after,
    before,
    judge,
    keys,
    label,
    last,
    name,
    objections,
    put,
    run,
    start,
    table,
)

HIT = last(HYBRID, *run("r0", 0, 2), Submit("r1", 1), BeginPass(), Admit("r1", 12))
"""r1 hits 6 tokens in (1, 3) and (0, 4), and takes 5 and 6."""
REVIVED = last(ATTENTION, *run("r0", 0), Finish("r0"), Submit("r1", 1), BeginPass(), Admit("r1", 12))
"""r1 hits 4 tokens in blocks 1 and 2, out of the queue."""
AGAIN = last(
    replace(ATTENTION, num_blocks=6),
    *(*run("r0", 1), Finish("r0"), Submit("r1", 0), BeginPass(), Admit("r1", 12, "none")),
)
"""r1 takes blocks 5, 4 and 3, of which 4 and 3 had keys of 8 and 6 tokens, and names 5 and 4."""
SKIPS = last(HYBRID, *run("r0", 0, 2), BeginPass(), Schedule("r0", 12))
"""r0 lets go of block 2, and its entry moves from block 4 to block 5."""
DRAINED = last(HYBRID, *run("r0", 0, 2), BeginPass(), Schedule("r0", 12), EndPass())
LEFT = last(HYBRID, *run("r0", 0, 3), BeginPass(), Preempt("r0", False))
GONE = last(HYBRID, *run("r0", 0, 3), Finish("r0"))
POPPED = last(HYBRID, *run("r0", 0, 3), Finish("r0", pop=True))
EVICTED = last(ATTENTION, *run("r0", 0), Evict((1,)))
IDLE = last(ATTENTION, *run("r0", 0), Finish("r0"), Reset())
BUSY = last(ATTENTION, *run("r0", 0), Reset())
FILLED = last(HYBRID, *run("r0", 0, 3), BeginPass(), Schedule("r0", 12))
"""Token 8 fills blocks 3 and 4; block 3 has a key of 6 tokens."""
ENDED = last(HYBRID, *run("r0", 0, 2))
NAMED = last(HYBRID, *run("r0", 0), BeginPass(), Schedule("r0", 12))
"""r0 reaches its prompt's end, 6, in blocks 3 and 4."""
WITHDRAWN = last(HYBRID, *run("r0", 0), BeginPass(), Schedule("r0", 12), Preempt("r0", True))
"""The keys of 6 tokens are made in this pass, those of 4 are older."""
SESSIONS = replace(
    HYBRID, prompts=(Prompt(TOKENS, 5), Prompt(TOKENS, 6), Prompt(TOKENS, 7), Prompt(TOKENS, 9))
)
LATE = last(SESSIONS, *run("r0", 0, 3), Continue("r0", 2), BeginPass(), Schedule("r0", 12))
"""r0 goes on at 6 tokens with a prompt whose end is 6: only attention can still name it."""
NAMED_BEFORE = last(
    SESSIONS, *run("r0", 1, 2), Evict((3,)), Continue("r0", 2), BeginPass(), Schedule("r0", 12)
)
"""r0 goes on at 6 tokens, which it has named in block 3, with a prompt of the same end."""
MOVES_ON = last(SESSIONS, *run("r0", 1, 2), Continue("r0", 3), BeginPass(), Schedule("r0", 12))
"""r0 goes on at 6 tokens, named in block 4, with a prompt that ends elsewhere: its entry moves to block 5."""
CASES: list[Case] = [
    (
        pool_laws.taken_from_the_front,
        HIT,
        [
            before(HIT, queue=HIT.before.queue[::-1]),
            keys(HIT, 6, name(1, 4)),
        ],
    ),
    (
        pool_laws.taken_from_the_front,
        AGAIN,
        [
            keys(AGAIN, 3, name(0, 6)),
            keys(AGAIN, 4, name(0, 4), name(0, 8)),
            after(AGAIN, tables=table(AGAIN, "r1", 0, (5, 4, 2))),
        ],
    ),
    (
        pool_laws.freed_tails_first,
        GONE,
        [after(GONE, queue=(*GONE.after.queue[:-2], 1, 3)), after(GONE, queue=(*GONE.after.queue[1:], 4))],
    ),
    (pool_laws.freed_tails_first, POPPED, [after(POPPED, queue=GONE.after.queue)]),
    (pool_laws.freed_tails_first, SKIPS, [after(SKIPS, queue=(2, *SKIPS.after.queue[:-1]))]),
    (pool_laws.freed_tails_first, DRAINED, [after(DRAINED, queue=DRAINED.after.queue[::-1])]),
    (pool_laws.freed_tails_first, BUSY, [after(BUSY, queue=BUSY.after.queue[::-1])]),
    (
        pool_laws.touched_leaves_queue,
        REVIVED,
        [
            after(REVIVED, ref_counts=(0, 1, 0, 1, 1, 1, 0, 0)),
            after(REVIVED, queue=(*REVIVED.after.queue, 2)),
        ],
    ),
    (
        pool_laws.touched_leaves_queue,
        DRAINED,
        [
            after(DRAINED, queue=(*DRAINED.after.queue, 5)),
            after(DRAINED, ref_counts=(0, 1, 0, 1, 1) + (0,) * 11),
        ],
    ),
    (
        pool_laws.evict_takes_keys,
        EVICTED,
        [keys(EVICTED, 1, name(0, 2)), after(EVICTED, ref_counts=(0, 0, 1, 1, 0, 0, 0, 0))],
    ),
    (
        pool_laws.reset_when_idle,
        IDLE,
        [replace(IDLE, outcome=Answered(False)), keys(IDLE, 1, name(0, 2))],
    ),
    (pool_laws.reset_when_idle, BUSY, [replace(BUSY, outcome=Answered(True)), keys(BUSY, 1)]),
    (
        key_laws.full_blocks_become_keys,
        FILLED,
        [
            keys(FILLED, 3, name(0, 6)),
            keys(FILLED, 4),
            keys(FILLED, 4, name(1, 8), name(1, 12)),
            after(FILLED, num_cached={"r0": (1, 2)}),
            after(FILLED, num_cached={"r0": (2, 3)}),
        ],
    ),
    (
        key_laws.full_blocks_become_keys,
        ENDED,
        [keys(ENDED, 9, name(0, 4)), after(ENDED, num_cached={"r0": (1, 2)})],
    ),
    (
        key_laws.partial_prompt_end,
        NAMED,
        [keys(NAMED, 3), keys(NAMED, 4), keys(NAMED, 9, name(0, 6))],
    ),
    (key_laws.partial_prompt_end, ENDED, [keys(ENDED, 9, name(0, 6))]),
    (key_laws.partial_prompt_end, LATE, [keys(LATE, 3), keys(LATE, 4, name(1, 6))]),
    (key_laws.partial_prompt_end, NAMED_BEFORE, [keys(NAMED_BEFORE, 3, name(0, 6))]),
    (key_laws.move_takes_all, MOVES_ON, [keys(MOVES_ON, 5), keys(MOVES_ON, 4, name(1, 6))]),
    (key_laws.keys_stay, FILLED, [keys(FILLED, 1), keys(FILLED, 2)]),
    (key_laws.keys_stay, EVICTED, [keys(EVICTED, 2)]),
    (key_laws.keys_stay, GONE, [keys(GONE, 3)]),
    (key_laws.keys_stay, WITHDRAWN, [keys(WITHDRAWN, 1)]),
    (key_laws.promotion, FILLED, [keys(FILLED, 3, name(0, 8))]),
    (
        key_laws.older_holders_come_first,
        HIT,
        [after(HIT, index={**HIT.after.index, name(0, 6): (5, 3)})],
    ),
    (
        key_laws.move_takes_all,
        SKIPS,
        [keys(SKIPS, 5), keys(SKIPS, 5, name(1, 6), name(1, 4)), keys(SKIPS, 4, name(1, 6))],
    ),
    (
        key_laws.withdrawn_keys_go,
        WITHDRAWN,
        [keys(WITHDRAWN, 3, name(0, 6)), keys(WITHDRAWN, 4, name(1, 6))],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: label(case[0]))
def test_a_law_on_the_pool_or_its_keys_sees_what_breaks_it(case: Case) -> None:
    judge(*case)


def test_a_withdrawn_key_goes_from_a_block_of_the_hit_unless_another_may_have_made_it() -> None:
    """r1 names 6 tokens on the block that r0 left with a key of 8."""
    world = replace(HYBRID, prompts=(Prompt(TOKENS, 6), Prompt(TOKENS, 8)))
    story = start(world)
    for move in (*run("r0", 1), *run("r1", 0, 5, "none"), BeginPass(), Preempt("r1", False), EndPass()):
        story.move(move)
    own = story.move(Finish("r0")).before.tables["r0"][0]
    for block in range(1, world.num_blocks):
        if block not in (*own, 3):
            story.move(Evict((block,)))
    story.move(BeginPass())
    admitted = story.move(Admit("r1", 12))
    assert name(0, 6) in admitted.after.keys[own[1]]
    assert name(0, 6) not in admitted.before.keys[own[1]]
    withdrawn = story.move(Preempt("r1", True))
    stays = keys(withdrawn, own[1], name(0, 8), name(0, 6))
    judge(key_laws.withdrawn_keys_go, withdrawn, [stays])
    held_by_another = before(stays, ref_counts=put(stays.before.ref_counts, own[1], 2))
    assert objections(key_laws.withdrawn_keys_go, held_by_another) == []
    assert (
        objections(key_laws.keys_stay, before(withdrawn, ref_counts=held_by_another.before.ref_counts)) == []
    )
