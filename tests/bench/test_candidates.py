"""Which managers are measured, and on what."""

from typing import Any

import pytest

from pagedkv.conformance.bench import candidates as candidates_module
from pagedkv.conformance.bench.candidate import deployment
from pagedkv.conformance.bench.candidates import all_candidates, candidate_named
from pagedkv.conformance.bench.tensors import tensor_bytes
from pagedkv.conformance.bench.timing import measure

from .sides import ADMIT, DECODE, LOOKUP

torch = pytest.importorskip("torch")


def test_the_base_comes_first() -> None:
    names = [candidate.name for candidate in all_candidates("reference", "cpu")]
    assert names == ["reference", "impl", "impl batch"]


def test_every_candidate_answers_the_same_blocks() -> None:
    candidates = all_candidates("reference", "cpu")
    assert len(measure(DECODE, candidates, 16).timings) == 3
    for case in (LOOKUP, ADMIT):
        assert len(measure(case, candidates[:2], 16).timings) == 2


def test_vllm_answers_the_same_blocks() -> None:
    pytest.importorskip("vllm")
    candidates = [candidate_named("vllm", "cpu"), candidate_named("reference", "cpu")]
    for case in (DECODE, LOOKUP, ADMIT):
        assert len(measure(case, candidates, 16).timings) == 2


def test_on_a_gpu_all_that_is_pending_there_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[Any] = []
    monkeypatch.setattr(candidates_module, "torch_subject", lambda device: None)
    monkeypatch.setattr(torch.cuda, "synchronize", waited.append)
    candidate_named("impl", "cuda:1").synchronise()
    assert waited == ["cuda:1"]
    candidate_named("impl", "cpu").synchronise()
    assert waited == ["cuda:1"]


def test_the_tensors_of_impl_are_found() -> None:
    impl = candidate_named("impl", "cpu")
    assert impl.tensor_bytes is tensor_bytes
    small, large = (impl.tensor_bytes(impl.make_manager(deployment(n, 100))) for n in (1000, 101_000))
    # At least a count, a place in the queue, and the queue.
    assert large - small >= 100_000 * 12
