"""One thread, one fixed seed of the hash chain, and every device that is there."""

from collections.abc import Iterator

import pytest
import torch

from pagedkv.spec import init_none_hash, sha256

from .devices import DEVICES


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> Iterator[None]:
    """Leave the other cores to whoever works beside the tests: the tensors here are small."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> torch.device:
    """Each device in turn."""
    return torch.device(request.param)


@pytest.fixture(autouse=True)
def seeded_hashes() -> None:
    """Give the first unit the same parent in every run."""
    init_none_hash(sha256, seed="tests")
