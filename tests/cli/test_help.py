"""What a newcomer reads first."""

import subprocess
import sys

import pytest

from pagedkv.conformance.cli.commands import pagedkv

from .conftest import Command


def test_help_tells_the_exit_codes(command: Command) -> None:
    result = command("--help")
    assert result.exit_code == 0
    for words in ("0    nothing unexpected", "1    a fault", "2    it could not run", "130  interrupted"):
        assert words in result.output


@pytest.mark.parametrize("name", sorted(pagedkv.commands))
def test_every_command_has_an_example(command: Command, name: str) -> None:
    result = command(name, "--help")
    assert result.exit_code == 0
    assert "Example" in result.output
    assert f"\n    pagedkv {name}" in result.output


def test_the_version_is_told_with_that_of_the_specification() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "pagedkv", "--version"], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout) == (0, "pagedkv 0.1.0, specification 0.1\n")
