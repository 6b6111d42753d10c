"""Two states of a manager beside each other, as text."""

from collections.abc import Iterator, Sequence

from pagedkv.spec import Snapshot
from pagedkv.spec.snapshot import KeyName

_MOST_UNCHANGED = 24
"""Lines without a change."""
_LONGEST = 160
"""Characters of one state in a line."""


def state_lines(before: Snapshot[KeyName], after: Snapshot[KeyName] | None) -> list[str]:
    """Queue, tables and keys, and whatever else changed, as ``name  before -> after``.

    ``after`` None: only the state before is known. Keys are named by prefix: ``p0:4`` is the first four
    tokens of prompt 0.
    """
    after = before if after is None else after
    old, new = _shown(before), _shown(after)
    always = {**old, **new}
    old, new = old | _details(before), new | _details(after)
    changed = {name for name in {**old, **new} if old.get(name) != new.get(name)}
    unchanged = [name for name in always if name not in changed]
    told = changed.union(unchanged[:_MOST_UNCHANGED])
    names = [name for name in {**always, **old, **new} if name in told]
    width = max(map(len, names))
    lines = [f"{name:{width}}  {_change(old.get(name, 'none'), new.get(name, 'none'))}" for name in names]
    left_out = len(unchanged[_MOST_UNCHANGED:])
    return lines + ([f"and {left_out} more without a change"] if left_out else [])


def _change(old: str, new: str) -> str:
    if old == new:
        return _cut(old, 0)
    # What is equal at the start of long texts hides what is not.
    equal = next(
        (i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new))
    )
    start = max(0, equal - _LONGEST // 2)
    return f"{_cut(old, start)} -> {_cut(new, start)}"


def _cut(text: str, start: int) -> str:
    if len(text) <= _LONGEST:
        return text
    part = text[start : start + _LONGEST]
    return ("..." if start else "") + part + ("..." if start + _LONGEST < len(text) else "")


def _shown(state: Snapshot[KeyName]) -> dict[str, str]:
    """What is always shown, by name."""
    entries = {"queue": str([*state.queue])}
    entries |= {
        f"table of {request}": str([[*row] for row in rows]) for request, rows in state.tables.items()
    }
    return entries | {
        f"keys of block {block}": f"{', '.join(map(_name, keys))} (group {keys[0].group})"
        for block, keys in enumerate(state.keys)
        if keys
    }


def _details(state: Snapshot[KeyName]) -> dict[str, str]:
    """What is shown where it changed."""
    entries = {f"holders of block {block}": str(count) for block, count in enumerate(state.ref_counts)}
    entries |= {f"cached blocks of {request}": str([*counts]) for request, counts in state.num_cached.items()}
    entries |= dict(_index(state))
    entries["queued copies"] = _listed([f"{c.src} to {c.dst} (group {c.group})" for c in state.copies])
    entries["hand-offs"] = _listed(
        [f"block {h.block} of {h.request} at {h.num_tokens} (group {h.group})" for h in state.hand_offs]
    )
    entries |= {f"pinned for {request}": str([*blocks]) for request, blocks in state.pins.items()}
    if state.marks is not None:
        for g, blocks in enumerate(state.marks.filled):
            entries[f"filled by this pass, group {g}"] = _listed([*map(str, sorted(blocks))])
        for g, named in enumerate(state.marks.published):
            in_words = [f"{block} as {_name(key)} by {request}" for request, block, key in sorted(named)]
            entries[f"named in this pass, group {g}"] = _listed(in_words)
        for g, lengths in enumerate(state.marks.named_partial):
            entries[f"partial entries, group {g}"] = _listed([f"{r} at {n}" for r, n in lengths.items()])
    return entries


def _index(state: Snapshot[KeyName]) -> Iterator[tuple[str, str]]:
    """Keys whose holders cannot be read off the blocks' keys: several, or other ones."""
    holders: dict[KeyName, tuple[int, ...]] = {}
    for block, keys in enumerate(state.keys):
        for key in keys:
            holders[key] = (*holders.get(key, ()), block)
    for key in {**holders, **state.index}:
        blocks = state.index.get(key, ())
        if len(blocks) > 1 or blocks != holders.get(key):
            yield f"index of {_name(key)}, group {key.group}", str([*blocks])


def _name(key: KeyName) -> str:
    return f"p{key.prompt}:{key.num_tokens}"


def _listed(entries: Sequence[str]) -> str:
    return ", ".join(entries) or "none"
