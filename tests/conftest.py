"""What holds for every test: one thread, one copy of each room, the same Hypothesis examples in every run."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

import pagedkv

ROOMS = sorted(marker.parent.name for marker in Path(pagedkv.__file__).parent.glob("*/__init__.py"))

# Tests run side by side, one per core: more threads would only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

settings.register_profile("ci", derandomize=True, deadline=None)
settings.load_profile("ci")


def _refuse_second_copies() -> None:
    copies = [room for room in ROOMS if room in sys.modules]
    if copies:
        pytest.fail(
            f"imported by bare name: {', '.join(copies)}. That is a second copy of every class in there; "
            f"write `from pagedkv.{copies[0]} import ...`.",
            pytrace=False,
        )


@pytest.fixture(autouse=True)
def one_copy_of_each_room() -> Iterator[None]:
    """Fail the test that finds a room imported by its bare name, before it or in it."""
    _refuse_second_copies()
    yield
    _refuse_second_copies()
