"""Which prompts of a world begin alike: a tree of their prefixes that grows with prompts, not with tokens."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # world imports this module
    from .world import Embed, Image, Prompt

Extras = frozenset["Image | Embed"]
"""The images that begin at one position, and the embedding that stands there."""

Element = tuple[int, Extras]
"""What stands at one position: a token, and more."""


class Run(NamedTuple):
    """The prefixes of ``start`` + 1 to ``end`` tokens that ``prompt`` is the first to have."""

    prompt: int
    start: int
    end: int
    behind: int = 0
    """If they have the KV of a request that reads its prompt and a window, so many tokens are its prompt; 0:
    the KV is the same for every request with that prefix.
    """


class _Node(NamedTuple):
    """Positions from where the node above ends to ``end``, as they are in the prompt ``first``."""

    first: int
    end: int
    below: "dict[Element, _Node]"


class Prefixes:
    """The prefixes of prompts, each named by the first prompt that has it.

    Two prefixes are equal when their tokens, the images that begin in them, their embeddings, salt and
    adapter are. The empty prefix is one for all. Making it compares each prompt once with what it shares with
    earlier ones.
    """

    def __init__(self, prompts: "Sequence[Prompt]") -> None:
        self._tokens = [prompt.tokens for prompt in prompts]
        self._extras = [_by_position(prompt) for prompt in prompts]
        # By prompt, up to which length another prompt was the first, in order.
        self._ends: list[list[int]] = []
        self._firsts: list[list[int]] = []
        roots: dict[tuple[str | None, str | None], _Node] = {}
        for p, prompt in enumerate(prompts):
            self._ends.append([0])
            self._firsts.append([0])
            self._add(p, roots.setdefault((prompt.salt, prompt.lora), _Node(0, 0, {})))

    def first_with(self, prompt: int, num_tokens: int) -> int:
        """The first prompt that begins with the first ``num_tokens`` tokens of ``prompt``."""
        return self._firsts[prompt][bisect_left(self._ends[prompt], num_tokens)]

    def runs(self, prompt: int, start: int, end: int) -> tuple[Run, ...]:
        """The prefixes of ``start`` + 1 to ``end`` tokens, as few runs as can be; none beyond the prompt."""
        ends, firsts = self._ends[prompt], self._firsts[prompt]
        runs: tuple[Run, ...] = ()
        for i in range(bisect_left(ends, start + 1), len(ends)):
            if end <= ends[i]:
                return (*runs, Run(firsts[i], start, end)) if start < end else runs
            runs += (Run(firsts[i], start, ends[i]),)
            start = ends[i]
        return runs

    def _add(self, p: int, node: _Node) -> None:
        """Walk down the tree along the prompt, and hang up what is new below where it leaves it."""
        at, length = 0, len(self._tokens[p])
        while at < length:
            element = self._element(p, at)
            child = node.below.get(element)
            if child is None:
                node.below[element] = _Node(p, length, {})
                self._note(p, length, p)
                return
            agree = self._agree(p, child.first, at, min(child.end, length))
            if agree < child.end:
                lower = child
                child = _Node(child.first, agree, {self._element(child.first, agree): lower})
                node.below[element] = child
            self._note(p, agree, child.first)
            node, at = child, agree

    def _note(self, p: int, end: int, first: int) -> None:
        ends, firsts = self._ends[p], self._firsts[p]
        if firsts[-1] == first:
            ends[-1] = end
        else:
            ends.append(end)
            firsts.append(first)

    def _element(self, p: int, at: int) -> Element:
        return self._tokens[p][at], self._extras[p].get(at, frozenset())

    def _agree(self, p: int, q: int, start: int, end: int) -> int:
        """Up to where two prompts that agree before ``start`` agree, at most ``end``."""
        mine, theirs = self._tokens[p], self._tokens[q]
        agree, step = start, 1
        while agree < end and step:
            stop = min(agree + step, end)
            if mine[agree:stop] == theirs[agree:stop]:
                agree, step = stop, 2 * step
            else:
                step = (stop - agree) // 2
        extras, others = self._extras[p], self._extras[q]
        apart = (at for at in {*extras, *others} if at >= start and extras.get(at) != others.get(at))
        return min([agree, *apart])


def _by_position(prompt: "Prompt") -> dict[int, Extras]:
    extras: dict[int, Extras] = {}
    for image in prompt.images:
        extras[image.offset] = extras.get(image.offset, frozenset()) | {image}
    for embed in prompt.embeds:
        extras[embed.position] = extras.get(embed.position, frozenset()) | {embed}
    return extras
