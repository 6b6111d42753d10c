"""A trace with every kind of move and every kind of outcome."""

from pagedkv.spec import World
from pagedkv.spec.event_names import Cleared, EventName, Removed, Stored
from pagedkv.spec.moves import (
    Admit,
    BeginPass,
    CommonPrefix,
    EndPass,
    Evict,
    Finish,
    Move,
    Preempt,
    Reset,
    Schedule,
    Submit,
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
from pagedkv.spec.snapshot import HandOffName, KeyName
from pagedkv.spec.trace import RecordedBreach, Step, Trace, TracedSubject
from pagedkv.spec.world import Group, Image, Prompt

WORLD = World(
    groups=(Group("full", 4, eagle=True), Group("mamba", 8, speculative=2, variant=3)),
    num_blocks=20,
    unit=2,
    prompts=(
        Prompt((5, 0, -7, 2**63 - 1, 3), 4, "salt", "adapter", (Image("cat", 1, 2),)),
        Prompt((1, 2), 2),
    ),
    max_requests=3,
    max_step_tokens=16,
    use_eagle=True,
    enable_caching=False,
    max_submits=9,
    max_disturbances=None,
    chunk_limits=(1, 3),
    events=True,
)

FOUND = Found(6, ((1, 2), (0, 3)), 7, True)
NOT_FOUND = Found(0, ())

MOVES: tuple[Move, ...] = (
    Submit("r0", 1),
    BeginPass(),
    Admit("r0", 4, "divergent"),
    Schedule("r0", 1),
    Preempt("r0", True, True),
    Finish("r0", True),
    EndPass(True),
    Evict((1, 2)),
    Reset(),
    Truncate("r0", 8),
    CommonPrefix("r0"),
)

OUTCOMES: tuple[Outcome | None, ...] = (
    Nothing(),
    FOUND,
    Allocated(3, ((4,), ()), NOT_FOUND),
    Allocated(-3, None, None),
    Waits(NOT_FOUND),
    Stepped(((1, 2), (3, 4)), (HandOffName("r0", 1, 5, 6),)),
    Answered(True),
    Answered((3, 0)),
    Viewed(NOT_FOUND, None),
    Raised("KeyError", "no r0, \n\x1b[31m, é and \U0001f600"),
    None,
)

EVENTS: tuple[EventName, ...] = (
    Stored(KeyName(1, 0, 4), KeyName(1, 0, 2), 2, (5, -7), 8, "adapter", (("lora:adapter", "salt:s"), ())),
    Stored(KeyName(0, 1, 2), None, 0, (1, 2), 4, None, ((),)),
    Removed(KeyName(1, 0, 4)),
    Cleared(),
)

TRACE = Trace(
    TracedSubject("module:factory", "1.2"),
    seed=-3,
    number=41,
    world=WORLD,
    steps=tuple(
        Step(move, outcome, (Nothing(), FOUND) if i == 2 else (), EVENTS if i == 3 else ())
        for i, (move, outcome) in enumerate(zip(MOVES, OUTCOMES, strict=True))
    ),
    breach=RecordedBreach("Pool/free_once", "block 3 is free twice"),
)
