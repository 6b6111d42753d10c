"""Copies of this package with changes in it."""

import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from inspect import getfile
from pathlib import Path

from pagedkv.spec import World

_OWN_PARTS_OF_SPEC = ("__init__.py", "events.py", "hashing", "requests.py", "rules")
"""What a copy beside the original has of its own in ``spec``. The rest is data, compared across both."""

_OWN_ROOMS = ("spec", "reference", "impl")


@dataclass(frozen=True)
class Patch:
    """A change in one place of the package."""

    file: str
    """Relative to the package, such as ``reference/pool.py``."""
    old: str
    new: str


class BadPatch(Exception):
    """A patch that does not fit the package; the message says why."""


def package_folder() -> Path:
    """Where the package ``pagedkv`` is."""
    return Path(getfile(World)).parents[1]


def patched_package(patches: Sequence[Patch], target: Path, name: str = "pagedkv") -> Path:
    """Copy the package to ``target/name`` and change the copy; answers the folder to import it from.

    Under its own name the whole package is copied. Under another name it is specification, reference and
    torch manager, which import each other by that name and share clauses, refusals and plain data with the
    original, so that both can be used in one process. Raises ``BadPatch`` unless each old text stands exactly
    once in its file, and the file belongs to the copy.
    """
    source, copy = package_folder(), target / name
    ignore = shutil.ignore_patterns("__pycache__")
    if name == "pagedkv":
        shutil.copytree(source, copy, ignore=ignore)
        shared = []
    else:
        for room in _OWN_ROOMS:
            shutil.copytree(source / room, copy / room, ignore=ignore)
        (copy / "__init__.py").write_text("")
        shared = [part for part in (copy / "spec").iterdir() if part.name not in _OWN_PARTS_OF_SPEC]
        for part in shared:
            shutil.rmtree(part) if part.is_dir() else part.unlink()
        for file in copy.rglob("*.py"):
            file.write_text(re.sub(r"(?m)^(from|import) pagedkv\b", rf"\1 {name}", file.read_text()))
    for patch in patches:
        _apply(patch, copy)
    for part in shared:
        part.with_suffix(".py").write_text(f"from pagedkv.spec.{part.stem} import *\n")
    return target


def _apply(patch: Patch, copy: Path) -> None:
    file = copy / patch.file
    if not file.is_file():
        raise BadPatch(f"{patch.file} is no file of the copy {copy.name}")
    text = file.read_text()
    if text.count(patch.old) != 1:
        raise BadPatch(f"{patch.file} has {text.count(patch.old)} times the text {patch.old!r}")
    file.write_text(text.replace(patch.old, patch.new))
