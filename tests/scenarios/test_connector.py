"""Which lookup a scheduler asks for, by what its connector can take."""

from types import ModuleType, SimpleNamespace
from typing import Any

from .build import request, words


def ask(side: ModuleType, divergent: bool, **lookups: Any) -> Any:
    """The scheduler's local hit, over a manager that has the given lookups and no other."""
    stand_in = SimpleNamespace(
        connector=SimpleNamespace(supports_divergent_local_hybrid_hits=divergent),
        kv_cache_manager=SimpleNamespace(**lookups),
    )
    return side.Scheduler._get_local_prefix_cache_hit(stand_in, request("asker", words(9)))


def test_a_connector_that_needs_equal_hits_is_given_the_common_one(side: ModuleType) -> None:
    blocks = object()
    asked: list[str] = []

    def common(asker: Any) -> tuple[object, int, int]:
        asked.append(asker.request_id)
        return blocks, 8, 12

    assert ask(side, False, get_computed_blocks=common) == (blocks, 8, 12, False)
    assert asked == ["asker"]


def test_a_connector_that_takes_divergent_hits_is_given_the_lookup_per_group(side: ModuleType) -> None:
    blocks = object()
    asked: list[str] = []

    def per_group(asker: Any) -> tuple[object, int, int, bool]:
        asked.append(asker.request_id)
        return blocks, 20, 0, True

    assert ask(side, True, get_computed_blocks_for_connector=per_group) == (blocks, 20, 0, True)
    assert asked == ["asker"]
