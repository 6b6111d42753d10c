"""Bytes of metadata per block, each candidate in a process of its own."""

import gc
import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from .candidate import BLOCK_SIZE, Candidate, WrongAnswer, deployment
from .candidates import candidate_named
from .workload import fill

NUM_BLOCKS = 1_000_000
"""Blocks of the pool that is measured."""
PROMPT = 65_536
"""Tokens of the requests that fill it: few, since what they leave behind counts too."""
DOES = (
    "bytes of metadata per block: how much the resident memory of a new process grows by making the manager "
    "and, after that, by caching a prefix in every block; and the bytes of its tensors, where it has tensors"
)
_STATM = Path("/proc/self/statm")


@dataclass(frozen=True)
class Footprint:
    """Bytes per block; None for what a candidate does not have or this system does not tell."""

    resident: float | None
    tensors: float | None


@dataclass(frozen=True)
class Memory:
    """One candidate's bytes per block."""

    candidate: str
    empty: Footprint
    """Nothing was ever cached."""
    cached: Footprint
    """Every block has a prefix and is free."""


def memory_of(name: str, device: str, num_blocks: int = NUM_BLOCKS) -> Memory:
    """Measure a candidate in a new process. Raises ``WrongAnswer`` when that process fails."""
    ended = subprocess.run(
        [sys.executable, "-m", __name__, name, device, str(num_blocks)],
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode:
        why = (ended.stderr.strip().splitlines() or ["without a word"])[-1]
        raise WrongAnswer(f"memory: the process of {name} ended with {ended.returncode}: {why}")
    empty, cached = json.loads(ended.stdout.splitlines()[-1])
    return Memory(name, Footprint(**empty), Footprint(**cached))


def measure_here(candidate: Candidate, num_blocks: int) -> tuple[Footprint, Footprint]:
    """The footprint of an empty and of a full manager, by the growth of this process."""
    # What is made once, whatever the number of blocks, is made before each look, and kept. What filling gives
    # back would be used again unseen: so the empty manager is looked at before anything was filled.
    first = _manager(candidate, 2 * PROMPT // BLOCK_SIZE)
    before = _resident()
    manager = _manager(candidate, num_blocks)
    empty = _footprint(candidate, manager, num_blocks, before)
    fill(candidate, first, PROMPT)
    before = _resident()
    fill(candidate, manager, PROMPT)
    cached = _footprint(candidate, manager, num_blocks, before)
    if empty.resident is not None and cached.resident is not None:
        cached = replace(cached, resident=empty.resident + cached.resident)
    return empty, cached


def _manager(candidate: Candidate, num_blocks: int) -> Any:
    return candidate.make_manager(deployment(num_blocks, PROMPT))


def _footprint(candidate: Candidate, manager: Any, num_blocks: int, before: int | None) -> Footprint:
    candidate.synchronise()
    now = _resident()
    tensors = candidate.tensor_bytes(manager) / num_blocks if candidate.tensor_bytes else None
    return Footprint(None if now is None or before is None else (now - before) / num_blocks, tensors)


def _resident() -> int | None:
    """Bytes of this process that are in memory."""
    gc.collect()
    if not _STATM.exists():
        return None
    pages = int(_STATM.read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def main(arguments: list[str]) -> None:
    """Measure the candidate, on the device, with so many blocks, and print the footprints."""
    name, device, num_blocks = arguments
    footprints = measure_here(candidate_named(name, device), int(num_blocks))
    print(json.dumps([asdict(footprint) for footprint in footprints]))


if __name__ == "__main__":
    main(sys.argv[1:])
