"""Prefixes have one name exactly when everything that shapes their KV is equal."""

from itertools import pairwise
from random import Random
from typing import Any

import pytest

from pagedkv.conformance.worlds import random_world
from pagedkv.spec.prefixes import Prefixes, Run
from pagedkv.spec.world import Embed, Image, Prompt


def shared(one: Prompt, other: Prompt) -> int:
    """How many tokens of prefix two prompts have in common, position by position."""
    if (one.salt, one.lora) != (other.salt, other.lora):
        return 0
    length = 0
    while length < min(len(one.tokens), len(other.tokens)) and (
        one.tokens[length] == other.tokens[length]
        and {i for i in one.images if i.offset == length} == {i for i in other.images if i.offset == length}
        and {e for e in one.embeds if e.position == length}
        == {e for e in other.embeds if e.position == length}
    ):
        length += 1
    return length


def check(prompts: tuple[Prompt, ...]) -> None:
    """Hold the names of all prefixes, and all stretches of them, to the definition."""
    prefixes = Prefixes(prompts)
    for p, prompt in enumerate(prompts):
        lengths = [shared(prompt, other) for other in prompts]
        size = len(prompt.tokens)
        names = [next(q for q, length in enumerate(lengths) if length >= n) for n in range(size + 1)]
        assert [prefixes.first_with(p, n) for n in range(size + 1)] == names
        for start in range(size + 1):
            for end in range(start, size + 3):
                runs = prefixes.runs(p, start, end)
                told = [(run.prompt, n) for run in runs for n in range(run.start + 1, run.end + 1)]
                assert told == [(names[n], n) for n in range(start + 1, min(end, size) + 1)]
                assert all(a.prompt != b.prompt for a, b in pairwise(runs))


@pytest.mark.parametrize("seed", range(60))
def test_names_are_those_of_the_first_prompt_with_the_prefix(seed: int) -> None:
    check(random_world(Random(seed)).prompts)


def test_prompts_that_end_inside_others_and_equal_ones() -> None:
    check(
        tuple(Prompt(tokens, 1) for tokens in ((1, 2, 3, 4), (1, 2), (1, 2), (1, 2, 5), (1, 2, 5, 6), (2,)))
    )


def test_salts_and_adapters_keep_apart() -> None:
    tokens = (1, 2, 3)
    check((Prompt(tokens, 3), Prompt(tokens, 3, salt="a"), Prompt(tokens, 3, lora="a"), Prompt(tokens, 3)))


def test_images_belong_to_where_they_begin() -> None:
    tokens = (1, 2, 3, 4)
    a, b, late = Image("a", 1, 2), Image("b", 1, 2), Image("a", 2, 2)
    pictures = ((a,), (b,), (late,), (), (a, b), (b, a), (a,))
    check(tuple(Prompt(tokens, 4, images=images) for images in pictures))


def test_embeddings_belong_to_their_positions() -> None:
    tokens = (1, 2, 3, 4)
    a, b, late = Embed(1, "a"), Embed(1, "b"), Embed(2, "a")
    choices = ((a,), (b,), (late,), (), (a, late), (late, a), (b, late), (a,))
    check(tuple(Prompt(tokens, 4, embeds=embeds) for embeds in choices))
    check((Prompt(tokens, 4, images=(Image("a", 1, 1),)), Prompt(tokens, 4, embeds=(a,))))


def test_what_many_prompts_share_is_one_run() -> None:
    prompts = tuple(Prompt((*range(1000), p), 1001) for p in range(50))
    assert Prefixes(prompts).runs(49, 0, 1001) == (Run(0, 0, 1000), Run(49, 1000, 1001))


def test_making_it_compares_only_what_is_shared() -> None:
    looked_at = 0

    class Counted(tuple[int, ...]):
        def __getitem__(self, index: Any) -> Any:
            nonlocal looked_at
            looked_at += len(range(1000)[index]) if isinstance(index, slice) else 1
            return super().__getitem__(index)

    # 100 prompts of 1000 tokens that agree in 10, 5,000 pairs of prompts.
    Prefixes([Prompt(Counted((*range(10), *range(p * 1000, p * 1000 + 990))), 1000) for p in range(1, 101)])
    assert looked_at < 100 * 100
