"""A subject that dies or hangs while its fault is made smaller does no harm."""

from collections.abc import Callable
from pathlib import Path

import pytest

from pagedkv.conformance.campaign.campaign import Exit, check
from pagedkv.conformance.campaign.expectations import Avoided
from pagedkv.conformance.campaign.minimise import is_same
from pagedkv.conformance.campaign.runs import Run, random_run
from pagedkv.conformance.campaign.shrinker import Shrinker
from pagedkv.conformance.subject_names import subject_named

SUBJECT = """
import os, time

class make:
    def __init__(self, world):
        # No world is drawn so small; the search for a smaller one tries it.
        if world.num_blocks == 2:
            {end}

    def lookup(self, request):
        return 0, [[]]

    def allocate(self, request, num_new_tokens):
        return [[]]

    def free(self, request): ...
    def step(self): ...
"""


@pytest.fixture
def named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Make a subject that does something in the smallest world."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))

    def name(end: str) -> str:
        module = f"ends_by_{abs(hash(end))}"
        (tmp_path / f"{module}.py").write_text(SUBJECT.format(end=end))
        return f"{module}:make"

    return name


def failing(name: str) -> Run:
    return random_run(subject_named(name), 0, 0, ("full",), Avoided(frozenset()))


def test_a_run_is_made_smaller_in_another_process(named: Callable[[str], str]) -> None:
    name = named("open('tried', 'w').close()")
    shrinker = Shrinker(name, 60)
    run = failing(name)
    assert not Path("tried").exists()
    small = shrinker.smallest(run)
    shrinker.stop()
    assert small is not None
    assert is_same(small, run)
    assert small.world.num_blocks == 2 < run.world.num_blocks
    assert Path("tried").exists()


@pytest.mark.parametrize(("end", "seconds"), [("os._exit(9)", 60), ("time.sleep(60)", 4)])
def test_one_that_ends_its_process_is_given_up(named: Callable[[str], str], end: str, seconds: float) -> None:
    name = named(f"open('tried', 'a').write('.'); {end}")
    shrinker = Shrinker(name, seconds)
    run = failing(name)
    assert [shrinker.smallest(run), shrinker.smallest(run)] == [None, None]
    shrinker.stop()
    # A new process has tried the second time.
    assert Path("tried").read_text() == ".."


def test_the_fault_is_kept_as_it_was_found(named: Callable[[str], str]) -> None:
    verdict = check(subject_named(named("os._exit(9)")), 30, 0, ("full",))
    assert verdict.exit_code is Exit.FOUND_FAULTS
    assert verdict.findings
    assert not any(finding.is_minimal for finding in verdict.findings.values())
