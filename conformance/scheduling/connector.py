"""A connector that has the beginnings of some requests."""

from collections.abc import Callable

from pagedkv.spec.life import Life

from .request import ServedRequest


class Connector:
    """What the scheduler asks for tokens that others have computed."""

    def __init__(self, draw: Callable[[Life], int], takes_divergent: bool) -> None:
        """``draw``: how many of a request's tokens it has, when the request is looked up."""
        self._draw = draw
        self._available: dict[str, int] = {}
        self.supports_divergent_local_hybrid_hits = takes_divergent

    def available(self, life: Life) -> int:
        """How many tokens it has of a request that is looked up now."""
        self._available[life.request] = self._draw(life)
        return self._available[life.request]

    def get_num_new_matched_tokens(self, request: ServedRequest, hit: int) -> int:
        """How many tokens it has after the hit."""
        return max(0, self._available[request.request_id] - hit)
