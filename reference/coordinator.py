"""All groups of a deployment, and the lookups over them."""

from collections.abc import Sequence

from pagedkv.spec import (
    BlockHash,
    ChunkedLocalAttentionSpec,
    CrossAttentionSpec,
    FullAttentionSpec,
    KVCacheConfig,
    KVCacheSpec,
    MambaSpec,
    MLAAttentionSpec,
    Request,
    RSWASpec,
    SinkFullAttentionSpec,
    SlidingWindowSpec,
    require,
)
from pagedkv.spec.blocks import KVCacheBlock
from pagedkv.spec.clauses import hit
from pagedkv.spec.deployment import check_cut, check_groups, check_retention
from pagedkv.spec.rules.caching import resend_length
from pagedkv.spec.rules.hits import Kind, longest_hit
from pagedkv.spec.rules.reach import shared_length
from pagedkv.spec.rules.sizes import blocks_for

from .kinds import (
    ChunkedLocalAttentionManager,
    CrossAttentionManager,
    FullAttentionManager,
    MambaManager,
    RSWAManager,
    SinkFullAttentionManager,
    SlidingWindowManager,
)
from .lookup import cached_boundaries, hit_row
from .pool import BlockPool
from .single_type import SingleTypeKVCacheManager

Rows = tuple[list[KVCacheBlock], ...]

MANAGERS: dict[type[KVCacheSpec], type[SingleTypeKVCacheManager]] = {
    FullAttentionSpec: FullAttentionManager,
    MLAAttentionSpec: FullAttentionManager,
    RSWASpec: RSWAManager,
    SinkFullAttentionSpec: SinkFullAttentionManager,
    SlidingWindowSpec: SlidingWindowManager,
    ChunkedLocalAttentionSpec: ChunkedLocalAttentionManager,
    MambaSpec: MambaManager,
    CrossAttentionSpec: CrossAttentionManager,
}


def hit_alignment(specs: Sequence[KVCacheSpec], unit: int, scheduler_block_size: int, num_ranks: int) -> int:
    """The grain of hits in tokens (clauses Hit/aligned, Config/context_parallel)."""
    if len(set(specs)) == 1:
        return specs[0].tokens_per_block(num_ranks)
    has_inner_states = any(
        isinstance(spec, MambaSpec) and spec.mamba_cache_mode == "align" and spec.block_size > unit
        for spec in specs
    )
    all_can = all(
        spec.block_size == unit or MANAGERS[type(spec)].supports_fine_grained_hash_lookup for spec in specs
    )
    return unit if has_inner_states and all_can and num_ranks == 1 else scheduler_block_size


