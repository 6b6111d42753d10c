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


def dies(world: World) -> Dies:
    return Dies(world)


def hangs(world: World) -> Hangs:
    return Hangs(world)


def raises(world: World) -> Raises:
    return Raises(world)
