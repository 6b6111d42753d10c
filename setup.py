"""Stops a build whose rooms did not arrive; everything else about the package is in pyproject.toml.

The rooms of `pagedkv` are relative symbolic links to folders at the top of the repository. A checkout without
link support holds small text files in their place, and setuptools would pack a wheel without those rooms and
without a word.
"""

from pathlib import Path

from setuptools import setup

ROOMS = ("spec", "reference", "invariants", "impl", "conformance")

package = Path(__file__).resolve().parent / "src" / "pagedkv"
lost = [room for room in ROOMS if not (package / room).is_dir()]
if lost:
    names = ", ".join(f"src/pagedkv/{room}" for room in lost)
    raise SystemExit(
        f"pagedkv cannot be built from this checkout: not a directory: {names}. "
        "Each of these is a symbolic link to the folder of that name at the top of the repository, "
        "and this checkout was made without link support. Clone again with "
        "`git clone -c core.symlinks=true` (on Windows with developer mode on), or install a built wheel."
    )

setup()
