"""Running the command in a folder of its own, where the examples are too."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pagedkv.conformance.cli.commands import pagedkv

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

Command = Callable[..., Result]
Process = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that commands run in."""
    shutil.copytree(EXAMPLES, tmp_path / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.chdir(tmp_path)
    # Commands put the folder there, for modules in it.
    monkeypatch.setattr(sys, "path", [*sys.path])
    return tmp_path


@pytest.fixture
def command(folder: Path) -> Command:
    """Run the command in this process. Output and errors come in one text."""

    def run(*arguments: object) -> Result:
        return CliRunner().invoke(pagedkv, [str(argument) for argument in arguments], prog_name="pagedkv")

    return run


@pytest.fixture
def process(folder: Path) -> Process:
    """Run the command in a process of its own."""

    def run(*arguments: object) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "pagedkv", *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run