class KVCacheCoordinator:
    """The managers of all groups and the kinds that lookups ask, full attention first."""

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
        specs = [group.kv_cache_spec for group in groups]
        self.pool = pool
        num_ranks = dcp_world_size * pcp_world_size
        self.alignment = hit_alignment(specs, pool.hash_block_size, scheduler_block_size, num_ranks)
        self.single_type_managers = tuple(
            MANAGERS[type(spec)](
                spec,
                pool,
                pool.enable_caching,
                g,
                scheduler_block_size,
                *ranks,
                needs_kv_cache_zeroing=kv_cache_config.needs_kv_cache_zeroing,
                max_admission_blocks_per_request=None
                if max_in_flight_tokens is None
                else MANAGERS[type(spec)].admission_cap_of(spec, max_in_flight_tokens, max_model_len),
            )
            for g, spec in enumerate(specs)
        )
        flagged = {g for g, group in enumerate(groups) if group.is_eagle_group}
        if use_eagle and not flagged:
            flagged = set(range(len(groups)))
        # Groups with equal specs are one kind: they are looked up, and give up for EAGLE, together.
        ordered = sorted(dict.fromkeys(specs), key=lambda spec: not isinstance(spec, FullAttentionSpec))
        self.kinds = [tuple(g for g, other in enumerate(specs) if other == spec) for spec in ordered]
        for manager in self.single_type_managers:
            kind = next(kind for kind in self.kinds if manager.kv_cache_group_id in kind)
            manager.use_eagle = not flagged.isdisjoint(kind)
            manager.alignment_tokens = self.alignment
            manager.retention_interval = retention_interval
        given_up = [
            min(self.alignment, manager.block_size)
            for manager in self.single_type_managers
            if manager.use_eagle and manager.reads != "state"
        ]
        self.resend_margin = max(given_up, default=0) if resend_boundaries else None
        for manager in self.single_type_managers if resend_boundaries else ():
            manager.resend_margin = 0 if manager.reads == "prefix" else self.resend_margin

    def copy(self, pool: BlockPool) -> "KVCacheCoordinator":
        """An independent coordinator in the same state over ``pool``, a copy of this one's."""
        twin = KVCacheCoordinator.__new__(KVCacheCoordinator)
        vars(twin).update(vars(self))
        twin.pool = pool
        twin.single_type_managers = tuple(manager.copy(pool) for manager in self.single_type_managers)
        return twin

    def find_longest_cache_hit(
        self, block_hashes: Sequence[BlockHash], max_cache_hit_length: int
    ) -> tuple[Rows, int, int]:
        """The common hit: blocks per group, its length, the junction. Changes nothing."""
        found = longest_hit(
            self._kinds(block_hashes), max_cache_hit_length, self.pool.hash_block_size, self.alignment
        )
        lengths = [found.length] * len(self.kinds)
        return self._rows(block_hashes, found.named_by, lengths), found.length, found.junction

    def find_longest_cache_hit_per_group(
        self, block_hashes: Sequence[BlockHash], max_cache_hit_length: int
    ) -> tuple[Rows, list[int]]:
        """Each kind's hit alone: blocks per group, and the length per kind. Changes nothing."""
        hits = [
            longest_hit([kind], max_cache_hit_length, self.pool.hash_block_size, self.alignment)
            for kind in self._kinds(block_hashes)
        ]
        lengths = [hit.length for hit in hits]
        return self._rows(block_hashes, [names for hit in hits for names in hit.named_by], lengths), lengths

    def truncated(
        self, rows: Sequence[Sequence[KVCacheBlock]], num_tokens: int
    ) -> tuple[Sequence[KVCacheBlock], ...]:
        """``rows`` of a hit cut at ``num_tokens``. A state may be missing there: others can supply it."""
        check_cut(len(rows), len(self.single_type_managers), num_tokens)
        cut: list[Sequence[KVCacheBlock]] = []
        for row, manager in zip(rows, self.single_type_managers, strict=True):
            size = manager.block_size
            width = num_tokens // size
            require(
                num_tokens % size == 0 and (width <= len(row) or isinstance(manager, MambaManager)),
                hit.TRUNCATION,
                f"num_computed_tokens is {num_tokens}, and group {manager.kv_cache_group_id} has {len(row)} "
                f"blocks of {size}",
            )
            cut.append(row[:width])
        return tuple(cut)

    def shared_length(self, request: Request) -> int:
        """How much of the request others can share (clause Cache/keys_before_the_gap)."""
        specs = (manager.kv_cache_spec for manager in self.single_type_managers)
        windows = [spec.rswa_window for spec in specs if isinstance(spec, RSWASpec)]
        return min([request.num_tokens, *(shared_length(request.num_prompt_tokens, w) for w in windows)])

    def resend_length(self, num_prompt_tokens: int) -> int:
        """The longest prefix that the same prompt could hit, 0 where nobody keeps it for that."""
        if self.resend_margin is None:
            return 0
        return resend_length(num_prompt_tokens, self.alignment, self.resend_margin)

    @property
    def has_attention_and_states(self) -> bool:
        """Whether there are groups of full attention and of states."""
        return {"prefix", "state"} <= {manager.reads for manager in self.single_type_managers}

    def _kinds(self, block_hashes: Sequence[BlockHash]) -> list[Kind]:
        managers = [self.single_type_managers[kind[0]] for kind in self.kinds]
        return [
            Kind(
                manager.reads,
                manager.reach(manager.kv_cache_spec),
                manager.block_size,
                manager.use_eagle,
                cached_boundaries(self.pool, block_hashes, kind),
            )
            for manager, kind in zip(managers, self.kinds, strict=True)
        ]

    def _rows(
        self, block_hashes: Sequence[BlockHash], named_by: Sequence[Sequence[int]], lengths: Sequence[int]
    ) -> Rows:
        rows: dict[int, list[KVCacheBlock]] = {}
        for kind, names, length in zip(self.kinds, named_by, lengths, strict=True):
            for g in kind:
                width = blocks_for(length, self.single_type_managers[g].block_size)
                rows[g] = hit_row(self.pool, block_hashes, names, width, g)
        return tuple(rows[g] for g in sorted(rows))
