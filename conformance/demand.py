"""How many blocks a request can need."""

from pagedkv.spec import World


def most_blocks(world: World, num_tokens: int) -> int:
    """The most blocks that a request of ``num_tokens`` tokens holds at a time, apart from ends of copies.

    Attention has one per started block, and so has a state of mode "all". An aligned state has at most the one it starts from, the running one and one
    that was handed over or is copied to, beside its speculative ones.
    """
    return sum(
        group.speculative + (3 if group.kind == "mamba" else -(-num_tokens // group.block_size))
        for group in world.groups
    )
