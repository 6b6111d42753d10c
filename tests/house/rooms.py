"""What each room may import and how long it may be, and where a tree breaks that."""

import ast
import sys
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from .imports import Import, defined_in, imports_of, loaded_with, module_of

MAX_LINES = 300
"""Lines of one file of a room, all of them."""

MAX_MODEL_LINES = 2200
"""Lines of code of the model: reference and the rules together."""


@dataclass(frozen=True)
class Room:
    """A row of the table: the rooms it may import, and what it never may, not even handed on by another."""

    rooms: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    packages: tuple[str, ...] | None = ()
    """What it may import beside Python; None for whatever its extra brings."""


ROOMS = {
    # Only one hash function needs a package, which is imported when it is called.
    "spec": Room(packages=("xxhash",)),
    "reference": Room(rooms=("spec",)),
    "invariants": Room(rooms=("spec",), never=("pagedkv.spec.rules", "hypothesis")),
    "impl": Room(rooms=("spec",), never=("pagedkv.spec.rules",), packages=("torch", "numpy")),
    "conformance": Room(rooms=("spec", "reference", "invariants", "impl"), packages=None),
}


def files_of(folder: Path) -> list[Path]:
    """The Python files of a folder, at any depth, in a fixed order."""
    return sorted(folder.rglob("*.py"))


def import_breaches(root: Path) -> list[str]:
    """Each import of a room that the table does not allow, with the reason."""
    return [
        f"{taken}: {reason}"
        for name, room in ROOMS.items()
        for path in files_of(root / name)
        for taken in imports_of(path, root)
        for reason in _reasons(taken, name, room, root)
    ]


def _reasons(taken: Import, name: str, room: Room, root: Path) -> Iterator[str]:
    origin = defined_in(taken, root)
    for banned in room.never:
        if taken.within(banned) or f"{origin}.".startswith(f"{banned}."):
            yield f"{name} never imports {banned}"
    if taken.top != "pagedkv":
        known = room.packages is None or taken.top in (*sys.stdlib_module_names, *room.packages)
        if not known:
            yield f"{name} needs only " + " and ".join(["Python", *(room.packages or ())])
    elif not taken.within(f"pagedkv.{name}"):
        if not any(taken.within(f"pagedkv.{other}") for other in room.rooms):
            yield f"{name} may import {', '.join(room.rooms) or 'no other room'}"
        if taken.relative:
            yield "relative imports stay in the room"
        if taken.name is None or taken.module == "pagedkv":
            yield "across rooms names are taken: from pagedkv.room import name"


def bare_imports(paths: Iterable[Path], root: Path) -> list[str]:
    """Each import of a room by its bare name, or through `src`."""
    return [
        f"{taken}: rooms are imported from pagedkv"
        for path in paths
        for taken in imports_of(path, root)
        if not taken.relative and taken.top in (*ROOMS, "src")
    ]


def engines_that_need_hypothesis(root: Path) -> list[str]:
    """Each adapter that names Hypothesis, or whose import brings it along."""
    found = []
    for path in files_of(root / "conformance" / "engines"):
        found += [str(taken) for taken in imports_of(path, root) if taken.top == "hypothesis"]
        brought = loaded_with(path, root)
        found += [
            f"{module_of(path, root)}, through {via}"
            for module, via in brought.items()
            if module.partition(".")[0] == "hypothesis"
        ]
    return found


def long_files(root: Path) -> list[str]:
    """Each file of a room with more lines than a reader should have to hold at once."""
    lengths = {
        path: len(path.read_text(encoding="utf-8").splitlines())
        for name in ROOMS
        for path in files_of(root / name)
    }
    return [f"{path}: {lines} lines" for path, lines in lengths.items() if lines > MAX_LINES]


def model_lines(root: Path) -> int:
    """The lines of code of the model: what the clauses say, once as rules and once as state."""
    paths = files_of(root / "reference") + files_of(root / "spec" / "rules")
    return sum(code_lines(path) for path in paths)


def code_lines(path: Path) -> int:
    """The lines of a file that hold code: no blank line, no comment, no docstring."""
    layout = {
        tokenize.ENCODING,
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    }
    lines: set[int] = set()
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type not in layout:
                lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - _docstring_lines(ast.parse(path.read_text(encoding="utf-8"))))


def _docstring_lines(tree: ast.AST) -> set[int]:
    lines: set[int] = set()
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return lines
