"""Known faults of a subject, and what to leave out so that they do not eat the budget."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from pagedkv.conformance.subjects import needs
from pagedkv.spec import World, clauses
from pagedkv.spec.moves import Move
from pagedkv.spec.trace import kind_name
from pagedkv.spec.world import GroupKind

from .faults import Fault

AVOIDABLE = (
    "withdraw",
    "evict",
    "reset",
    "pop",
    "truncate",
    "common prefix",
    "divergent lookup",
    "adapters",
    "continue",
    "images",
    "embeddings",
)
"""What a line can switch off: a capability, or prompts with adapters, images or embeddings."""

OPERATIONS = tuple(kind_name(move) for move in get_args(Move))


class BadExpectations(Exception):
    """An expectations file that cannot be used; the message says why."""


@dataclass(frozen=True)
class Expectation:
    """One known fault: which, why it is known, where to read of it."""

    clause: str
    reason: str
    operation: str = "*"
    """The kind of move, such as ``preempt``; ``*`` for any."""
    groups: str = "*"
    """The mix of groups, such as ``full+mamba``, or several with spaces between them; ``*`` for any."""
    link: str = ""
    avoid: str = ""
    """What is left out of the runs because of it."""

    def matches(self, fault: Fault) -> bool:
        """Whether the fault is the one expected."""
        return (
            self.clause == fault.clause.id
            and self.operation in ("*", fault.operation)
            and not {"*", fault.groups}.isdisjoint(self.groups.split())
        )


def read_expectations(path: Path) -> tuple[Expectation, ...]:
    """The lines of a TOML file with tables ``[[expect]]``. Raises ``BadExpectations``."""
    try:
        content = tomllib.loads(path.read_text())
    except OSError as error:
        raise BadExpectations(f"{path} cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadExpectations(f"{path} cannot be read as TOML: {error}") from error
    lines = content.get("expect", [])
    if not set(content) <= {"expect"} or not isinstance(lines, list):
        raise BadExpectations(f"{path} has to consist of tables [[expect]]")
    return tuple(_expectation(path, i, line) for i, line in enumerate(lines, 1))


def _expectation(path: Path, number: int, line: object) -> Expectation:
    where = f"{path}, [[expect]] number {number}"
    fields = Expectation.__dataclass_fields__
    if not isinstance(line, dict) or not all(isinstance(value, str) for value in line.values()):
        raise BadExpectations(f"{where}: every value has to be a string")
    unknown, lacking = set(line) - set(fields), {"clause", "reason"} - set(line)
    if unknown or lacking:
        what = f"unknown {', '.join(sorted(unknown))}" if unknown else f"lacks {', '.join(sorted(lacking))}"
        raise BadExpectations(f"{where}: {what}; it has {', '.join(fields)}")
    if line["clause"] not in {clause.id for clause in clauses.ALL}:
        raise BadExpectations(f"{where}: there is no clause {line['clause']!r}: see `pagedkv clauses`")
    if line.get("operation", "*") not in ("*", *OPERATIONS):
        raise BadExpectations(
            f"{where}: operation is {line['operation']!r}; it can be one of {', '.join(OPERATIONS)}"
        )
    mixes = line.get("groups", "*").split()
    if not mixes or not {kind for mix in mixes for kind in mix.split("+")} <= {"*", *get_args(GroupKind)}:
        raise BadExpectations(f"{where}: groups is {line['groups']!r}; it has mixes such as full+mamba")
    if line.get("avoid", "") not in ("", *AVOIDABLE):
        raise BadExpectations(f"{where}: avoid is {line['avoid']!r}; it can be one of {', '.join(AVOIDABLE)}")
    return Expectation(**line)


@dataclass(frozen=True)
class Avoided:
    """What the runs of a campaign leave out."""

    names: frozenset[str]

    @classmethod
    def by(cls, expectations: Sequence[Expectation]) -> "Avoided":
        """All that these lines switch off."""
        return cls(frozenset(line.avoid for line in expectations if line.avoid))

    def move(self, move: Move) -> bool:
        """Whether the move is left out."""
        return not self.names.isdisjoint(needs(move))

    def world(self, world: World) -> bool:
        """Whether worlds like this one are left out."""
        return any(
            ("adapters" in self.names and prompt.lora)
            or ("images" in self.names and prompt.images)
            or ("embeddings" in self.names and prompt.embeds)
            for prompt in world.prompts
        )
