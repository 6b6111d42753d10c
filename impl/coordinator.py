"""All groups of a deployment, and the lookups over them."""

from collections.abc import Sequence

from torch import Tensor

from pagedkv.spec import (
    BlockHash,
    ChunkedLocalAttentionSpec,
    CrossAttentionSpec,
    FullAttentionSpec,
    KVCacheConfig,
    KVCacheSpec,
    MambaSpec,
    MLAAttentionSpec,
    RSWASpec,
    SinkFullAttentionSpec,
    SlidingWindowSpec,
    require,
)
from pagedkv.spec.blocks import BlockList, KVCacheBlock
from pagedkv.spec.clauses import hit
from pagedkv.spec.deployment import check_cut, check_groups, check_retention

from .kinds import (
    ChunkedLocalAttentionManager,
    CrossAttentionManager,
    FullAttentionManager,
    MambaManager,
    RSWAManager,
    SinkFullAttentionManager,
    SlidingWindowManager,
)
from .ledger import Ledger
from .lookup import Found, Kind, Prefix, kind_hit, longest_answer, sparse_hit
from .pool import BlockPool
from .single_type import SingleTypeKVCacheManager

Rows = tuple[Sequence[KVCacheBlock], ...]

_MANAGERS: dict[type[KVCacheSpec], type[SingleTypeKVCacheManager]] = {
    FullAttentionSpec: FullAttentionManager,
    MLAAttentionSpec: FullAttentionManager,
    RSWASpec: RSWAManager,
    SinkFullAttentionSpec: SinkFullAttentionManager,
    SlidingWindowSpec: SlidingWindowManager,
    ChunkedLocalAttentionSpec: ChunkedLocalAttentionManager,
    MambaSpec: MambaManager,
    CrossAttentionSpec: CrossAttentionManager,
}


