"""A workload from its first request to its last."""

from collections import deque
from collections.abc import Sequence

from pagedkv.conformance.scheduling.service import Service

MS_PER_PASS = 50
"""Trace time that a pass takes."""


def serve_all(service: Service, num_prompts: int, arrivals: Sequence[float] | None, max_running: int) -> None:
    """Serve one request for each prompt, until every one has ended.

    ``arrivals``: by prompt when its request arrives, in ms and in order. None: each arrives as soon as it may
    run. Time that nobody uses is skipped.
    """
    arriving = deque(range(num_prompts))
    requests = service.scheduler.requests
    now = 0.0

    def is_due(prompt: int) -> bool:
        return len(requests) < max_running if arrivals is None else arrivals[prompt] <= now

    while arriving or service.scheduler.has_requests():
        if arrivals is not None and arriving and not requests:
            now = max(now, arrivals[arriving[0]])
        while arriving and is_due(arriving[0]):
            prompt = arriving.popleft()
            service.arrive(f"r{prompt}", prompt)
        service.step()
        now += MS_PER_PASS
