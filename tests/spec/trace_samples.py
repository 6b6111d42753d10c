"""A trace with every kind of move and every kind of outcome."""

from pagedkv.spec import World
from pagedkv.spec.event_names import Cleared, EventName, Removed, Stored
from pagedkv.spec.moves import (
    Admit,
    BeginPass,
    CommonPrefix,
    Continue,
    EndPass,
    Evict,
    Finish,
    Loaded,
    Move,
    Preempt,
    Reset,
    Schedule,
    Settle,
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
from pagedkv.spec.world import Embed, Group, Image, Options, Prompt

WORLD = World(
    groups=(Group("full", 4, eagle=True), Group("mamba", 8, speculative=2, variant=3)),
    num_blocks=20,
    unit=2,
    prompts=(
        Prompt((5, 0, -7, 2**63 - 1, 3), 4, "salt", "adapter", (Image("cat", 1, 2),), (Embed(3, "row"),)),
        Prompt((1, 2), 2),
    ),
    max_requests=3,
    max_step_tokens=16,
    use_eagle=True,
    enable_caching=False,
    max_submits=9,
    max_disturbances=None,
    chunk_limits=(1, 3),
    options=Options(2, 3, 1, 16, True, 5, True, 8, True, True),
    events=True,
)

FOUND = Found(6, ((1, 2), (0, 3)), 7, True)
NOT_FOUND = Found(0, ())

MOVES: tuple[Move, ...] = (
    Submit("r0", 1),
    BeginPass(),
    Admit("r0", 4, "divergent"),
    Admit("r0", 4, "skip", 3, True, 2, 1),
    Schedule("r0", 1, 3, 2),
    Preempt("r0", True, True),
    Finish("r0", True),
    EndPass(True),
    Settle(),
    Loaded("r0", 3),
    Evict((1, 2)),
    Reset(),
    Truncate("r0", 8),
    CommonPrefix("r0"),
    Continue("r0", 0),
)

OUTCOMES: tuple[Outcome | None, ...] = (
    Nothing(),
    FOUND,
    Allocated(3, ((4,), ()), NOT_FOUND),
    Allocated(-3, None, None),
    Allocated(3, ((4,), ()), NOT_FOUND, 5),
    Waits(NOT_FOUND),
    Waits(None),
    Stepped(((1, 2), (3, 4)), (HandOffName("r0", 1, 5, 6),)),
    Stepped((), (), (7, 0)),
    Answered(True),
    Answered((3, 0)),
    Answered(False),
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
