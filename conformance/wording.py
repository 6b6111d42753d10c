"""Worlds, moves and answers as a reader of a failure wants them: one line each."""

import re
from collections.abc import Sequence
from dataclasses import asdict

from pagedkv.spec import World
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
from pagedkv.spec.snapshot import Rows
from pagedkv.spec.world import PLAIN, Group, Prompt

_MOST_SHOWN = 24
"""Entries of a list that are shown before the rest is only counted."""


def step_in_words(move: Move, outcome: Outcome | None, is_last: bool) -> str:
    """A move and its answer, such as ``admit r0 for 4 tokens: hit 4, got [[5], [0, 6]]``.

    A life that ended its process has no outcomes: the last step is what ended it, and of the others the
    answers are not known.
    """
    words = _move_in_words(move, outcome)
    unanswered = "the process ended" if is_last else ""
    answer = unanswered if outcome is None else _outcome_in_words(outcome)
    return f"{words}: {answer}" if answer else words


def world_in_words(world: World) -> list[str]:
    """The deployment, the groups and the prompts, a line each."""
    parts = [
        f"{world.num_blocks} blocks",
        f"{_tokens(world.unit)} per hash",
        f"at most {_tokens(world.max_step_tokens)} in a pass",
    ]
    if not world.enable_caching:
        parts.append("caching off")
    if world.use_eagle:
        parts.append("EAGLE")
    for name, value in asdict(world.options).items():
        if value != getattr(PLAIN, name):
            parts.append(name.replace("_", " ") + ("" if value is True else f" {value}"))
    groups = [f"group {g}: {_group_in_words(group)}" for g, group in enumerate(world.groups)]
    prompts = [f"p{p}: {_prompt_in_words(prompt)}" for p, prompt in enumerate(world.prompts)]
    return [", ".join(parts), *groups, *prompts]


def _outcome_in_words(outcome: Outcome) -> str:
    """What the manager answered; empty where it has nothing to say."""
    match outcome:
        case Nothing():
            return ""
        case Found():
            return _found_in_words(outcome)
        case Allocated(_, rows, found, external):
            parts = [_found_in_words(found)] if found else []
            if external:
                parts.append(f"{_tokens(external)} from elsewhere")
            return ", ".join([*parts, "got None" if rows is None else f"got {_rows_in_words(rows)}"])
        case Waits(found):
            parts = [_found_in_words(found)] if found else []
            return ", ".join([*parts, "has to wait"])
        case Stepped():
            return _stepped_in_words(outcome)
        case Answered(value):
            return ("yes" if value else "no") if isinstance(value, bool) else f"[{_listed(value)}]"
        case Viewed(found, rows):
            return f"{_found_in_words(found)}, " + ("refused" if rows is None else _rows_in_words(rows))
        case Raised(error, message):
            return f"raised {error}: {message}"


def _rows_in_words(rows: Rows) -> str:
    """Block ids per group."""
    return "[" + ", ".join(f"[{_listed(row)}]" for row in rows) + "]"


def _listed(entries: Sequence[object]) -> str:
    """The entries with commas; of a long list the beginning and how many there are."""
    if len(entries) <= _MOST_SHOWN:
        return ", ".join(map(str, entries))
    return ", ".join(map(str, entries[:_MOST_SHOWN])) + f", ... {len(entries)} in all"


def with_key_names(text: str) -> str:
    """The text with keys as people name them: ``p0:4 (group 1)``."""
    return re.sub(r"KeyName\(group=(\d+), prompt=(\d+), num_tokens=(\d+)\)", r"p\2:\3 (group \1)", text)


