"""Small values that operations exchange."""

from typing import NamedTuple


class KVCacheBlockCopy(NamedTuple):
    """A block copy for the worker to run before its next forward."""

    src_block_id: int
    dst_block_id: int
