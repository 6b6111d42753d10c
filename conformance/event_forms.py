"""The events of a manager in neutral form."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pagedkv.spec import AllBlocksCleared, BlockRemoved, BlockStored, World, require
from pagedkv.spec.clauses import events as clauses
from pagedkv.spec.event_names import Cleared, EventName, Removed, Stored
from pagedkv.spec.hashing import CacheSalt, EmbeddingKey, LoraName
from pagedkv.spec.snapshot import KeyName


def neutral_events(
    world: World, events: Iterable[Any], key_name: Callable[[bytes], KeyName]
) -> Iterator[EventName]:
    """The events of this project's vocabulary, or of a copy of it, by names of keys and one for each key.

    ``key_name`` names a hash that is followed by its group in 4 bytes.
    """
    for event in events:
        match type(event).__name__:
            case AllBlocksCleared.__name__:
                yield Cleared()
            case BlockRemoved.__name__:
                for digest in event.block_hashes:
                    yield Removed(_key(world, event.group_idx, digest, key_name))
            case BlockStored.__name__:
                yield from _stored(world, event, key_name)
            case other:
                require(False, clauses.TELLS_THE_BLOCK, f"an event is a {other}")


def _key(world: World, group: Any, digest: bytes, key_name: Callable[[bytes], KeyName]) -> KeyName:
    is_group = type(group) is int and 0 <= group < len(world.groups)
    require(is_group, clauses.TELLS_THE_BLOCK, f"an event is of group {group!r}, of {len(world.groups)}")
    return key_name(bytes(digest) + group.to_bytes(4, "big"))


def _stored(world: World, event: Any, key_name: Callable[[bytes], KeyName]) -> Iterator[EventName]:
    parent, size = event.parent_block_hash, event.block_size
    keys = [_key(world, event.group_idx, digest, key_name) for digest in event.block_hashes]
    before = None if parent is None else _key(world, event.group_idx, parent, key_name)
    for i, key in enumerate(keys):
        units = slice(i * size // world.unit, (i + 1) * size // world.unit)
        yield Stored(
            key,
            before,
            event.start + i * size,
            tuple(event.token_ids[i * size : (i + 1) * size]),
            size,
            event.lora_name,
            tuple(tuple(map(_told, extras or ())) for extras in event.extra_keys[units]),
        )
        before = key


def _told(extra: Any) -> str:
    match type(extra).__name__:
        case LoraName.__name__:
            return f"lora:{extra.name}"
        case CacheSalt.__name__:
            return f"salt:{extra.salt}"
        case EmbeddingKey.__name__:
            return f"embedding:{extra.embedding.hex()}@{extra.offset}"
    return f"image:{extra.identifier}@{extra.offset}"
