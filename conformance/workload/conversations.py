"""Made-up traces with the shape of real ones: conversations whose next turn begins with all that was said.

Now and then a prompt is sent again as it was.
"""

from collections.abc import Iterator
from itertools import count
from random import Random

from .trace import HASH_TOKENS, TracedRequest

_SYSTEM_PROMPTS = 3
_OPEN_CONVERSATIONS = 8
_MS_BETWEEN = 200


def made_requests(number: int, seed: int) -> Iterator[TracedRequest]:
    """``number`` requests of several conversations at a time, in order of arrival.

    The conversations share a few beginnings. The same arguments give the same requests on every machine.
    """
    rng = Random(seed)
    new_id = count()
    beginnings = [[next(new_id) for _ in range(rng.randint(1, 2))] for _ in range(_SYSTEM_PROMPTS)]
    talks: list[_Conversation] = []
    timestamp = 0
    for line in range(1, number + 1):
        if (len(talks) < _OPEN_CONVERSATIONS and rng.random() < 0.5) or not talks:
            talks.append(_Conversation(rng.choice(beginnings)))
        talk = rng.choice(talks)
        if not talk.prompt or rng.random() < 0.85:
            talk.go_on(rng.randint(20, 900), new_id)
        output_length = rng.randint(1, 40)
        yield TracedRequest(line, timestamp, talk.prompt_length, output_length, talk.prompt)
        talk.length = talk.prompt_length + output_length
        if rng.random() < 0.2:
            talks.remove(talk)
        timestamp += rng.randrange(2 * _MS_BETWEEN)


class _Conversation:
    """What was said so far."""

    def __init__(self, beginning: list[int]) -> None:
        self._full = beginning.copy()
        """Ids of full blocks, which every later turn has again."""
        self.length = len(beginning) * HASH_TOKENS
        """Tokens so far, the latest output among them."""
        self.prompt: tuple[int, ...] = ()
        """Ids of the latest prompt."""
        self.prompt_length = 0

    def go_on(self, num_tokens: int, new_id: Iterator[int]) -> None:
        """Make the next prompt, which adds so many tokens. What fills a block gives it another id."""
        self.prompt_length = self.length + num_tokens
        while len(self._full) < self.prompt_length // HASH_TOKENS:
            self._full.append(next(new_id))
        last = [next(new_id)] if self.prompt_length % HASH_TOKENS else []
        self.prompt = (*self._full, *last)
