"""How many blocks a request can need, and who is refused although it has the pool for itself."""

from collections.abc import Iterator, Mapping

from pagedkv.invariants.breach import Breach
from pagedkv.spec import World
from pagedkv.spec.clauses import allocation
from pagedkv.spec.life import Life
from pagedkv.spec.moves import Admit, Move, Schedule
from pagedkv.spec.outcomes import Allocated, Outcome
from pagedkv.spec.rules import demand
from pagedkv.spec.rules.admission import admission_cap
from pagedkv.spec.rules.reach import Reads
from pagedkv.spec.rules.sizes import blocks_for
from pagedkv.spec.world import WHOLE, Group, GroupKind, Prompt

from .loop_state import LoopState

_READS: dict[GroupKind, Reads] = {"window": "window", "chunk": "chunk", "mamba": "state"}
"""What others hold grows with the request, or with what its encoder made."""


def most_blocks_for(world: World, prompt: Prompt) -> int:
    """The most blocks that a request for the prompt ever needs, with those that sinks hold."""
    return len(world.sinks) + most_blocks(world, prompt.num_to_compute, prompt.encoder_tokens)


def most_blocks(world: World, num_tokens: int, encoder_tokens: int = 0, drafts: int = 0) -> int:
    """The most blocks that a request of ``num_tokens`` tokens asks for at a time, without ends of copies.

    Its steps have places for ``drafts`` more, and for as many as the deployment looks ahead.
    """
    per_block = sum(group.speculative for group in world.groups if group.kind in ("mamba-all", "mamba-none"))
    return per_block + sum(
        _most_of(world, group, encoder_tokens, 0)
        if group.kind == "cross"
        else _most_of(world, group, num_tokens, drafts + world.options.num_lookahead_tokens)
        for group in world.groups
    )


def _most_of(world: World, group: Group, num_tokens: int, ahead: int) -> int:
    reads, options = _READS.get(group.kind, "prefix"), world.options
    most = demand.most_blocks(
        reads,
        min(num_tokens + ahead, max(num_tokens, world.max_model_len)),
        group.reach,
        group.block_size,
        world.max_step_tokens * (1 + options.max_in_flight) + ahead,
        # Each step in flight may still read a state of its own.
        group.speculative + options.max_in_flight,
    )
    in_flight = options.max_in_flight_tokens or world.max_model_len
    cap = admission_cap(reads, group.reach, in_flight, world.max_model_len, group.block_size)
    if options.full_sequence_must_fit and cap is not None:
        # Counted with what is let go on the way.
        most = max(most, min(blocks_for(num_tokens, group.block_size), cap))
    return most


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
