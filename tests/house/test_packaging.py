"""What the build makes of the rooms: wheels are whole, and a checkout that lost its links builds none."""

import os
import runpy
import shutil
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

import pagedkv

from .rooms import ROOMS

ROOT = Path(__file__).resolve().parents[2]
LINKS = ROOT / "src" / "pagedkv"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Copy what a build reads, links as links."""
    target = tmp_path / "checkout"
    target.mkdir()
    for name in ("pyproject.toml", "setup.py", "LICENSE"):
        shutil.copy(ROOT / name, target)
    (target / "README.md").touch()
    rubbish = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in ("src", *ROOMS):
        shutil.copytree(ROOT / name, target / name, symlinks=True, ignore=rubbish)
    return target


def build(tree: Path, kind: str) -> subprocess.CompletedProcess[str]:
    """Call the build backend on a tree as an installer would, with the setuptools that is installed here."""
    return subprocess.run(
        [sys.executable, "-c", f"from setuptools import build_meta; build_meta.build_{kind}('dist')"],
        cwd=tree,
        capture_output=True,
        text=True,
        check=False,
    )


def built(tree: Path, kind: str, pattern: str) -> Path:
    """Build what must be buildable, and return the archive."""
    run = build(tree, kind)
    assert run.returncode == 0, run.stderr
    (archive,) = (tree / "dist").glob(pattern)
    return archive


def names_in(wheel: Path) -> set[str]:
    """The files of the package in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if name.startswith("pagedkv/")}


def test_each_room_is_one_relative_link() -> None:
    links = {path.name: os.readlink(path) for path in LINKS.iterdir() if path.is_symlink()}
    assert links == {name: f"../../{name}" for name in ROOMS}


def test_a_wheel_holds_every_file_of_every_room(checkout: Path) -> None:
    data = checkout / "conformance" / "only_data" / "deep"
    data.mkdir(parents=True)
    kept = {"a.json", "b.jsonl", "c.toml"}
    for name in (*kept, "d.orig"):
        (data / name).touch()
    sources = {
        f"pagedkv/{path.relative_to(checkout)}" for name in ROOMS for path in (checkout / name).rglob("*.py")
    }
    names = names_in(built(checkout, "wheel", "*.whl"))
    assert sources | {"pagedkv/__init__.py", "pagedkv/py.typed"} <= names
    assert {name.rpartition("/")[2] for name in names if "only_data" in name} == kept


def test_the_source_archive_builds_the_same_wheel(checkout: Path, tmp_path: Path) -> None:
    archive = built(checkout, "sdist", "*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path / "unpacked", filter="data")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    again = names_in(built(unpacked, "wheel", "*.whl"))
    assert again == names_in(built(checkout, "wheel", "*.whl"))


@pytest.mark.parametrize(
    ("kind", "damage"),
    [
        ("wheel", "text file"),
        ("editable", "text file"),
        ("sdist", "text file"),
        ("wheel", "nothing"),
        ("wheel", "dangling link"),
    ],
)
def test_a_lost_link_stops_the_build_with_a_sentence(checkout: Path, kind: str, damage: str) -> None:
    link = checkout / "src" / "pagedkv" / "invariants"
    link.unlink()
    if damage == "text file":
        link.write_text("../../invariants")
    elif damage == "dangling link":
        link.symlink_to("../../gone")
    run = build(checkout, kind)
    assert run.returncode == 1
    assert "not a directory: src/pagedkv/invariants." in run.stderr
    assert not [*checkout.rglob("*.whl"), *checkout.rglob("*.tar.gz")]


def test_the_guard_knows_every_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("setuptools.setup", lambda: None)
    assert set(runpy.run_path(str(ROOT / "setup.py"))["ROOMS"]) == set(ROOMS)


def test_the_version_is_that_of_the_installed_package() -> None:
    assert pagedkv.__version__ == version("pagedkv")
