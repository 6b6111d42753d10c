"""Two states of a manager beside each other, as text."""

from collections.abc import Iterator, Mapping, Sequence

from pagedkv.spec import Snapshot
from pagedkv.spec.snapshot import KeyName

from .wording import MOST_SHOWN, listed, rows_in_words


def state_lines(before: Snapshot[KeyName], after: Snapshot[KeyName] | None) -> list[str]:
    """Tables, queue and keys, and whatever else changed, as ``name  before -> after``.

    ``after`` None: only the state before is known. Keys are named by prefix: ``p0:4`` is the first four
    tokens of prompt 0.
    """
    old = {**_shown(before), **_details(before)} if after is not None else _shown(before)
    new = old if after is None else {**_shown(after), **_details(after)}
    always = {**_shown(before), **(_shown(after) if after is not None else {})}
    changed = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    unchanged = [name for name in always if name not in changed]
    names = [name for name in {**old, **new} if name in changed or name in unchanged[:MOST_SHOWN]]
    width = max(map(len, names))
    lines = [f"{name:{width}}  {_change(old.get(name, ''), new.get(name, ''))}" for name in names]
    left_out = len(unchanged) - len(unchanged[:MOST_SHOWN])
    return lines + ([f"and {left_out} more without a change"] if left_out else [])


def _change(old: str, new: str) -> str:
    return old or "none" if old == new else f"{old or 'none'} -> {new or 'none'}"


def _shown(state: Snapshot[KeyName]) -> dict[str, str]:
    """What is always shown, by name."""
    entries = {"queue": _sequence(state.queue)}
    entries |= {f"table of {request}": rows_in_words(rows) for request, rows in state.tables.items()}
    return entries | {f"keys of block {b}": _keys(keys) for b, keys in enumerate(state.keys) if keys}


def _details(state: Snapshot[KeyName]) -> dict[str, str]:
    """What is shown where it changed."""
    entries = {f"holders of block {b}": str(count) for b, count in enumerate(state.ref_counts) if count}
    entries |= {f"cached blocks of {r}": _sequence(counts) for r, counts in state.num_cached.items()}
    entries |= dict(_index(state))
    entries["queued copies"] = listed([f"{c.src} to {c.dst} (group {c.group})" for c in state.copies])
    entries["hand-offs"] = listed(
        [f"block {h.block} of {h.request} at {h.num_tokens} (group {h.group})" for h in state.hand_offs]
    )
    entries |= {f"pinned for {request}": _sequence(blocks) for request, blocks in state.pins.items()}
    if state.marks is not None:
        for g, blocks in enumerate(state.marks.filled):
            entries[f"filled by this pass, group {g}"] = listed(sorted(blocks))
        for g, named in enumerate(state.marks.published):
            in_words = [f"{block} as {_name(key)} by {request}" for request, block, key in named]
            entries[f"named in this pass, group {g}"] = listed(in_words)
        for g, lengths in enumerate(state.marks.named_partial):
            entries[f"partial entries, group {g}"] = listed([f"{r} at {n}" for r, n in lengths.items()])
    return entries


def _index(state: Snapshot[KeyName]) -> Iterator[tuple[str, str]]:
    """Keys whose holders cannot be read off the blocks' keys: several, or other ones."""
    holders: dict[KeyName, tuple[int, ...]] = {}
    for block, keys in enumerate(state.keys):
        for key in keys:
            holders[key] = (*holders.get(key, ()), block)
    listed_keys: Mapping[KeyName, tuple[int, ...]] = state.index
    for key in {**holders, **listed_keys}:
        blocks = listed_keys.get(key, ())
        if len(blocks) > 1 or blocks != holders.get(key):
            yield f"index of {_name(key)}, group {key.group}", _sequence(blocks)


def _keys(keys: Sequence[KeyName]) -> str:
    return f"{listed([_name(key) for key in keys])} (group {keys[0].group})"


def _name(key: KeyName) -> str:
    return f"p{key.prompt}:{key.num_tokens}"


def _sequence(blocks: Sequence[int]) -> str:
    return f"[{listed(blocks)}]"
