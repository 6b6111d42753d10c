"""What a move may announce."""

from collections.abc import Iterator

from pagedkv.spec.clauses import events
from pagedkv.spec.event_names import Cleared, Removed, Stored
from pagedkv.spec.moves import Reset
from pagedkv.spec.outcomes import Answered
from pagedkv.spec.snapshot import KeyName

from .edge import Edge
from .law import law
from .stream import replay, replayed


@law(events.CLEARED_BY_RESET)
def cleared_by_reset(edge: Edge) -> Iterator[str]:
    """A reset that took place announces itself alone, and nothing else does."""
    told = edge.events
    if told is None:
        return
    if isinstance(edge.move, Reset) and edge.outcome == Answered(True):
        if told != (Cleared(),):
            yield f"a reset took place and announced {list(told)}"
    elif Cleared() in told:
        yield f"{edge.move} announced that all is cleared"


@law(events.STORED_WHEN_NEW)
def stored_when_new(edge: Edge) -> Iterator[str]:
    """No key is announced stored that is known already."""
    for event, known in replay(edge.announced, edge.events or ()):
        if isinstance(event, Stored) and event.key in known:
            yield f"{event.key} is announced stored, and was announced before and not removed"


@law(events.REMOVED_WHEN_GONE)
def removed_when_gone(edge: Edge) -> Iterator[str]:
    """No key is announced removed that is not known, or that a block has throughout the move."""
    restarted = edge.restarted()
    moved = {key for _, key in edge.arrived()}
    for event, known in replay(edge.announced, edge.events or ()):
        if not isinstance(event, Removed):
            continue
        key = event.key
        if key not in known:
            yield f"{key} is announced removed, and no announcement of it is left"
        for block in edge.before.index.get(key, ()):
            if block not in restarted and key in edge.after.keys[block]:
                yield f"{key} is announced removed, and block {block} has it before and after {edge.move}"
        if key in moved:
            yield f"{key} is announced removed, and its entry moved to another block"


@law(events.IN_ORDER)
def in_order(edge: Edge) -> Iterator[str]:
    """In one move a group loses keys before it stores any."""
    storing: set[int] = set()
    for event in edge.events or ():
        if isinstance(event, Stored):
            storing.add(event.key.group)
        elif isinstance(event, Removed) and event.key.group in storing:
            yield f"{event.key} is announced removed after its group stored others in {edge.move}"


@law(events.PARENTS_KNOWN)
def parents_known(edge: Edge) -> Iterator[str]:
    """The parent is the prefix before the block, where that is known, and else none."""
    for event, known in replay(edge.announced, edge.events or ()):
        if isinstance(event, Stored):
            group, prompt, num_tokens = event.key
            start = (num_tokens - 1) // edge.shape.sizes[group] * edge.shape.sizes[group]
            before = KeyName(group, *edge.world.name(prompt, start)) if start else None
            expected = before if before in known else None
            if event.parent != expected:
                yield f"{event.key} is announced with the parent {event.parent}, not {expected}"


@law(events.TELLS_THE_BLOCK)
def tells_the_block(edge: Edge) -> Iterator[str]:
    """A stored key comes with what is in its block, and with all that its hashes are made of."""
    for event in edge.events or ():
        if not isinstance(event, Stored):
            continue
        group, of_prompt, num_tokens = event.key
        prompt, size, unit = edge.world.prompts[of_prompt], edge.shape.sizes[group], edge.world.unit
        inside = [p for p in range(num_tokens) if p // size == (num_tokens - 1) // size]
        extras = []
        for first in inside[::unit]:
            here = [f"lora:{prompt.lora}"] if prompt.lora is not None else []
            here += [f"salt:{prompt.salt}"] if prompt.salt is not None and first == 0 else []
            overlaps = {
                (image.offset - first, image.identifier)
                for image in prompt.images
                for p in range(first, first + unit)
                if 0 <= p - image.offset < image.length
            }
            here += [f"image:{name}@{offset}" for offset, name in sorted(overlaps)]
            here += [
                f"embedding:{embed.content.encode().hex()}@{embed.position - first}"
                for embed in sorted(prompt.embeds, key=lambda embed: embed.position)
                if first <= embed.position < first + unit
            ]
            extras.append(tuple(here))
        tokens = tuple(prompt.tokens[p] for p in inside)
        told = (event.start, event.tokens, event.block_size, event.lora, event.extras)
        expected = (inside[0], tokens, size, prompt.lora, tuple(extras))
        if told != expected:
            yield f"{event.key} is announced with {told}, and it has {expected}"


@law(events.REPLAY_REBUILDS)
def replay_rebuilds(edge: Edge) -> Iterator[str]:
    """Whoever replays all events has the keys of the index."""
    if edge.events is None:
        return
    told, there = replayed(edge.announced, edge.events), edge.after.index.keys()
    if told - there or there - told:
        yield f"events leave {sorted(told - there)} too many and lack {sorted(there - told)}"
