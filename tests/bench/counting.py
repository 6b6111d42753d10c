"""What a piece of code asks of torch and of Python, counted."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from pagedkv.conformance.bench.tensors import storages_of

PICKS = {
    "aten::index",
    "aten::index_select",
    "aten::gather",
    "aten::take",
    "aten::index_put",
    "aten::index_put_",
    "aten::_index_put_impl_",
    "aten::index_copy_",
    "aten::index_fill_",
    "aten::index_add_",
    "aten::scatter_",
    "aten::scatter_add_",
    "aten::scatter_reduce_",
}
"""Operations that touch of their first tensor only what their indices name."""


@dataclass
class Work:
    """Sums over a piece of code."""

    operations: int = 0
    """Operations of torch that compute something; views do not."""
    elements: int = 0
    """Elements of tensors that these read or write. Of the manager's own state only those that are picked."""


def work_of(manager: Any, act: Callable[[], Any]) -> Work:
    """What an act on a manager takes."""
    counter = _Counter({storage.data_ptr() for storage in storages_of(manager)})
    with counter:
        act()
    return counter.work


def calls_of(act: Callable[[], Any]) -> int:
    """How many calls Python makes, its builtins included, for an act."""
    calls = 0

    def profile(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        act()
    finally:
        sys.setprofile(before)
    return calls


class _Counter(TorchDispatchMode):  # type: ignore[no-untyped-call]
    def __init__(self, state: set[int]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._state = state
        self.work = Work()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        answer = func(*args, **(kwargs or {}))
        if not _is_view(func):
            self.work.operations += 1
            self.work.elements += sum(tensor.numel() for tensor in self._touched(func, args, kwargs, answer))
        return answer

    def _touched(self, func: Any, args: Any, kwargs: Any, answer: Any) -> Iterator[Tensor]:
        picks = func._schema.name in PICKS and args[0].untyped_storage().data_ptr() in self._state
        for leaf in tree_leaves((args, kwargs, answer)):
            if isinstance(leaf, Tensor) and not (picks and leaf is args[0]):
                yield leaf


def _is_view(func: Any) -> bool:
    returns = func._schema.returns
    return bool(returns) and all(r.alias_info is not None and not r.alias_info.is_write for r in returns)