def printable(text: str) -> str:
    """The text with everything escaped that a terminal could take for more than a character."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _move_in_words(move: Move, outcome: Outcome | None) -> str:
    match move:
        case Submit(request, prompt):
            return f"submit {request} with p{prompt}"
        case Continue(request, prompt):
            return f"{request} goes on with p{prompt} in place of its last token"
        case BeginPass():
            return "begin a pass"
        case Admit(request, limit):
            return f"admit {request} for {_asked(limit, outcome)}{_ways_in_words(move)}"
        case Schedule(request, limit, drafts, accepted):
            guesses = f", {drafts} of them drafts, {accepted} of which are right" if drafts else ""
            return f"schedule {request} for {_asked(limit, outcome)}{guesses}"
        case Preempt(request, withdraw, pop):
            withdrawing = ", withdrawing this pass's work" if withdraw else ""
            return f"preempt {request}{withdrawing}{_popped(pop)}"
        case Finish(request, pop):
            return f"finish {request}{_popped(pop)}"
        case EndPass(release_first):
            return "end the pass" + (", releasing copies before hand-offs" if release_first else "")
        case Settle():
            return "process the oldest step in flight"
        case Loaded(request, valid):
            return f"the load for {request} ends with {_tokens(valid)} valid"
        case Evict(blocks):
            return f"evict blocks {_listed(blocks)}"
        case Reset():
            return "reset the cache"
        case Truncate(request, num_tokens):
            return f"look {request} up and cut the hit at {_tokens(num_tokens)}"
        case CommonPrefix(request):
            return f"count the blocks that {request} shares with all"


def _ways_in_words(move: Admit) -> str:
    """How a request is admitted, where that is not the usual way."""
    ways = {
        "common": "",
        "divergent": ", looked up for a connector",
        "none": ", without lookup",
        "skip": ", which must not read the cache",
    }
    words = ways[move.lookup]
    if move.available:
        when = "while others run" if move.asynchronous else "in the step"
        words += f", a connector having {_tokens(move.available)}, loaded {when}"
    if move.valid is not None:
        words += f", of which nothing behind {_tokens(move.valid)} turns out right"
    if move.reserved:
        words += f", {move.reserved} blocks being reserved"
    return words


def _asked(limit: int, outcome: Outcome | None) -> str:
    return _tokens(outcome.num_new_tokens) if isinstance(outcome, Allocated) else f"at most {_tokens(limit)}"


def _popped(pop: bool) -> str:
    return ", popping its blocks and freeing them" if pop else ""


def _tokens(count: int) -> str:
    return f"{count} token{'' if count == 1 else 's'}"


def _found_in_words(found: Found) -> str:
    parts = [f"hit {found.hit}"]
    if found.hit:
        parts[0] += f" in {_rows_in_words(found.rows)}"
    if found.junction:
        parts.append(f"junction {found.junction}")
    if found.diverged:
        parts.append("a group lags")
    return ", ".join(parts)


def _stepped_in_words(outcome: Stepped) -> str:
    parts = []
    if outcome.copies:
        parts.append("copied " + _listed([f"{src} to {dst}" for src, dst in outcome.copies]))
    if outcome.zeroed:
        parts.append("zeroed " + _listed(outcome.zeroed))
    if outcome.hand_offs:
        taken = [f"block {h.block} of {h.request} at {_tokens(h.num_tokens)}" for h in outcome.hand_offs]
        parts.append("handed over " + _listed(taken))
    return "; ".join(parts)


def _group_in_words(group: Group) -> str:
    parts = [f"{group.kind}, blocks of {_tokens(group.block_size)}"]
    if group.speculative:
        parts.append(f"{group.speculative} speculative")
    if group.eagle:
        parts.append("EAGLE")
    if group.variant != 1:
        parts.append(f"variant {group.variant}")
    return ", ".join(parts)


def _prompt_in_words(prompt: Prompt) -> str:
    parts = [f"{_tokens(prompt.length)} of [{_listed(prompt.tokens)}]"]
    if prompt.salt is not None:
        parts.append(f"salt {prompt.salt!r}")
    if prompt.lora is not None:
        parts.append(f"adapter {prompt.lora!r}")
    parts += [f"image {i.identifier!r} at {i.offset} for {i.length}" for i in prompt.images]
    parts += [f"embedding {e.content!r} at {e.position}" for e in prompt.embeds]
    return ", ".join(parts)
