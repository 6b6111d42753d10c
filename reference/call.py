"""What a group is asked for, and what it remembers of it."""

from typing import NamedTuple

from pagedkv.spec.blocks import Key


class Published(NamedTuple):
    """A key that was first registered in this pass."""

    request_id: str
    block_id: int
    key: Key


class Call(NamedTuple):
    """Places for the tokens ``start`` to ``end`` of a request, in tokens."""

    request_id: str
    is_first: bool
    """Whether the request has no row yet."""
    hit: int
    """How many tokens of a hit it takes now."""
    local: int
    """Tokens computed or hit here: from there to ``start`` others have computed them."""
    start: int
    end: int
    slots: int
    """Up to where attention has places: draft models look ahead."""
    encoder: int
    """How many tokens the request's encoder has made."""
    lists_external: bool
    """Whether the blocks for what others computed are listed for zeroing."""
