"""A side on a device is that side, with its state there."""

import pagedkv.impl
from pagedkv.impl import BlockPool

from .build import UNIT, hybrid
from .sides import load


def test_a_side_on_a_device_keeps_its_state_there() -> None:
    side = load("impl@meta")
    pools: list[BlockPool] = [side.BlockPool(4, True, UNIT), hybrid(side).block_pool]
    for pool in pools:
        assert {pool.device.type, pool.ref_counts.device.type, pool.queue.cells.device.type} == {"meta"}
    assert vars(side).keys() >= set(pagedkv.impl.__all__)
    assert side.Scheduler is pagedkv.impl.Scheduler
