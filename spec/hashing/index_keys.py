"""Digests, and the keys of the index that are made of them."""

from typing import NewType

BlockHash = NewType("BlockHash", bytes)
"""The digest that names a prefix."""

BlockHashWithGroupId = NewType("BlockHashWithGroupId", bytes)
"""A key of the index: a digest, then the group id as 4 big-endian bytes."""

_GROUP_ID_BYTES = 4


def make_block_hash_with_group_id(block_hash: BlockHash, group_id: int) -> BlockHashWithGroupId:
    """Return the key of `block_hash` in group `group_id`. ValueError when the id does not fit in 4 bytes."""
    if not 0 <= group_id < 256**_GROUP_ID_BYTES:
        raise ValueError(f"group_id is {group_id}: it must be from 0 to 2**32 - 1")
    return BlockHashWithGroupId(block_hash + group_id.to_bytes(_GROUP_ID_BYTES, "big"))


def get_block_hash(key: BlockHashWithGroupId) -> BlockHash:
    """Return the digest in a key."""
    return BlockHash(key[:-_GROUP_ID_BYTES])


def get_group_id(key: BlockHashWithGroupId) -> int:
    """Return the group id in a key."""
    return int.from_bytes(key[-_GROUP_ID_BYTES:], "big")
