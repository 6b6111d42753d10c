"""Row numbers of requests are used again, but not while the marks of a pass name them."""

import torch

from pagedkv.impl import KVCacheManager
from tests.scenarios.build import hybrid, publish, words
from tests.scenarios.sides import load


def test_numbers_are_used_again(device: torch.device) -> None:
    manager: KVCacheManager = hybrid(load("impl"), device=device)
    for i in range(20):
        gone = publish(manager, f"r{i}", words(20, first=1000 * i))
        if i % 2:
            # Then no mark names it when it goes.
            manager.new_step_starts()
        manager.free(gone)
        manager.new_step_starts()
    assert manager.coordinator.ledger.num_rows == 1
    assert all(len(group.tables.length) < 8 for group in manager.coordinator.single_type_managers)


def test_a_number_that_the_pass_names_waits_for_its_end(device: torch.device) -> None:
    manager: KVCacheManager = hybrid(load("impl"), device=device)
    first = publish(manager, "first", words(20))
    manager.free(first)
    publish(manager, "second", words(20, first=1000))
    marks = manager.snapshot().marks
    assert marks is not None
    assert {request for request, _, _ in marks.published[0]} == {"first", "second"}
    manager.new_step_starts()
    publish(manager, "third", words(20, first=2000))
    assert manager.coordinator.ledger.num_rows == 2


def test_a_request_that_comes_back_in_its_pass_has_its_number_again(device: torch.device) -> None:
    manager: KVCacheManager = hybrid(load("impl"), device=device)
    manager.free(publish(manager, "r", words(20)))
    back = publish(manager, "r", words(20))
    assert manager.coordinator.ledger.num_rows == 1
    # It is withdrawn with all that the pass has registered under its name.
    manager.free(back, withdraw=True)
    assert manager.snapshot().index == {}