class KVCacheCoordinator:
    """The managers of all groups, which share a pool and a ledger."""

    def __init__(
        self,
        kv_cache_config: KVCacheConfig,
        pool: BlockPool,
        scheduler_block_size: int,
        use_eagle: bool,
        max_model_len: int,
        max_in_flight_tokens: int | None,
        retention_interval: int | None,
        resend_boundaries: bool,
        dcp_world_size: int,
        pcp_world_size: int,
    ) -> None:
        ranks = (dcp_world_size, pcp_world_size)
        check_groups(kv_cache_config, pool.hash_block_size, scheduler_block_size, use_eagle, *ranks)
        check_retention(retention_interval, scheduler_block_size)
        groups = kv_cache_config.kv_cache_groups
        self.pool = pool
        self.ledger = Ledger(pool.num_gpu_blocks, pool.device)
        self.single_type_managers = tuple(
            _MANAGERS[type(group.kv_cache_spec)](
                group.kv_cache_spec,
                pool,
                pool.enable_caching,
                g,
                scheduler_block_size,
                *ranks,
                needs_kv_cache_zeroing=kv_cache_config.needs_kv_cache_zeroing,
                ledger=self.ledger,
            )
            for g, group in enumerate(groups)
        )
        self.alignment = self._grain(scheduler_block_size, dcp_world_size * pcp_world_size)
        drops = [group.kv_cache_spec for group in groups if group.is_eagle_group]
        if use_eagle and not drops:
            drops = [group.kv_cache_spec for group in groups]
        for manager in self.single_type_managers:
            manager.alignment_tokens = self.alignment
            manager.use_eagle = manager.kv_cache_spec in drops
            manager.retention_interval = retention_interval
            if max_in_flight_tokens is not None:
                manager.admission_cap = manager.admission_cap_of(
                    manager.kv_cache_spec, max_in_flight_tokens, max_model_len
                )
        windows = [g.kv_cache_spec.rswa_window for g in groups if isinstance(g.kv_cache_spec, RSWASpec)]
        self.shared_ahead = 1 + min(windows) if windows else None
        """How far behind its prompt others can share a request's KV (clause Cache/keys_before_the_gap)."""
        self.resend_margin: int | None = None
        if resend_boundaries:
            # Where all is read, what a draft model gives up is kept; where ends are read, they lie before it.
            sizes = [m.block_size for m in self.single_type_managers if m.use_eagle and m.keeps_keys]
            self.resend_margin = min(self.alignment, max(sizes, default=0))
            for manager in self.single_type_managers:
                manager.resend_margin = self.resend_margin if manager.reads_end else 0

    def copy(self, pool: BlockPool) -> "KVCacheCoordinator":
        """An independent coordinator in the same state over ``pool``, a copy of this one's."""
        twin = KVCacheCoordinator.__new__(KVCacheCoordinator)
        vars(twin).update(vars(self))
        twin.pool, twin.ledger = pool, self.ledger.copy()
        twin.single_type_managers = tuple(m.copy(pool, twin.ledger) for m in self.single_type_managers)
        return twin

    @property
    def has_attention_and_states(self) -> bool:
        """Whether there are groups of full attention and of states."""
        managers = self.single_type_managers
        has = (any(isinstance(m, kind) for m in managers) for kind in (FullAttentionManager, MambaManager))
        return all(has)

    def find_longest_cache_hit(
        self, block_hashes: Sequence[BlockHash], max_cache_hit_length: int
    ) -> tuple[Rows, int, int]:
        """The common hit: blocks per group, its length, the junction. Changes nothing.

        Full attention that holds a prefix holds every shorter one. So the common hit is the longest prefix
        that all other kinds answer, within the shortest hit of full attention.
        """
        prefix, kinds = Prefix(self.pool, block_hashes, max_cache_hit_length), self.kinds
        sparse = [kind for kind in kinds if kind.reads_end]
        whole = {kind: kind_hit(prefix, kind, self.alignment) for kind in kinds if not kind.reads_end}
        length = min((found.length for found in whole.values()), default=max_cache_hit_length)
        if sparse:
            length = longest_answer(prefix, sparse, self.alignment, length)
        first = whole[kinds[0]] if whole else kind_hit(prefix, kinds[0], self.alignment)
        rows = self._rows(
            [(kind, whole.get(kind) or sparse_hit(prefix, kind, length), length) for kind in kinds]
        )
        return rows, length, first.length if first.length > length else 0

    def find_longest_cache_hit_per_group(
        self, block_hashes: Sequence[BlockHash], max_cache_hit_length: int
    ) -> tuple[Rows, list[int]]:
        """Each kind's hit alone: blocks per group, and the length per kind. Changes nothing."""
        prefix = Prefix(self.pool, block_hashes, max_cache_hit_length)
        asked = [(kind, kind_hit(prefix, kind, self.alignment)) for kind in self.kinds]
        rows = self._rows([(kind, found, found.length) for kind, found in asked])
        return rows, [found.length for _, found in asked]

    def truncated(self, rows: Rows, num_tokens: int) -> Rows:
        """``rows`` of a hit cut at ``num_tokens``. A state may be missing there: others can supply it."""
        check_cut(len(rows), len(self.single_type_managers), num_tokens)
        for row, manager in zip(rows, self.single_type_managers, strict=True):
            width, inside = divmod(num_tokens, manager.block_size)
            reaches = len(row) >= width or not manager.keeps_keys
            require(
                not inside and reaches,
                hit.TRUNCATION,
                f"num_computed_tokens is {num_tokens}, and group {manager.kv_cache_group_id} has {len(row)} "
                f"blocks of {manager.block_size}",
            )
        managers = self.single_type_managers
        return tuple(row[: num_tokens // m.block_size] for row, m in zip(rows, managers, strict=True))

    def resend_length(self, num_prompt_tokens: int) -> int:
        """The longest prefix that the same prompt could hit, 0 where nobody keeps it for that."""
        if self.resend_margin is None:
            return 0
        return max(0, (num_prompt_tokens - self.resend_margin - 1) // self.alignment) * self.alignment

    def _grain(self, scheduler_block_size: int, num_ranks: int) -> int:
        """The grain of hits in tokens (clause Hit/aligned)."""
        unit, managers = self.pool.hash_block_size, self.single_type_managers
        if all(m.kv_cache_spec == managers[0].kv_cache_spec for m in managers):
            return managers[0].block_size
        coarse = [m for m in managers if m.block_size > unit]
        can_all = num_ranks == 1 and all(m.supports_fine_grained_hash_lookup for m in coarse)
        return unit if can_all and any(m.is_aligned for m in coarse) else scheduler_block_size

    @property
    def kinds(self) -> list[Kind]:
        """The kinds in the order in which lookups ask them, full attention first."""
        members: dict[KVCacheSpec, list[SingleTypeKVCacheManager]] = {}
        for manager in self.single_type_managers:
            members.setdefault(manager.kv_cache_spec, []).append(manager)
        kinds = [
            same[0].kind(spec, same[0].block_size, [m.kv_cache_group_id for m in same], same[0].use_eagle)
            for spec, same in members.items()
        ]
        return [k for k in kinds if not k.reads_end] + [k for k in kinds if k.reads_end]

    def _rows(self, answers: Sequence[tuple[Kind, Found, int]]) -> Rows:
        rows: dict[int, Tensor] = {}
        for kind, found, length in answers:
            rows.update(zip(kind.groups, found.rows(length, kind.block_size), strict=True))
        return tuple(BlockList(self.pool, rows[g].tolist()) for g in sorted(rows))
