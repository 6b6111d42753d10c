"""A closed world to run a manager in: the deployment and the prompts that may arrive.

A request follows one prompt's token sequence to its end: the first ``length`` tokens are its
prompt, the rest is the output that the model will give. So equal prefixes give equal output, and a
prefix is named by a prompt and a number of tokens, whoever holds it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import lcm
from typing import Literal, get_args

from .cache_specs import (
    ChunkedLocalAttentionSpec,
    CrossAttentionSpec,
    FullAttentionSpec,
    KVCacheConfig,
    KVCacheGroupSpec,
    KVCacheSpec,
    MambaCacheMode,
    MambaSpec,
    MLAAttentionSpec,
    RSWASpec,
    SinkFullAttentionSpec,
    SlidingWindowSpec,
)
from .prefixes import Prefixes
from .requests import MultiModalFeature

GroupKind = Literal[
    "full", "window", "chunk", "mamba", "latent", "mamba-all", "mamba-none", "cross", "reference", "sink"
]
KINDS: dict[str, GroupKind] = {kind: kind for kind in get_args(GroupKind)}
"""The kinds by their names."""
REACHING = ("window", "chunk", "reference", "sink")
"""Kinds whose groups have a ``reach``."""
WHOLE = ("full", "latent", "reference", "sink")
"""Kinds of full attention: lookups ask them first, and hits may end inside their blocks."""
STATES: dict[str, MambaCacheMode] = {"mamba": "align", "mamba-all": "all", "mamba-none": "none"}
"""Kinds of recurrent states, with the mode in which they are kept."""


@dataclass(frozen=True)
class Group:
    """One group of layers."""

    kind: GroupKind
    block_size: int
    eagle: bool = False
    speculative: int = 0
    """Speculative blocks of a mamba group."""
    variant: int = 1
    """Groups that differ in it have different specs."""
    reach: int = 0
    """Tokens of a window, sliding or beside the reference that is the prompt, of a chunk, or of sinks."""

    def spec(self) -> KVCacheSpec:
        """The spec that a manager is given."""
        match self.kind:
            case "full":
                return FullAttentionSpec(self.block_size, 1, self.variant, "float32")
            case "window":
                return SlidingWindowSpec(self.block_size, 1, self.variant, "float32", self.reach)
            case "latent":
                return MLAAttentionSpec(self.block_size, 1, self.variant, "float32")
            case "cross":
                return CrossAttentionSpec(self.block_size, 1, self.variant, "float32")
            case "reference":
                return RSWASpec(self.block_size, 1, self.variant, "float32", self.reach)
            case "sink":
                return SinkFullAttentionSpec(self.block_size, 1, self.variant, "float32", self.reach)
            case "chunk":
                return ChunkedLocalAttentionSpec(self.block_size, 1, self.variant, "float32", self.reach)
        mode = STATES[self.kind]
        return MambaSpec(self.block_size, ((self.variant, 1),), ("float32",), mode, self.speculative)


@dataclass(frozen=True)
class Image:
    """A multimodal item of a prompt: its positions are ``[offset, offset + length)``."""

    identifier: str
    offset: int
    length: int


@dataclass(frozen=True)
class Embed:
    """An embedding that stands at one position of a prompt in place of the token's."""

    position: int
    content: str
    """Stands for its bytes: equal texts are equal embeddings."""


@dataclass(frozen=True)
class Prompt:
    """A token sequence of which the first ``length`` tokens are the prompt."""

    tokens: Sequence[int]
    """A slice of it is a tuple."""
    length: int
    salt: str | None = None
    lora: str | None = None
    images: tuple[Image, ...] = ()
    embeds: tuple[Embed, ...] = ()
    encoder_tokens: int = 0
    """Positions of the encoder's output that groups of cross attention hold for the request."""

    @property
    def num_to_compute(self) -> int:
        """Tokens that steps compute of it: the last one of the output is read by nobody."""
        return max(self.length, len(self.tokens) - 1)

    def features(self, start: int = 0) -> list[MultiModalFeature]:
        """The images that begin at ``start`` or later, as a request carries them."""
        return [MultiModalFeature(i.identifier, i.offset, i.length) for i in self.images if i.offset >= start]

    def embeddings(self, start: int = 0) -> dict[int, bytes]:
        """The embeddings from ``start`` on, as a request carries them."""
        return {e.position: e.content.encode() for e in self.embeds if e.position >= start}


@dataclass(frozen=True)
class Options:
    """What a deployment can have and a plain one does not."""

    num_lookahead_tokens: int = 0
    """Places beyond its tokens that each call asks for."""
    max_drafts: int = 0
    """The most draft tokens that a step verifies for a request."""
    max_in_flight: int = 0
    """How many steps may be dispatched and not processed yet when a pass begins."""
    max_in_flight_tokens: int | None = None
    """What the manager is told of that; None: nothing."""
    full_sequence_must_fit: bool = False
    """Whether a request is admitted only where all its tokens would fit."""
    watermark_percent: int = 0
    """The share of the pool that admissions leave free."""
    needs_zeroing: bool = False
    """Whether the worker zeroes blocks of attention before it uses them."""
    retention_interval: int | None = None
    """Tokens between the hits that windows and states keep; None: all are kept."""
    resend_boundaries: bool = False
    """Whether the longest prefix that the same prompt could hit is kept."""
    has_connector: bool = False
    """Whether a connector loads what others have computed."""


