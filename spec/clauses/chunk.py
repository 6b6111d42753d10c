"""Where chunks of prefill end."""

from .clause import Clause

ENDS_ON_A_STATE = Clause(
    "Chunk/ends_on_a_state",
    "A chunk of prefill in a model with aligned states ends where a state is kept: on a block boundary, at "
    "the prompt's partial entry, at a junction, or at the end of the prefill; where rejected drafts have "
    "had states, on the next block boundary.",
    "0.1",
)
PROGRESSES = Clause(
    "Chunk/progresses",
    "A request is told to wait only if a step with more room would let it reach the next boundary.",
    "0.1",
)
