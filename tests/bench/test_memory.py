"""Bytes per block are those of the manager, in a process of its own."""

import sys
from pathlib import Path
from typing import Any

import pytest

from pagedkv.conformance.bench import memory
from pagedkv.conformance.bench.candidate import WrongAnswer
from pagedkv.conformance.bench.memory import memory_of
from pagedkv.conformance.bench.tensors import tensor_bytes

needs_proc = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no /proc here")


@needs_proc
def test_the_model_holds_three_words_for_a_block_and_more_for_a_cached_one() -> None:
    found = memory_of("reference", "cpu", 100_000)
    assert found.candidate == "reference"
    assert found.empty.tensors is None
    assert found.empty.resident and found.cached.resident
    # A count, keys and a place in the queue, 8 bytes each, and an int for the place.
    assert 24 <= found.empty.resident < 100
    # A key has 36 bytes of its own, a tuple with it, and an entry in the index.
    assert found.empty.resident + 150 < found.cached.resident < 800


def test_where_the_system_does_not_tell_nothing_is_claimed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from .sides import MODEL

    monkeypatch.setattr(memory, "_STATM", tmp_path / "none")
    monkeypatch.setattr(memory, "PROMPT", 64)
    assert memory.measure_here(MODEL, 16) == (memory.Footprint(None, None), memory.Footprint(None, None))


def test_a_process_that_fails_is_told_with_its_last_word() -> None:
    with pytest.raises(WrongAnswer) as caught:
        memory_of("reference", "cpu", 0)
    said = str(caught.value)
    assert said.startswith("memory: the process of reference ended with 1: ")
    assert "num_blocks is 0" in said


def test_each_storage_of_a_tensor_is_counted_once_wherever_it_hangs() -> None:
    torch = pytest.importorskip("torch")

    class Slotted:
        __slots__ = ("absent", "deep")
        __module__ = "pagedkv.something"

    class Foreign:
        def __init__(self) -> None:
            self.tensor = torch.zeros(1000)

    slotted = Slotted()
    slotted.deep = {"a": [torch.zeros(3, dtype=torch.int64)]}  # type: ignore[attr-defined]
    whole = torch.zeros(10, dtype=torch.int32)
    rows: list[Any] = [slotted, slotted]
    rows.append(rows)
    assert tensor_bytes({"whole": whole, "part": whole[3:], "rows": rows, "foreign": Foreign()}) == 40 + 24


def test_the_process_is_this_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(FileNotFoundError):
        memory_of("reference", "cpu", 10)
