"""How a request gets places for its tokens."""

from collections.abc import Sequence

from pagedkv.spec.blocks import KVCacheBlock

from .call import Call
from .coordinator import KVCacheCoordinator


def allocate(
    coordinator: KVCacheCoordinator,
    call: Call,
    rows: Sequence[Sequence[KVCacheBlock]],
    spare: int,
    full_sequence: int | None,
) -> list[list[int]] | None:
    """Do the call with the hit in ``rows``; answers the new blocks per group, or None, changing nothing.

    ``spare`` blocks stay free. Where the ``full_sequence`` of so many tokens must fit, that is asked first.
    """
    managers = coordinator.single_type_managers
    asked = list(zip(managers, rows, strict=True))
    free = coordinator.pool.get_num_free_blocks() - spare
    if full_sequence is not None:
        whole = call._replace(end=full_sequence, slots=full_sequence)
        if sum(manager.blocks_to_take(whole, row, is_capped=True) for manager, row in asked) > free:
            return None
    if any(manager.waits_for_pass(call, row) for manager, row in asked):
        return None
    if sum(manager.blocks_to_take(call, row) for manager, row in asked) > free:
        return None
    if call.is_first:
        for manager, row in asked:
            manager.add_hit(call, row)
        for manager in managers:
            manager.add_external(call)
    return [manager.allocate_new_blocks(call) for manager in managers]
