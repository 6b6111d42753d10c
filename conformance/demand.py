"""How many blocks a request can need."""

from collections.abc import Sequence

from pagedkv.spec.world import Group


def most_blocks(groups: Sequence[Group], num_tokens: int, encoder_tokens: int = 0) -> int:
    """The most blocks that a request of ``num_tokens`` tokens holds at a time, apart from ends of copies.

    Attention has one per started block, and so has a state of mode "all"; cross attention as many for what
    the encoder made. An aligned state has at most the one it starts from, the running one and one that was
    handed over or is copied to. Speculative ones come on top.
    """
    return sum(group.speculative + _most_of(group, num_tokens, encoder_tokens) for group in groups)


def _most_of(group: Group, num_tokens: int, encoder_tokens: int) -> int:
    if group.kind == "mamba":
        return 3
    return -(-(encoder_tokens if group.kind == "cross" else num_tokens) // group.block_size)
