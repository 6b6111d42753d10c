"""What a lookup may answer, by trying every length."""

from pagedkv.spec import World
from pagedkv.spec.life import Life
from pagedkv.spec.snapshot import KeyName, Snapshot

from .shape import Shape


class Lookup:
    """The hit of a request in a state, by its definition."""

    def __init__(
        self, world: World, shape: Shape, snapshot: Snapshot[KeyName], life: Life, divergent: bool
    ) -> None:
        self._world = world
        self._shape = shape
        self._index = snapshot.index
        self._prompt = life.prompt
        self._longest = life.num_tokens - 1
        answers = [self._answers(kind) for kind in self._shape.kinds]
        self.alone = [max(lengths, default=0) for lengths in answers]
        """By kind, the longest that it answers when it is asked alone."""
        self.common = max(set(answers[0]).intersection(*answers[1:]), default=0)
        """The longest that every kind answers."""
        self.junction = self.alone[0] if self.alone[0] > self.common else 0
        """Whoever is asked first is asked for the most, and no later answer may be longer."""
        mixed = len({self._shape.is_state[kind[0]] for kind in self._shape.kinds}) > 1
        self.is_divergent = divergent and mixed and world.enable_caching and self.alone[0] == max(self.alone)
        """Whether the first kind's own hit is answered, and the others' are left as they are."""

    def key(self, g: int, num_tokens: int) -> KeyName:
        """The key of the request's prefix in group ``g``."""
        return KeyName(g, *self._world.name(self._prompt, num_tokens))

    def lengths(self, hit: int) -> list[int]:
        """Per group how far its blocks reach in an answer of ``hit`` tokens."""
        lengths = [hit] * len(self._shape.sizes)
        if self.is_divergent:
            for kind, length in zip(self._shape.kinds, self.alone, strict=True):
                for g in kind:
                    lengths[g] = length
        return lengths

    def _answers(self, kind: tuple[int, ...]) -> range | list[int]:
        unit, alignment = self._world.unit, self._shape.alignment
        held = {
            n
            for n in range(unit, self._longest + 1, unit)
            if all(self.key(g, n) in self._index for g in kind)
        }
        if self._shape.is_state[kind[0]]:
            return [n for n in held if n % alignment == 0]
        # Attention that has a prefix has every shorter one, so the longest that it can name says all.
        size = self._shape.sizes[kind[0]]
        grain = unit if self._shape.is_fine else size
        named = [
            n
            for n in range(grain, self._longest + 1, grain)
            if (n in held or n % size == 0) and all(end in held for end in range(size, n + 1, size))
        ]
        top = max(named, default=0)
        if top and kind[0] in self._shape.eagle:
            top -= grain
        return range(alignment, top + 1, alignment)
