"""Keys and blocks in two dictionaries: what the store of tensors must be equal to."""

from dataclasses import dataclass, field

from pagedkv.spec import BlockHash, BlockHashWithGroupId, make_block_hash_with_group_id
from pagedkv.spec.blocks import Key


@dataclass
class KeyModel:
    """Which keys each block has, the primary first, and which blocks a key has, the longest holder first."""

    by_block: dict[int, list[Key]] = field(default_factory=dict)
    holders: dict[BlockHashWithGroupId, list[int]] = field(default_factory=dict)

    def add(self, block: int, key: Key, keep_keys: bool) -> bool:
        """Name a block; answers whether it had not the key before."""
        has = self.by_block.get(block, [])
        if key in has:
            return False
        if has and has[0].num_tokens >= key.num_tokens:
            has.append(key)
        else:
            if not keep_keys:
                self.drop(block)
            self.by_block[block] = [key, *self.by_block.get(block, [])]
        self.holders.setdefault(key.name, []).append(block)
        return True

    def drop(self, block: int) -> None:
        """Take every key off a block."""
        for key in self.by_block.pop(block, []):
            self._leave(key, block)

    def withdraw(self, block: int, key: Key) -> None:
        """Take one key off a block, if it is there."""
        if key in self.by_block.get(block, []):
            self.by_block[block].remove(key)
            self._leave(key, block)
            if not self.by_block[block]:
                del self.by_block[block]

    def move(self, src: int, dst: int) -> None:
        """Give the keys of one block to another one."""
        keys = self.by_block.get(src, []).copy()
        self.drop(src)
        if keys:
            self.by_block[dst] = keys
        for key in keys:
            self.holders.setdefault(key.name, []).append(dst)

    def find(self, key: Key) -> int:
        """The block that has held the key longest, or -1."""
        return self.holders.get(key.name, [-1])[0]

    def _leave(self, key: Key, block: int) -> None:
        self.holders[key.name].remove(block)
        if not self.holders[key.name]:
            del self.holders[key.name]


def key_of(digest: BlockHash, group: int, num_tokens: int) -> Key:
    """A key as blocks show it."""
    return Key(make_block_hash_with_group_id(digest, group), num_tokens)