PLAIN = Options()


@dataclass(frozen=True)
class World:
    """A deployment, its scheduler's limits, and the prompts."""

    groups: tuple[Group, ...]
    num_blocks: int
    unit: int
    """Tokens per hash."""
    prompts: tuple[Prompt, ...]
    max_requests: int
    max_step_tokens: int
    """The most tokens that one pass gives out."""
    use_eagle: bool = False
    enable_caching: bool = True
    max_submits: int | None = None
    """How many requests may ever arrive; None: without end."""
    max_disturbances: int | None = None
    """How many preemptions, evictions and resets may ever happen; None: without end."""
    chunk_limits: tuple[int, ...] = field(default=())
    """Smaller budgets that a pass may leave a request; always also what is left of the pass."""
    options: Options = PLAIN
    """What it has beyond requests that come, run and go."""
    dcp: int = 1
    """Ranks of decode context parallelism. A group's block size is that over all ranks."""
    pcp: int = 1
    """Ranks of prefill context parallelism."""
    events: bool = False
    """Whether the manager announces what enters and leaves its cache."""

    @property
    def num_ranks(self) -> int:
        """Ranks over which a block of attention is spread."""
        return self.dcp * self.pcp

    @cached_property
    def max_model_len(self) -> int:
        """The longest that a request can become."""
        return max(len(prompt.tokens) for prompt in self.prompts)

    @cached_property
    def scheduler_block_size(self) -> int:
        """The least multiple of every block size."""
        return lcm(*(group.block_size for group in self.groups))

    @cached_property
    def sinks(self) -> range:
        """The blocks of attention sinks: groups take them from the front of the pool when it is made."""
        sinks = [group.reach // group.block_size for group in self.groups if group.kind == "sink"]
        return range(1, 1 + sum(sinks))

    @cached_property
    def state_block_size(self) -> int:
        """The block size of the mamba groups in mode "align", 0 if there are none."""
        return next((group.block_size for group in self.groups if group.kind == "mamba"), 0)

    @cached_property
    def any_state_block_size(self) -> int:
        """The block size of the mamba groups in any mode, 0 if there are none."""
        return next((group.block_size for group in self.groups if group.kind in STATES), 0)

    @cached_property
    def is_fine_grained(self) -> bool:
        """Whether hits may end inside blocks: states with blocks of several units, beside full attention."""
        specs = {group.spec() for group in self.groups}
        can_end_inside = all(g.kind in (*WHOLE, *STATES) or g.block_size == self.unit for g in self.groups)
        has_inner_states = self.num_ranks == 1 and self.state_block_size > self.unit
        return len(specs) > 1 and has_inner_states and can_end_inside

    @cached_property
    def hit_alignment(self) -> int:
        """The grain of hits in tokens."""
        if len({group.spec() for group in self.groups}) == 1:
            return self.groups[0].block_size
        return self.unit if self.is_fine_grained else self.scheduler_block_size

    @cached_property
    def eagle_groups(self) -> frozenset[int]:
        """Groups whose hits give up their last part: the flagged, or all if ``use_eagle`` and none is; and
        those with an equal spec.
        """
        flagged = {g for g, group in enumerate(self.groups) if group.eagle}
        if self.use_eagle and not flagged:
            flagged = set(range(len(self.groups)))
        specs = {self.groups[g].spec() for g in flagged}
        return frozenset(g for g, group in enumerate(self.groups) if group.spec() in specs)

    @cached_property
    def resend_margin(self) -> int:
        """Tokens that the same prompt sent again gives up for a draft model."""
        attention = [g for g in self.eagle_groups if self.groups[g].kind not in STATES]
        return max((min(self.hit_alignment, self.groups[g].block_size) for g in attention), default=0)

    def kv_cache_config(self) -> KVCacheConfig:
        """The deployment as a manager is given it."""
        # A rank has its part of each block of attention, and whole states.
        parts = [
            group if group.kind in STATES else replace(group, block_size=group.block_size // self.num_ranks)
            for group in self.groups
        ]
        groups = [KVCacheGroupSpec([f"layer{g}"], part.spec(), part.eagle) for g, part in enumerate(parts)]
        return KVCacheConfig(self.num_blocks, [], groups, self.options.needs_zeroing)

    def name(self, prompt: int, num_tokens: int) -> tuple[int, int]:
        """The first prompt that has this prefix, and its length: equal exactly for equal prefixes."""
        return self.prefixes.first_with(prompt, num_tokens), num_tokens

    @cached_property
    def prefixes(self) -> Prefixes:
        """The prefixes of all prompts, by name."""
        return Prefixes(self.prompts)
