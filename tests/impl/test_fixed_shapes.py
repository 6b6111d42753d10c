"""Operations for a device: the host knows every shape beforehand and never waits for a value."""

from collections.abc import Callable
from inspect import getmembers, isfunction
from typing import Any

import pytest
import torch
from torch import Tensor
from torch._subclasses import FakeTensorMode
from torch.utils._pytree import tree_leaves

from pagedkv.impl.ops import fixed

from .fixed_examples import EXAMPLES, numbers

CPU, META = torch.device("cpu"), torch.device("meta")
PUBLIC = {
    function
    for name, function in getmembers(fixed, isfunction)
    if function.__module__ == fixed.__name__ and not name.startswith("_")
}


def forms(answer: Any) -> list[tuple[torch.Size, torch.dtype]]:
    """Shape and type of every tensor in an answer."""
    return [(leaf.shape, leaf.dtype) for leaf in tree_leaves(answer) if isinstance(leaf, Tensor)]


def test_every_function_has_an_example() -> None:
    assert EXAMPLES.keys() == PUBLIC


@pytest.mark.parametrize("function", EXAMPLES, ids=lambda function: function.__name__)
def test_it_runs_without_values(function: Callable[..., Any]) -> None:
    expected = forms(EXAMPLES[function](CPU))
    assert expected
    assert forms(EXAMPLES[function](META)) == expected
    with FakeTensorMode():
        assert forms(EXAMPLES[function](CPU)) == expected


@pytest.mark.parametrize(
    "reads",
    [
        lambda values: values.nonzero(),
        lambda values: values[values > 1],
        lambda values: values.unique(),
        lambda values: values.max().item(),
        lambda values: bool((values > 1).any()),
        lambda values: range(values[0]),
        lambda values: values.tolist(),
        lambda values: torch.repeat_interleave(values, values),
    ],
    ids=["nonzero", "mask", "unique", "item", "bool", "index", "tolist", "unknown total"],
)
def test_what_reads_a_value_back_is_rejected(reads: Callable[[Tensor], object]) -> None:
    assert reads(numbers(CPU, 0, 1, 2)) is not None
    with FakeTensorMode(), pytest.raises(RuntimeError):
        reads(numbers(CPU, 0, 1, 2))
    with pytest.raises(RuntimeError):
        reads(numbers(META, 0, 1, 2))
