"""The same manager on torch tensors, with the standard names."""

from pagedkv.spec.blocks import KVCacheBlock, KVCacheBlocks

from .kinds import ChunkedLocalAttentionManager, FullAttentionManager, MambaManager, SlidingWindowManager
from .manager import KVCacheManager
from .pool import BlockPool
from .scheduler import Scheduler

__all__ = [
    "BlockPool",
    "ChunkedLocalAttentionManager",
    "FullAttentionManager",
    "KVCacheBlock",
    "KVCacheBlocks",
    "KVCacheManager",
    "MambaManager",
    "Scheduler",
    "SlidingWindowManager",
]
