"""The specification: vocabulary, clauses, rules, operations and traces as data."""

from .cache_specs import (
    ChunkedLocalAttentionSpec,
    CrossAttentionSpec,
    FullAttentionSpec,
    KVCacheConfig,
    KVCacheGroupSpec,
    KVCacheSpec,
    MambaSpec,
    MLAAttentionSpec,
    RSWASpec,
    SinkFullAttentionSpec,
    SlidingWindowSpec,
)
from .events import AllBlocksCleared, BlockRemoved, BlockStored, KVCacheEvent
from .hashing import (
    BlockHash,
    BlockHashWithGroupId,
    get_block_hash,
    get_group_id,
    get_request_block_hasher,
    hash_block_tokens,
    init_none_hash,
    make_block_hash_with_group_id,
    sha256,
    sha256_cbor,
    xxh3_128,
)
from .refusals import PreconditionError, UnsupportedError, ValuePreconditionError, require
from .requests import MultiModalFeature, Request, RequestStatus
from .snapshot import Snapshot
from .version import VERSION as SPEC_VERSION
from .vocabulary import KVCacheBlockCopy
from .world import World

__all__ = [
    "SPEC_VERSION",
    "AllBlocksCleared",
    "BlockHash",
    "BlockHashWithGroupId",
    "BlockRemoved",
    "BlockStored",
    "ChunkedLocalAttentionSpec",
    "CrossAttentionSpec",
    "FullAttentionSpec",
    "KVCacheBlockCopy",
    "KVCacheConfig",
    "KVCacheEvent",
    "KVCacheGroupSpec",
    "KVCacheSpec",
    "MLAAttentionSpec",
    "MambaSpec",
    "MultiModalFeature",
    "PreconditionError",
    "RSWASpec",
    "Request",
    "RequestStatus",
    "SinkFullAttentionSpec",
    "SlidingWindowSpec",
    "Snapshot",
    "UnsupportedError",
    "ValuePreconditionError",
    "World",
    "get_block_hash",
    "get_group_id",
    "get_request_block_hasher",
    "hash_block_tokens",
    "init_none_hash",
    "make_block_hash_with_group_id",
    "require",
    "sha256",
    "sha256_cbor",
    "xxh3_128",
]
