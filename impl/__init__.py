"""The same manager on torch tensors, with the standard names."""

from importlib.util import find_spec

if find_spec("torch") is None:
    raise ModuleNotFoundError("pagedkv.impl needs torch: pip install 'pagedkv[impl]'", name="torch")

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
