"""What a pass of the scheduler makes."""

from dataclasses import dataclass, field
from typing import NamedTuple

from pagedkv.spec import KVCacheBlockCopy


class Scheduled(NamedTuple):
    """What one request computes in a step."""

    start: int
    """Tokens whose KV is there before it."""
    num_tokens: int
    block_ids: tuple[list[int], ...]
    """Per group: the whole table of a request that was admitted, else what is new in it."""
    draft_token_ids: tuple[int, ...]
    """The last tokens of the step, which are not known to be right."""
    is_sampled: bool
    """Whether the step gives the request a new token."""
    admission: int
    """The admission of the request that the step belongs to."""


@dataclass
class SchedulerOutput:
    """A step that can run."""

    step_seq: int
    """Steps are numbered from 1 on."""
    scheduled: dict[str, Scheduled]
    """By request, in the order in which they got their slots."""
    admitted: list[str]
    """Those of them whose tables are sent whole."""
    copies: list[KVCacheBlockCopy]
    """To run before the step."""
    hand_offs: dict[str, list[tuple[int, int, int]]]
    """Per request (group, block id, length)."""
    preempted_req_ids: list[str] = field(default_factory=list)

    @property
    def num_scheduled_tokens(self) -> dict[str, int]:
        """Tokens per request."""
        return {name: part.num_tokens for name, part in self.scheduled.items()}
