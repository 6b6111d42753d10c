"""``pagedkv explore``."""

from dataclasses import replace

import click

from pagedkv.conformance import coverage
from pagedkv.conformance.campaign.campaign import Exit
from pagedkv.conformance.campaign.faults import fault_of
from pagedkv.conformance.campaign.runs import replay_moves
from pagedkv.conformance.explain import explain
from pagedkv.conformance.explore import Exploration, explore
from pagedkv.conformance.group_text import LENGTHS_IN_WORDS, MOST_GROUPS, groups_of
from pagedkv.conformance.replay import replay_trace, trace_of_run
from pagedkv.conformance.report.files import trace_name
from pagedkv.conformance.scopes import SCOPES, Scope
from pagedkv.conformance.subjects import Subject, reference
from pagedkv.spec import World
from pagedkv.spec.trace import write_trace
from pagedkv.spec.trace.worlds import reason_against
from pagedkv.spec.world import Prompt

from .check import TRACES
from .errors import CannotRun
from .output import Output
from .progress import exploration_progress

COUNT = click.IntRange(min=1)


@click.command("explore")
@click.argument("name", metavar="[SCOPE]", default="small-hybrid")
@click.option(
    "--groups",
    metavar="MIX",
    help=f"Kinds with block sizes in tokens, {LENGTHS_IN_WORDS}, such as full:2+window:2:3.",
)
@click.option("--blocks", type=click.IntRange(min=2), metavar="N", help="Blocks, the null block among them.")
@click.option("--requests", type=COUNT, metavar="N", help="Requests at the same time.")
@click.option("--arrivals", type=COUNT, metavar="N", help="Requests that ever arrive.")
@click.option("--unit", type=COUNT, metavar="N", help="Tokens per hash.")
@click.option(
    "--disturbances",
    type=click.IntRange(min=0),
    metavar="N",
    help="Preemptions, evictions and resets, in all.",
)
@click.option("--max-states", type=COUNT, metavar="N", help="Stop there; the scope has not closed then.")
@click.option("--list", "lists", is_flag=True, help="List the named scopes.")
@click.pass_context
def explore_command(
    ctx: click.Context,
    name: str,
    groups: str | None,
    blocks: int | None,
    requests: int | None,
    arrivals: int | None,
    unit: int | None,
    disturbances: int | None,
    max_states: int | None,
    lists: bool,
) -> None:
    """Search a small world to its end: every state the engine loop can reach, every law on every move.

    SCOPE is a named world (see --list); options change it. A named scope also claims to show certain
    behaviours: one that never occurs is a failure, and so is a world that was not searched to its end.

    \b
    Examples:
      pagedkv explore small-hybrid
      pagedkv explore --groups full:1 --blocks 4 --disturbances 1
    """
    output = Output()
    if lists:
        for scope in SCOPES.values():
            output.line(f"{scope.name:14}{scope.meaning}")
        return
    if name not in SCOPES:
        raise CannotRun(f"there is no scope {name!r}: name one of {', '.join(SCOPES)}")
    scope = SCOPES[name]
    world = scope.world if groups is None else _with_groups(scope.world, groups)
    world = replace(
        world,
        num_blocks=blocks or world.num_blocks,
        max_requests=requests or world.max_requests,
        max_submits=arrivals or world.max_submits,
        unit=unit or world.unit,
        max_disturbances=world.max_disturbances if disturbances is None else disturbances,
    )
    if world != scope.world:
        scope = _claiming_nothing(world)
    subject = reference()
    with exploration_progress() as progress:
        seen = explore(scope.world, subject, max_states, progress)
    ctx.exit(_told(output, scope, subject, seen))


def _claiming_nothing(world: World) -> Scope:
    """A scope of options: nobody knows what occurs in it."""
    reason = reason_against(world)
    if reason:
        raise CannotRun(f"no manager can be made for this world; it has to be one whose {reason}")
    return Scope("custom", "", world, ())


def _with_groups(world: World, text: str) -> World:
    """The world with other groups and with prompts of two blocks that part after the first."""
    made = tuple(
        replace(group, variant=g + 1) for g, group in enumerate(groups_of(text, "+", MOST_GROUPS, 64))
    )
    size = max(group.block_size for group in made)
    prompts = tuple(Prompt((0,) * size + (token,) * (size + 1), 2 * size) for token in (0, 1))
    return replace(world, groups=made, prompts=prompts, max_step_tokens=2 * size + 1)


def _told(output: Output, scope: Scope, subject: Subject, seen: Exploration) -> int:
    """Print what was seen; answers how the command ends."""
    output.line(f"{seen.states:,} states, {seen.edges:,} moves, {seen.depth} moves deep")
    for behaviour in coverage.ALL:
        if seen.shown[behaviour]:
            output.line(f"{seen.shown[behaviour]:>9,}  {behaviour}")
    never = [behaviour for behaviour in scope.shows if not seen.shown[behaviour]]
    if seen.breach:
        return _told_breach(output, scope, subject, seen)
    if not seen.is_closed:
        output.verdict("not searched to its end, which proves nothing: raise --max-states", False)
    elif never:
        output.verdict(f"no clause broke, but the scope has not shown: {', '.join(never)}", False)
    else:
        output.verdict("no clause broke in any state that can be reached", True)
    return Exit.FOUND_NOTHING if seen.is_closed and not never else Exit.FOUND_FAULTS


def _told_breach(output: Output, scope: Scope, subject: Subject, seen: Exploration) -> int:
    run = replay_moves(subject, scope.world, seen.trace)
    trace = trace_of_run(run, subject, 0, 0)
    path = TRACES / trace_name(f"explore-{scope.name}", fault_of(run))
    output.heading("The shortest way to a breach")
    output.line(explain(trace, path, subject.name, list(replay_trace(trace, subject))).rstrip())
    output.verdict("a clause broke", False)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_trace(path, trace)
    except OSError as error:
        raise CannotRun(
            f"the trace cannot be written to {path} ({error.strerror}): run in another folder"
        ) from error
    return Exit.FOUND_FAULTS
