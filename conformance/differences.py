"""Which clause a difference between a subject and the reference breaks."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from pagedkv.invariants.breach import Breach
from pagedkv.spec.clauses import (
    Clause,
    allocation,
    chunk,
    copies,
    events,
    freeing,
    hashing,
    hit,
    index,
    pool,
)
from pagedkv.spec.event_names import EventName, Removed
from pagedkv.spec.moves import (
    Admit,
    BeginPass,
    CommonPrefix,
    Continue,
    EndPass,
    Evict,
    Finish,
    Move,
    Preempt,
    Reset,
    Schedule,
    Truncate,
)
from pagedkv.spec.outcomes import Allocated, Found, Outcome, Stepped, Viewed, Waits
from pagedkv.spec.snapshot import KeyName, Snapshot

_ERRORS: dict[type, Clause] = {
    Continue: hashing.NAMES_THE_PREFIX,
    Admit: allocation.NONE_CHANGES_NOTHING,
    Schedule: allocation.NONE_CHANGES_NOTHING,
    Truncate: hit.TRUNCATION,
    CommonPrefix: allocation.COMMON_PREFIX,
    Preempt: freeing.FORGETS_THE_REQUEST,
    Finish: freeing.FORGETS_THE_REQUEST,
    EndPass: copies.DRAINED_IN_ORDER,
    BeginPass: copies.SAME_PASS_WAITS,
    Evict: pool.EVICT_TAKES_KEYS,
    Reset: pool.RESET_WHEN_IDLE,
}


def clause_of_error(move: Move) -> Clause:
    """The clause that an unexpected error in a move breaks."""
    return _ERRORS.get(type(move), pool.COUNT_IS_HOLDERS)


def differences(
    move: Move,
    expected: Outcome,
    actual: Outcome,
    mirrored: Snapshot[KeyName] | None,
    after: Snapshot[KeyName] | None,
) -> Iterator[Breach]:
    """What the subject did otherwise than the reference, what was answered first."""
    if expected != actual:
        clause = _clause_of_outcome(move, expected, actual)
        yield Breach(clause, f"answered {actual}, expected {expected}")
    if mirrored is not None and after is not None:
        for name, clause in _FIELDS:
            mine, theirs = _comparable(name, mirrored), _comparable(name, after)
            if mine != theirs and theirs is not None:
                yield Breach(_clause_of_field(name, clause, move), f"{name} is {theirs}, expected {mine}")


def event_differences(
    expected: tuple[EventName, ...] | None, actual: tuple[EventName, ...] | None
) -> Iterator[Breach]:
    """What the subject announced otherwise than the reference, if both announce."""
    if expected is not None and actual is not None and _in_one_order(expected) != _in_one_order(actual):
        yield Breach(events.IN_ORDER, f"announced {list(actual)}, expected {list(expected)}")


def _in_one_order(told: tuple[EventName, ...]) -> list[EventName]:
    """The events with removals that follow each other sorted: which of them came first is nobody's to see."""
    ordered: list[EventName] = []
    for is_removal, group in groupby(told, lambda event: isinstance(event, Removed)):
        run = list(group)
        ordered += sorted(run, key=str) if is_removal else run
    return ordered


_FIELDS: tuple[tuple[str, Clause], ...] = (
    ("tables", allocation.COVERS_THE_TOKENS),
    ("keys", allocation.FULL_BLOCKS_BECOME_KEYS),
    ("copies", copies.CONSUMER_GETS_PRIVATE_BLOCK),
    ("hand_offs", copies.HAND_OFF),
    ("pins", copies.HAND_OFF),
    ("ref_counts", pool.COUNT_IS_HOLDERS),
    ("queue", pool.FREED_TAILS_FIRST),
    ("index", index.LONGEST_HOLDER_ANSWERS),
    ("num_cached", allocation.FULL_BLOCKS_BECOME_KEYS),
    ("filled", copies.SAME_PASS_WAITS),
    ("published", freeing.WITHDRAWN_KEYS_GO),
    ("named_partial", allocation.PARTIAL_PROMPT_END),
)
"""Parts of the state, the last three of what a manager remembers of its pass."""


def _comparable(name: str, snapshot: Snapshot[KeyName]) -> Any:
    if name not in Snapshot.__dataclass_fields__:
        return snapshot.marks and getattr(snapshot.marks, name)
    value = getattr(snapshot, name)
    if name == "keys":
        # Which key is primary is told; the order of the others is nobody's to see.
        return tuple((keys[:1], frozenset(keys[1:])) for keys in value)
    return value


def _clause_of_field(name: str, clause: Clause, move: Move) -> Clause:
    if name == "keys":
        if isinstance(move, Evict):
            return pool.EVICT_TAKES_KEYS
        if isinstance(move, Reset):
            return pool.RESET_WHEN_IDLE
        if isinstance(move, Preempt) and move.withdraw:
            return freeing.WITHDRAWN_KEYS_GO
        if isinstance(move, (Preempt, Finish, EndPass)):
            return index.KEYS_STAY
    if name == "queue" and isinstance(move, (Admit, Schedule)):
        return pool.TAKEN_FROM_THE_FRONT
    return clause


def _clause_of_outcome(move: Move, expected: Outcome, actual: Outcome) -> Clause:
    found, other = getattr(expected, "found", None), getattr(actual, "found", None)
    if isinstance(found, Found) and isinstance(other, Found) and found != other:
        divergent = isinstance(move, Admit) and move.lookup == "divergent"
        if divergent and (found.diverged, found.hit) != (other.diverged, other.hit):
            return hit.DIVERGENT
        if found.hit != other.hit:
            return hit.LONGEST
        if [len(row) for row in found.rows] != [len(row) for row in other.rows]:
            return hit.BLOCKS_COVER_IT
        return hit.JUNCTION if found.rows == other.rows else index.LONGEST_HOLDER_ANSWERS
    if isinstance(expected, Allocated) and isinstance(actual, Allocated):
        if expected.num_new_tokens != actual.num_new_tokens:
            return chunk.ENDS_ON_A_STATE
        if (expected.rows is None) != (actual.rows is None):
            return allocation.PREDICTION_IS_EXACT
        return allocation.ANSWERS_NEW_ENTRIES
    if isinstance(expected, Viewed):
        return hit.TRUNCATION
    if isinstance(expected, (Waits, Allocated)):
        return chunk.ENDS_ON_A_STATE
    if isinstance(expected, Stepped):
        same_copies = isinstance(actual, Stepped) and expected.copies == actual.copies
        return copies.HAND_OFF if same_copies else copies.DRAINED_IN_ORDER
    return clause_of_error(move)
