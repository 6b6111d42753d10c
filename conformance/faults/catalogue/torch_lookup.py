"""Searches of the torch manager over many boundaries and groups at once."""

from pagedkv.conformance.faults.fault import PlantedFault
from pagedkv.conformance.faults.patching import Patch
from pagedkv.spec.clauses import allocation, hit, index

from .elsewhere import ATTENTION_ALONE, COARSE, STATES_ALONE, WITHOUT_CACHING

_TWO_STATES = ("full+mamba+mamba",)

FAULTS = (
    PlantedFault(
        "torch-shortest-state-answers",
        "Of the states that a prefix has in a piece of the search, the shortest answers.",
        "the wrong end of a result is taken",
        Patch(
            "impl/lookup.py",
            "for kind in kinds]).all(0).nonzero().view(-1)[:1]",
            "for kind in kinds]).all(0).nonzero().view(-1)[-1:]",
        ),
        (hit.BLOCKS_COVER_IT, hit.LONGEST),
        WITHOUT_CACHING,
        "a hit of attention that ends inside a block is searched for in the same way",
    ),
    PlantedFault(
        "torch-one-group-has-the-state",
        "A state that one of two groups has counts as found in both.",
        "a reduction over groups is any, not all",
        Patch("impl/lookup.py", "lengths[unknown:]) >= 0).all(0)", "lengths[unknown:]) >= 0).any(0)"),
        (hit.BLOCKS_COVER_IT, hit.LONGEST),
        ATTENTION_ALONE,
        "whether the block that is missing is seen depends on the place it has in the answer",
        mixes=_TWO_STATES,
    ),
    PlantedFault(
        "torch-groups-interleaved",
        "Keys are asked for group by group, and their groups repeated key by key.",
        "two axes of a flattened array are mixed up",
        Patch("impl/lookup.py", "of_group.repeat_interleave(len(hashes))", "of_group.repeat(len(hashes))"),
        (index.LONGEST_HOLDER_ANSWERS, hit.BLOCKS_COVER_IT),
        ATTENTION_ALONE,
        "the other group may have the state too, or not",
        mixes=_TWO_STATES,
    ),
    PlantedFault(
        "torch-null-behind-the-state",
        "The null entries of a state's hit come after it.",
        "padding is put at the wrong side",
        Patch(
            "impl/lookup.py",
            "torch.nn.functional.pad(self.blocks, (width - self.blocks.shape[1], 0))",
            "torch.nn.functional.pad(self.blocks, (0, width - self.blocks.shape[1]))",
        ),
        (hit.BLOCKS_COVER_IT, allocation.FITS_THE_HIT),
        ATTENTION_ALONE,
    ),
    PlantedFault(
        "torch-hit-without-its-part-of-a-block",
        "A hit that ends inside a block lacks that block.",
        "a division rounds down where it has to round up",
        Patch("impl/lookup.py", "width = -(-length // block_size)", "width = length // block_size"),
        (hit.BLOCKS_COVER_IT,),
        COARSE,
    ),
    PlantedFault(
        "torch-hit-takes-the-last-token",
        "A search goes as far as there are hashes.",
        "an upper end is not clamped to what may be answered",
        Patch(
            "impl/lookup.py",
            "self.max_hashed = min(max_length, len(hashes) * self.unit)",
            "self.max_hashed = len(hashes) * self.unit",
        ),
        (hit.LEAVES_A_TOKEN,),
        STATES_ALONE,
    ),
    PlantedFault(
        "torch-hash-of-the-unit-before",
        "The hash that is asked for is that of the unit before the last one of the prefix.",
        "an index of a hash is off by one",
        Patch(
            "impl/lookup.py",
            "self._hashes[length // self.unit - 1]",
            "self._hashes[(length - 1) // self.unit - 1]",
        ),
        (hit.BLOCKS_COVER_IT, hit.LONGEST, hit.JUNCTION, hit.EAGLE_DROPS_ONE),
        WITHOUT_CACHING,
        "each group asks for another hash",
    ),
)
