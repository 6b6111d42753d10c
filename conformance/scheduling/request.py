"""A request as far as the scheduler looks at it; the subject's own is its instance's."""

from collections.abc import Sequence
from dataclasses import dataclass

from pagedkv.spec import RequestStatus


@dataclass(eq=False)
class ServedRequest:
    """Has lengths only: a long prompt costs nothing here."""

    request_id: str
    num_prompt_tokens: int
    num_tokens: int
    num_computed_tokens: int = 0
    num_in_flight_tokens: int = 0
    shared_prefix_boundary: int = 0
    status: RequestStatus = RequestStatus.WAITING
    block_hashes: tuple[bytes, ...] = ()
    """The loop has them."""

    def append_output_token_ids(self, token_ids: Sequence[int]) -> None:
        """Grow by these tokens."""
        self.num_tokens += len(token_ids)
