"""What a lookup may answer, by trying every length."""

from pagedkv.spec import World
from pagedkv.spec.life import Life
from pagedkv.spec.snapshot import KeyName, Snapshot
from pagedkv.spec.world import WHOLE

from .shape import Shape, covering


class Lookup:
    """The hit of a request in a state, by its definition."""

    def __init__(
        self,
        world: World,
        shape: Shape,
        snapshot: Snapshot[KeyName],
        life: Life,
        divergent: bool,
        is_off: bool = False,
    ) -> None:
        self._is_off = is_off or not world.enable_caching
        self._world = world
        self._shape = shape
        self._index = snapshot.index
        self._prompt = life.prompt
        self.longest = shape.alike(life.num_tokens - 1, world.prompts[life.prompt].length)
        """No hit is longer: the last token is computed, and so is what depends on where the prompt ends."""
        answers = [self._answers(kind) for kind in self._shape.kinds]
        self.alone = [max(lengths, default=0) for lengths in answers]
        """By kind, the longest that it answers when it is asked alone."""
        self.common = max(set(answers[0]).intersection(*answers[1:]), default=0)
        """The longest that every kind answers."""
        self.junction = self.alone[0] if self.alone[0] > self.common else 0
        """Whoever is asked first is asked for the most, and no later answer may be longer."""
        mixed = any(shape.is_state) and not set(WHOLE).isdisjoint(shape.reads)
        self.is_divergent = divergent and mixed and not self._is_off and self.alone[0] == max(self.alone)
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

    def _answers(self, kind: tuple[int, ...]) -> list[int]:
        """The lengths after which every group of the kind has all that a step reads."""
        unit, alignment = self._world.unit, self._shape.alignment
        held = {
            n for n in range(unit, self.longest + 1, unit) if all(self.key(g, n) in self._index for g in kind)
        }
        lengths = range(0) if self._is_off else range(alignment, self.longest + 1, alignment)
        return [n for n in lengths if self._is_answered(kind[0], n, held)]

    def _is_answered(self, g: int, length: int, held: set[int]) -> bool:
        shape, size = self._shape, self._shape.sizes[g]
        if shape.is_state[g]:
            return length in held
        # A draft model's groups have to have what is given up, too.
        grain = self._world.unit if shape.is_fine else size
        end = length + grain if g in shape.eagle else length
        entries = [*shape.read_entries(g, length), *range(covering(length, size), covering(end, size))]
        if end > self.longest:
            return False
        return all(
            any(n in held for n in range(min((i + 1) * size, end), (i + 1) * size + 1, self._world.unit))
            for i in reversed(entries)
        )
