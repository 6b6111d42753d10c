"""The model: the smallest program that does what the clauses say, with the standard names."""

from pagedkv.spec.blocks import KVCacheBlock, KVCacheBlocks

from .kinds import (
    ChunkedLocalAttentionManager,
    CrossAttentionManager,
    FullAttentionManager,
    MambaManager,
    RSWAManager,
    SinkFullAttentionManager,
    SlidingWindowManager,
)
from .manager import KVCacheManager
from .pool import BlockPool
from .scheduler import Scheduler

__all__ = [
    "BlockPool",
    "ChunkedLocalAttentionManager",
    "CrossAttentionManager",
    "FullAttentionManager",
    "KVCacheBlock",
    "KVCacheBlocks",
    "KVCacheManager",
    "MambaManager",
    "RSWAManager",
    "Scheduler",
    "SinkFullAttentionManager",
    "SlidingWindowManager",
]
