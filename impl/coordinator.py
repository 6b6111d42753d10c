"""All groups of a deployment, and the lookups over them."""

from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor

from pagedkv.spec import BlockHash, FullAttentionSpec, KVCacheConfig, KVCacheSpec, MambaSpec, require
from pagedkv.spec.blocks import BlockList, KVCacheBlock
from pagedkv.spec.clauses import hit
from pagedkv.spec.deployment import check_groups

from .kinds import FullAttentionManager, MambaManager
from .ledger import Ledger
from .lookup import Found, Prefix
from .pool import BlockPool
from .single_type import SingleTypeKVCacheManager

Rows = tuple[Sequence[KVCacheBlock], ...]

_MANAGERS: dict[type[KVCacheSpec], type[SingleTypeKVCacheManager]] = {
    FullAttentionSpec: FullAttentionManager,
    MambaSpec: MambaManager,
}


class Kind(NamedTuple):
    """Groups of one spec, which are looked up, and give up for EAGLE, together."""

    manager: SingleTypeKVCacheManager
    """Of the first of them."""
    groups: tuple[int, ...]

    @property
    def is_state(self) -> bool:
        """Whether one block answers for a whole prefix."""
        return isinstance(self.manager, MambaManager)


class KVCacheCoordinator:
    """The managers of all groups, which share a pool and a ledger."""

    def __init__(
        self, kv_cache_config: KVCacheConfig, pool: BlockPool, scheduler_block_size: int, use_eagle: bool
    ) -> None:
        check_groups(kv_cache_config, pool.hash_block_size, scheduler_block_size)
        groups = kv_cache_config.kv_cache_groups
        self.pool = pool
        self.ledger = Ledger(pool.num_gpu_blocks, pool.device)
        self.single_type_managers = tuple(
            _MANAGERS[type(group.kv_cache_spec)](
                group.kv_cache_spec, pool, pool.enable_caching, g, scheduler_block_size, ledger=self.ledger
            )
            for g, group in enumerate(groups)
        )
        self.alignment = self._grain(scheduler_block_size)
        drops = [group.kv_cache_spec for group in groups if group.is_eagle_group]
        if use_eagle and not drops:
            drops = [group.kv_cache_spec for group in groups]
        for manager in self.single_type_managers:
            manager.alignment_tokens = self.alignment
            manager.use_eagle = manager.kv_cache_spec in drops

    def copy(self, pool: BlockPool) -> "KVCacheCoordinator":
        """An independent coordinator in the same state over ``pool``, a copy of this one's."""
        twin = KVCacheCoordinator.__new__(KVCacheCoordinator)
        vars(twin).update(vars(self))
        twin.pool, twin.ledger = pool, self.ledger.copy()
        twin.single_type_managers = tuple(m.copy(pool, twin.ledger) for m in self.single_type_managers)
        return twin

    @property
    def kinds(self) -> list[Kind]:
        """The kinds in the order in which lookups ask them, attention first."""
        members: dict[KVCacheSpec, list[SingleTypeKVCacheManager]] = {}
        for manager in self.single_type_managers:
            members.setdefault(manager.kv_cache_spec, []).append(manager)
        kinds = [Kind(same[0], tuple(m.kv_cache_group_id for m in same)) for same in members.values()]
        return [k for k in kinds if not k.is_state] + [k for k in kinds if k.is_state]

    def find_longest_cache_hit(
        self, block_hashes: Sequence[BlockHash], max_cache_hit_length: int
    ) -> tuple[Rows, int, int]:
        """The common hit: blocks per group, its length, the junction. Changes nothing.

        Attention that holds a prefix holds every shorter one. So the common hit is the longest prefix of
        which all groups of states have the state, within the shortest hit of attention.
        """
        prefix = Prefix(self.pool, block_hashes)
        kinds = self.kinds
        states = [kind for kind in kinds if kind.is_state]
        found = {
            kind.groups: self._ask(prefix, kind, max_cache_hit_length)
            for kind in kinds
            if kind not in states or kind is kinds[0]
        }
        longest = found[kinds[0].groups].length
        length = min(hit.length for hit in found.values())
        if states:
            groups = [g for kind in states for g in kind.groups]
            length, blocks = prefix.last(groups, self.alignment, 0, length)
            parts = blocks.split([len(kind.groups) for kind in states])
            for kind, part in zip(states, parts, strict=True):
                found[kind.groups] = Found(length, part, False)
        rows = self._rows([(kind, found[kind.groups], length) for kind in kinds])
        return rows, length, longest if longest > length else 0

    def find_longest_cache_hit_per_group(
        self, block_hashes: Sequence[BlockHash], max_cache_hit_length: int
    ) -> tuple[Rows, list[int]]:
        """Each kind's hit alone: blocks per group, and the length per kind. Changes nothing."""
        prefix = Prefix(self.pool, block_hashes)
        asked = [(kind, self._ask(prefix, kind, max_cache_hit_length)) for kind in self.kinds]
        rows = self._rows([(kind, found, found.length) for kind, found in asked])
        return rows, [found.length for _, found in asked]

    def truncated(self, rows: Rows, num_tokens: int) -> Rows:
        """``rows`` of a hit cut at ``num_tokens``. A state may be missing there: others can supply it."""
        for row, manager in zip(rows, self.single_type_managers, strict=True):
            width, inside = divmod(num_tokens, manager.block_size)
            reaches = len(row) >= width or not manager.keeps_keys
            require(
                width >= 0 and not inside and reaches,
                hit.TRUNCATION,
                f"num_computed_tokens is {num_tokens}, and group {manager.kv_cache_group_id} has {len(row)} "
                f"blocks of {manager.block_size}",
            )
        managers = self.single_type_managers
        return tuple(row[: num_tokens // m.block_size] for row, m in zip(rows, managers, strict=True))

    def _grain(self, scheduler_block_size: int) -> int:
        """The grain of hits in tokens (clause Hit/aligned)."""
        unit, managers = self.pool.hash_block_size, self.single_type_managers
        if all(m.kv_cache_spec == managers[0].kv_cache_spec for m in managers):
            return managers[0].block_size
        largest_state = max((m.block_size for m in managers if not m.keeps_keys), default=unit)
        return scheduler_block_size if largest_state == unit else unit

    def _ask(self, prefix: Prefix, kind: Kind, max_length: int) -> Found:
        manager = kind.manager
        return manager.hit(
            prefix, kind.groups, max_length, manager.block_size, self.alignment, manager.use_eagle
        )

    def _rows(self, answers: Sequence[tuple[Kind, Found, int]]) -> Rows:
        rows: dict[int, Tensor] = {}
        for kind, found, length in answers:
            rows.update(zip(kind.groups, found.rows(length, kind.manager.block_size), strict=True))
        return tuple(BlockList(self.pool, rows[g].tolist()) for g in sorted(rows))
