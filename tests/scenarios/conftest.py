"""One side per test, and one fixed seed of the hash chain."""

from types import ModuleType

import pytest

from pagedkv.spec import init_none_hash, sha256

from .sides import SIDES, load


@pytest.fixture(params=SIDES)
def side(request: pytest.FixtureRequest) -> ModuleType:
    """The namespace with the managers, the pool and the scheduler of one side."""
    return load(request.param)


@pytest.fixture(autouse=True)
def seeded_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the first unit the same parent in every run."""
    monkeypatch.setenv("PYTHONHASHSEED", "0")
    init_none_hash(sha256)
