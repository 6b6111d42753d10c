"""A test run that imports a room by its bare name fails, wherever that import was."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).resolve().parents[1] / "conftest.py"


def run_tests(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    """Run one test file under a copy of the suite's conftest, beside a folder that passes for a room."""
    (folder / "spec").mkdir()
    (folder / "spec" / "__init__.py").touch()
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_it.py").write_text(text)
    shutil.copy(CONFTEST, folder)
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "."],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    "text",
    ["import spec\n\ndef test_it():\n    pass\n", "def test_it():\n    import spec\n"],
    ids=["at load", "in a test"],
)
def test_a_bare_import_fails_the_run(tmp_path: Path, text: str) -> None:
    run = run_tests(tmp_path, text)
    assert run.returncode == 1, run.stdout
    assert "imported by bare name: spec" in run.stdout


def test_an_import_from_the_package_does_not(tmp_path: Path) -> None:
    run = run_tests(tmp_path, "def test_it():\n    import pagedkv.spec\n")
    assert run.returncode == 0, run.stdout


def test_hypothesis_draws_the_same_examples_in_every_run(tmp_path: Path) -> None:
    run = run_tests(
        tmp_path,
        "from hypothesis import settings\n\n"
        "def test_it():\n    assert settings().derandomize and settings().deadline is None\n",
    )
    assert run.returncode == 0, run.stdout
