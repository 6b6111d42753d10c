"""Managers that are wrong in ways a campaign has to survive."""

import os
import time

from examples.own_manager import OwnManager
from pagedkv.spec import Request, World
from pagedkv.spec.interface import Blocks


class Dies(OwnManager):
    """Takes its process with it at the fourth allocation."""

    calls = 0

    def allocate(self, request: Request, num_new_tokens: int) -> Blocks | None:
        self.calls += 1
        if self.calls == 4:
            os._exit(17)
        return super().allocate(request, num_new_tokens)


class Hangs(OwnManager):
    """Never answers the fourth allocation."""

    calls = 0

    def allocate(self, request: Request, num_new_tokens: int) -> Blocks | None:
        self.calls += 1
        if self.calls == 4:
            time.sleep(3600)
        return super().allocate(request, num_new_tokens)


class Raises(OwnManager):
    """Raises in every free."""

    def free(self, request: Request) -> None:
        raise RuntimeError("no free today")


class NeverServes(OwnManager):
    """Always says that there is no room."""

    def allocate(self, request: Request, num_new_tokens: int) -> Blocks | None:
        return None


class NeverFrees(OwnManager):
    """Keeps every block for ever."""

    def free(self, request: Request) -> None:
        self.tables.pop(request.request_id, None)


class BeyondThePool(OwnManager):
    """Names blocks that there are not."""

    def allocate(self, request: Request, num_new_tokens: int) -> Blocks | None:
        rows = super().allocate(request, num_new_tokens)
        return rows and [[block + 1_000_000 for block in row] for row in rows]


class EndlessHit(OwnManager):
    """Has everything cached, and no blocks for it."""

    def lookup(self, request: Request) -> tuple[int, Blocks]:
        return 10**12, [[]]


def never_serves(world: World) -> NeverServes:
    return NeverServes(world)


def never_frees(world: World) -> NeverFrees:
    return NeverFrees(world)


def beyond_the_pool(world: World) -> BeyondThePool:
    return BeyondThePool(world)


def endless_hit(world: World) -> EndlessHit:
    return EndlessHit(world)


def dies(world: World) -> Dies:
    return Dies(world)


def hangs(world: World) -> Hangs:
    return Hangs(world)


def raises(world: World) -> Raises:
    return Raises(world)
