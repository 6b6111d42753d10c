"""How many blocks a request can need, and who is refused although it has the pool for itself."""

from collections.abc import Iterator, Mapping

from pagedkv.invariants.breach import Breach
from pagedkv.spec import World
from pagedkv.spec.clauses import allocation
from pagedkv.spec.life import Life
from pagedkv.spec.moves import Admit, Move, Schedule
from pagedkv.spec.outcomes import Allocated, Outcome
from pagedkv.spec.rules import demand
from pagedkv.spec.rules.reach import Reads
from pagedkv.spec.world import WHOLE, GroupKind

from .loop_state import LoopState

_READS: dict[GroupKind, Reads] = {"window": "window", "chunk": "chunk", "mamba": "state"}
"""What others hold grows with the request, or with what its encoder made."""


def most_blocks(world: World, num_tokens: int, encoder_tokens: int = 0, drafts: int = 0) -> int:
    """The most blocks that a request of ``num_tokens`` tokens holds at a time, apart from ends of copies.

    Its steps have places for ``drafts`` more, and for as many as the deployment looks ahead.
    """
    ahead = drafts + world.options.num_lookahead_tokens
    num_tokens = min(num_tokens + ahead, world.max_model_len)
    per_block = sum(group.speculative for group in world.groups if group.kind in ("mamba-all", "mamba-none"))
    return per_block + sum(
        demand.most_blocks(
            _READS.get(group.kind, "prefix"),
            encoder_tokens if group.kind == "cross" else num_tokens,
            group.reach,
            group.block_size,
            world.max_step_tokens * (1 + world.options.max_in_flight) + ahead,
            # Each step in flight may still read a state of its own.
            group.speculative + world.options.max_in_flight,
        )
        for group in world.groups
    )


def refused_alone(
    state: LoopState, lives: Mapping[str, Life], move: Move, outcome: Outcome
) -> Iterator[Breach]:
    """A request that gets nothing although nobody else holds a block and it would fit.

    ``lives`` are those before the move, ``state`` is that after it. All that can be said of a
    manager that does not tell its state; a leak shows in the same way, and so does what would wait for ever.
    """
    if not isinstance(move, (Admit, Schedule)) or not isinstance(outcome, Allocated):
        return
    if outcome.rows is not None:
        return
    # Others that lost their blocks in this pass may have left copies under way.
    others = {name for name, life in lives.items() if life.is_running} | state.attempted
    if state.held or not others <= {move.request}:
        return
    world = state.world
    life = lives[move.request]
    made = world.prompts[life.prompt].encoder_tokens
    drafts = move.drafts if isinstance(move, Schedule) else 0
    most = len(world.sinks) + most_blocks(world, life.num_tokens + life.pending, made, drafts)
    if outcome.found and outcome.found.hit:
        # Beside its own, a block of each attention group from which the end of its hit is copied.
        most += sum(group.kind in WHOLE for group in world.groups)
    if isinstance(move, Admit):
        # These stay free of it.
        most += move.reserved
    if most < world.num_blocks:
        yield Breach(
            allocation.PREDICTION_IS_EXACT,
            f"nobody else holds a block, {move.request} needs at most {most} of {world.num_blocks - 1}, and "
            f"is answered None for {outcome.num_new_tokens} tokens",
        )
