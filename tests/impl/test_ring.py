"""The free queue, step by step with a list."""

from collections import Counter
from random import Random

import pytest
import torch
from torch import Tensor

from pagedkv.impl.layout import NOBODY, Ring
from pagedkv.impl.ops.ring import leave, put_back, put_front, queued, take


class Pair:
    """A ring and a list of the same ids, front first; ids that are in neither are held."""

    def __init__(self, num_blocks: int, device: torch.device, rng: Random, seen: Counter[str]) -> None:
        self.ring = Ring.of_blocks(num_blocks, device)
        self.queue, self.held = list(range(1, num_blocks)), list[int]()
        self.device, self.rng, self.seen = device, rng, seen

    def step(self) -> None:
        """Do something, and compare."""
        ways = (self.take, self.leave, self.put_back, self.put_front, self.hold_and_release)
        self.rng.choice(ways)()
        self.compare()

    def take(self) -> None:
        count = self.rng.randint(0, min(5, len(self.queue)))
        front_is_hole = self.ring.free > 0 and self.ring.cells[self.ring.head].item() == 0
        self.seen["a hole is passed"] += count > 0 and front_is_hole
        self.seen["nothing is taken"] += count == 0
        assert take(self.ring, count).tolist() == self.queue[:count]
        self.held += self.queue[:count]
        del self.queue[:count]

    def leave(self) -> None:
        ids = self.rng.sample(self.queue, self.rng.randint(0, min(4, len(self.queue))))
        self.seen["several leave from the middle"] += len(ids) > 1
        leave(self.ring, self._tensor(ids))
        self.queue = [i for i in self.queue if i not in ids]
        self.held += ids

    def put_back(self) -> None:
        ids = self._release()
        put_back(self.ring, self._tensor(ids))
        self.queue += ids

    def put_front(self) -> None:
        ids = self._release()
        put_front(self.ring, self._tensor(ids))
        self.queue = ids + self.queue

    def hold_and_release(self) -> None:
        for _ in range(self.rng.randint(1, 5)):
            self.leave()
            self.put_back()

    def compare(self) -> None:
        ring = self.ring
        assert queued(ring).tolist() == self.queue
        assert ring.free == len(self.queue)
        assert [ring.cells[int(ring.position[block])].item() for block in self.queue] == self.queue
        assert all(ring.position[block] == NOBODY for block in (0, *self.held))
        self.seen["the queue is on both sides of the end"] += ring.head + ring.span > len(ring.cells)
        self.seen["the queue is empty"] += not self.queue

    def _release(self) -> list[int]:
        count = self.rng.randint(0, len(self.held))
        ids, self.held = self.held[:count], self.held[count:]
        is_full = self.ring.span + count > len(self.ring.cells)
        self.seen["holes are closed"] += is_full and self.ring.span > self.ring.free
        return ids

    def _tensor(self, values: list[int]) -> Tensor:
        return torch.tensor(values, dtype=torch.int64, device=self.device)


def test_it_equals_a_list(device: torch.device) -> None:
    seen: Counter[str] = Counter()
    for seed in range(40):
        rng = Random(seed)
        pair = Pair(rng.choice((1, 2, 3, 9, 9, 20)), device, rng, seen)
        for _ in range(60):
            pair.step()
    assert len(seen) == 6
    assert all(times > 20 for times in seen.values()), seen


@pytest.mark.parametrize(("num_blocks", "ids"), [(1, []), (2, [1])])
def test_the_smallest_queues(num_blocks: int, ids: list[int], device: torch.device) -> None:
    ring = Ring.of_blocks(num_blocks, device)
    assert queued(ring).tolist() == ids
    for put in (put_back, put_front) * 3:
        taken = take(ring, len(ids))
        assert (taken.tolist(), ring.free, queued(ring).tolist()) == (ids, 0, [])
        put(ring, taken)
        assert queued(ring).tolist() == ids
        leave(ring, taken)
        assert take(ring, 0).tolist() == queued(ring).tolist() == []
        put(ring, taken)


def test_a_long_row_of_holes_is_passed(device: torch.device) -> None:
    ring = Ring.of_blocks(200, device)
    leave(ring, torch.arange(1, 150, device=device))
    assert take(ring, 1).tolist() == [150]
    assert take(ring, 49).tolist() == list(range(151, 200))
    assert (ring.free, ring.span) == (0, 0)


def test_holes_are_closed_when_the_cells_are_used_up(device: torch.device) -> None:
    ring = Ring.of_blocks(5, device)
    for _ in range(20):
        leave(ring, torch.tensor([3], device=device))
        put_back(ring, torch.tensor([3], device=device))
    assert queued(ring).tolist() == [1, 2, 4, 3]
    leave(ring, torch.tensor([2], device=device))
    put_front(ring, torch.tensor([2], device=device))
    assert queued(ring).tolist() == [2, 1, 4, 3]
