"""Runs in which faults of one kind or another cannot show."""

from pagedkv.conformance.faults.fault import Unrelated
from pagedkv.conformance.torch_subject import is_crowded
from pagedkv.conformance.worlds import MIXES
from pagedkv.spec import World
from pagedkv.spec.world import PLAIN


def _has_caching(world: World) -> bool:
    return world.enable_caching


def _has_no_caching(world: World) -> bool:
    return not world.enable_caching


def _has_no_draft_model(world: World) -> bool:
    return not world.eagle_groups


def _has_coarse_hits(world: World) -> bool:
    return not world.is_fine_grained


def _has_spread_keys(world: World) -> bool:
    return not is_crowded(world)


def _has_no_speculative_blocks(world: World) -> bool:
    return not any(group.speculative for group in world.groups)


def _has_no_events(world: World) -> bool:
    return not world.events


WITH_CACHING = Unrelated(is_taken=_has_caching)
WITHOUT_CACHING = Unrelated(is_taken=_has_no_caching)
WITHOUT_DRAFT_MODELS = Unrelated(is_taken=_has_no_draft_model)
WITHOUT_SPECULATIVE_BLOCKS = Unrelated(is_taken=_has_no_speculative_blocks)
COARSE = Unrelated(is_taken=_has_coarse_hits)
"""No hit ends inside a block, so there are no partial entries, copies and hand-offs."""
SPREAD = Unrelated(is_taken=_has_spread_keys)
"""The keys of the torch manager's index differ in bucket and tag."""
ATTENTION_ALONE = Unrelated(mixes=("full",))
WITHOUT_WINDOWS = Unrelated()
"""No windows and no chunks."""
WITHOUT_CHUNKS = Unrelated(mixes=("full+mamba", "window", "full+window", "full+window+mamba"))
WITHOUT_EVENTS = Unrelated(is_taken=_has_no_events)
"""Nothing is announced."""
STATES_ALONE = Unrelated(mixes=("mamba",))


def without(*capabilities: str) -> Unrelated:
    """Runs without the moves that need these."""
    return Unrelated(avoid=capabilities)


def without_option(name: str) -> Unrelated:
    """Runs in worlds that have not this option, of any kind of groups."""
    return Unrelated(MIXES, lambda world: getattr(world.options, name) == getattr(PLAIN, name))
