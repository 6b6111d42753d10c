"""Which blocks a worker is told to zero."""

from pagedkv.conformance.faults.fault import PlantedFault
from pagedkv.conformance.faults.patching import Patch
from pagedkv.spec.clauses import allocation

from .elsewhere import STATES_ALONE, WITHOUT_OPTIONS

_OPTIONS = ("needs_zeroing",)
_WITH_LOADS = ("needs_zeroing", "has_connector")

FAULTS = (
    PlantedFault(
        "private-block-not-zeroed",
        "The private block of a hit is not listed.",
        "a tail is read from what another request left",
        Patch("reference/single_type.py", "self.new_block_ids += new + taken", "self.new_block_ids += taken"),
        (allocation.LISTS_NEW_BLOCKS,),
        WITHOUT_OPTIONS,
        mixes=("full+mamba", "full+full+mamba"),
        options=_OPTIONS,
    ),
    PlantedFault(
        "private-block-zeroed-last",
        "The private block of a hit is listed behind the new ones.",
        "blocks are listed in another order than they are handed out",
        Patch(
            "reference/single_type.py",
            "self.new_block_ids += new + taken",
            "self.new_block_ids += taken + new",
        ),
        (allocation.LISTS_NEW_BLOCKS,),
        WITHOUT_OPTIONS,
        mixes=("full+mamba", "full+full+mamba"),
        options=_OPTIONS,
    ),
    PlantedFault(
        "answer-zeroed-again",
        "All that a call answers is listed a second time.",
        "a block is zeroed after it was filled",
        Patch(
            "reference/single_type.py",
            "self.new_block_ids += new + taken",
            "self.new_block_ids += new + taken + taken",
        ),
        (allocation.LISTS_NEW_BLOCKS,),
        WITHOUT_OPTIONS,
        options=_OPTIONS,
    ),
    PlantedFault(
        "states-zeroed",
        "Blocks of states are listed, too.",
        "a state is zeroed that a copy has filled",
        Patch(
            "reference/single_type.py",
            'needs_kv_cache_zeroing and self.reads != "state"',
            "needs_kv_cache_zeroing",
        ),
        (allocation.LISTS_NEW_BLOCKS,),
        WITHOUT_OPTIONS,
        options=_OPTIONS,
    ),
    PlantedFault(
        "zeroed-without-need",
        "Blocks are listed although the worker does not zero.",
        "a list grows that nobody drains",
        Patch(
            "reference/single_type.py",
            'needs_kv_cache_zeroing and self.reads != "state"',
            'self.reads != "state"',
        ),
        (allocation.LISTS_NEW_BLOCKS,),
        STATES_ALONE,
        mixes=("full", "full+mamba"),
    ),
    PlantedFault(
        "zero-list-not-cleared",
        "Blocks stay listed when they have been drained.",
        "a block is zeroed again while it is read",
        Patch(
            "reference/single_type.py",
            "taken, self.new_block_ids = self.new_block_ids, []",
            "taken = self.new_block_ids.copy()",
        ),
        (allocation.LISTS_NEW_BLOCKS,),
        WITHOUT_OPTIONS,
        options=_OPTIONS,
    ),
    PlantedFault(
        "zero-list-by-last-group-first",
        "Blocks are drained from the last group to the first.",
        "blocks reach the worker in another order",
        Patch(
            "reference/manager.py",
            "[b for manager in self.coordinator.single_type_managers for b in",
            "[b for manager in self.coordinator.single_type_managers[::-1] for b in",
        ),
        (allocation.LISTS_NEW_BLOCKS,),
        WITHOUT_OPTIONS,
        mixes=("full+full+mamba",),
        options=_OPTIONS,
    ),
    PlantedFault(
        "load-under-way-zeroed",
        "Blocks that an asynchronous load fills are listed.",
        "what was loaded is zeroed",
        Patch("reference/manager.py", "lists_external=not delay_cache_blocks", "lists_external=True"),
        (allocation.LISTS_NEW_BLOCKS,),
        WITHOUT_OPTIONS,
        options=_WITH_LOADS,
    ),
    PlantedFault(
        "load-in-the-step-not-zeroed",
        "Blocks that the step itself loads are not listed.",
        "what a load leaves out is what another request left",
        Patch("reference/manager.py", "lists_external=not delay_cache_blocks", "lists_external=False"),
        (allocation.LISTS_NEW_BLOCKS,),
        WITHOUT_OPTIONS,
        options=_WITH_LOADS,
    ),
    PlantedFault(
        "failed-load-not-zeroed",
        "What a failed load has not filled is not listed again.",
        "half a prefix is what another request left",
        Patch("reference/manager.py", "[b for b in row[start_token // manager.block_size :] if b]", "[]"),
        (allocation.LISTS_NEW_BLOCKS,),
        WITHOUT_OPTIONS,
        mixes=("full",),
        options=_WITH_LOADS,
    ),
    PlantedFault(
        "failed-load-zeroed-a-block-late",
        "Of what a failed load has not filled the first block is not listed.",
        "a place is rounded in another way",
        Patch(
            "reference/manager.py",
            "row[start_token // manager.block_size :]",
            "row[start_token // manager.block_size + 1 :]",
        ),
        (allocation.LISTS_NEW_BLOCKS,),
        WITHOUT_OPTIONS,
        mixes=("full",),
        options=_WITH_LOADS,
    ),
    PlantedFault(
        "failed-load-zeroes-all",
        "All blocks are listed of a request whose load has failed in part.",
        "what was loaded is zeroed",
        Patch("reference/manager.py", "row[start_token // manager.block_size :]", "row"),
        (allocation.LISTS_NEW_BLOCKS,),
        WITHOUT_OPTIONS,
        mixes=("full",),
        options=_WITH_LOADS,
    ),
)
