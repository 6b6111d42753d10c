"""What a lookup answers."""

from pagedkv.conformance.faults.fault import PlantedFault
from pagedkv.conformance.faults.patching import Patch
from pagedkv.spec.clauses import allocation, hit, index

from .elsewhere import ATTENTION_ALONE, COARSE, WITHOUT_CACHING, WITHOUT_DRAFT_MODELS, without

_JUNCTION_ONLY = "where states have less, attention's own answer shows in the junction alone"

FAULTS = (
    PlantedFault(
        "hit-of-all-tokens",
        "A request whose tokens are all cached hits all of them.",
        "nothing is left to compute, and so nothing to sample from",
        Patch("reference/views.py", "min(request.num_tokens - 1, ", "min(request.num_tokens, "),
        (hit.LEAVES_A_TOKEN,),
        WITHOUT_CACHING,
        mixes=("full", "mamba"),
    ),
    PlantedFault(
        "hit-not-aligned",
        "The search for a hit starts from the longest length, whether or not a hit can end there.",
        "a hit is no multiple of the alignment",
        Patch(
            "spec/rules/hits.py",
            "range(floor_to(max_length, alignment), 0, -alignment)",
            "range(max_length, 0, -alignment)",
        ),
        (hit.ALIGNED,),
        WITHOUT_CACHING,
        mixes=("mamba",),
    ),
    PlantedFault(
        "eagle-drops-a-block",
        "Attention with a draft model gives up a block where one unit would do.",
        "a block is dropped instead of a unit",
        Patch(
            "spec/rules/hits.py",
            "min(alignment, size) if",
            "size if",
        ),
        (hit.EAGLE_DROPS_ONE, hit.JUNCTION, hit.BLOCKS_COVER_IT),
        WITHOUT_DRAFT_MODELS,
        _JUNCTION_ONLY + "; a connector asks each kind alone",
    ),
    PlantedFault(
        "eagle-flag-for-the-last-group-only",
        "A draft model without flagged groups counts for the last group alone.",
        "attention keeps what its draft model has not read",
        Patch("reference/coordinator.py", "flagged = set(range(len(groups)))", "flagged = {len(groups) - 1}"),
        (hit.EAGLE_DROPS_ONE, hit.JUNCTION),
        WITHOUT_DRAFT_MODELS,
        _JUNCTION_ONLY,
    ),
    PlantedFault(
        "eagle-drops-once-per-kind",
        "Each kind of attention gives up a part of what the one before has left.",
        "the drop is applied once per round instead of once",
        Patch(
            "spec/rules/hits.py",
            "        found = [names_of_hit(kind, length, max_length, unit, alignment) for kind in kinds]\n",
            "        within = longest_hit(kinds[:1], max_length, unit, alignment).length if kinds[1:] else max_length\n"
            "        found = [\n"
            "            names_of_hit(kind, length, within if i else max_length, unit, alignment)\n"
            "            for i, kind in enumerate(kinds)\n"
            "        ]\n",
        ),
        (hit.EAGLE_DROPS_ONE,),
        WITHOUT_DRAFT_MODELS,
        mixes=("full+full+mamba",),
    ),
    PlantedFault(
        "later-state-stands-in",
        "A later state of the same block answers for an earlier one, as in attention.",
        "a margin is given to groups that cannot be cut",
        Patch(
            "spec/rules/hits.py",
            "least if is_state else min(max_length, (i + 1) * size)",
            "min(max_length, (i + 1) * size)",
        ),
        (hit.EAGLE_DROPS_ONE, hit.LONGEST, index.LONGEST_HOLDER_ANSWERS),
        ATTENTION_ALONE,
        "the deeper state may stand in for one of the right length, with a draft model or without",
    ),
    PlantedFault(
        "eagle-drops-states",
        "States give up a unit for a draft model that has no states.",
        "a drop for groups without a draft model",
        Patch("spec/rules/hits.py", "kind.drops_for_eagle and not is_state", "kind.drops_for_eagle"),
        (hit.EAGLE_DROPS_ONE, hit.LONGEST, hit.BLOCKS_COVER_IT),
        WITHOUT_DRAFT_MODELS,
        "a connector asks each kind alone",
    ),
    PlantedFault(
        "hit-inside-a-block-missed",
        "Attention does not look for a key inside the block after its last full one.",
        "a prompt sent again is computed again",
        Patch(
            "spec/rules/hits.py",
            "least = min(needed, (i + 1) * size)",
            "least = needed if is_state else (i + 1) * size",
        ),
        (hit.LONGEST, hit.EAGLE_DROPS_ONE, hit.JUNCTION),
        COARSE,
        _JUNCTION_ONLY,
    ),
    PlantedFault(
        "first-hit-answers",
        "The shortest hit is taken instead of the longest.",
        "a shorter hit than there is",
        Patch(
            "spec/rules/hits.py",
            "range(floor_to(max_length, alignment), 0, -alignment)",
            "range(alignment, max_length + 1, alignment)",
        ),
        (hit.LONGEST,),
        WITHOUT_CACHING,
        mixes=("mamba",),
    ),
    PlantedFault(
        "coverage-rounded-down",
        "A hit has the blocks that lie wholly in it.",
        "the last block of a hit is missing in some groups",
        Patch(
            "reference/coordinator.py",
            "blocks_for(length, self.single_type_managers[g].block_size)",
            "length // self.single_type_managers[g].block_size",
        ),
        (allocation.FITS_THE_HIT, hit.BLOCKS_COVER_IT),
        COARSE,
        "whoever allocates refuses the hit before anybody can see it",
    ),
    PlantedFault(
        "groups-not-cut",
        "A group that gives up a block for a draft model keeps it in its row.",
        "groups are not cut to the hit",
        Patch("spec/rules/hits.py", "names[: blocks_for(length, size) - first]", "names"),
        (allocation.FITS_THE_HIT, hit.BLOCKS_COVER_IT),
        WITHOUT_DRAFT_MODELS,
        "whoever allocates refuses the hit before anybody can see it",
    ),
    PlantedFault(
        "lagging-rows-padded",
        "A connector is given rows of the states that lag as long as those of attention.",
        "a row looks longer than what it holds",
        Patch(
            "reference/coordinator.py",
            "for names in hit.named_by], lengths)",
            "for names in hit.named_by], [max(lengths)] * len(lengths))",
        ),
        (hit.BLOCKS_COVER_IT,),
        without("divergent lookup"),
    ),
    PlantedFault(
        "junction-not-reported",
        "A lookup never reports a longer prefix that was lost.",
        "the state that would be worth keeping is never kept",
        Patch("spec/rules/hits.py", "first if first > length else 0", "0"),
        (hit.JUNCTION,),
        ATTENTION_ALONE,
    ),
    PlantedFault(
        "junction-without-loss",
        "A lookup reports the hit itself as a longer prefix.",
        "a chunk ends at a junction that is none",
        Patch("spec/rules/hits.py", "first if first > length else 0", "first"),
        (hit.JUNCTION,),
        WITHOUT_CACHING,
    ),
    PlantedFault(
        "lag-shortens-the-answer",
        "A connector is told the length of the group that lags most.",
        "what a connector could complete is computed again",
        Patch(
            "reference/views.py",
            "lengths[0], 0, min(lengths) < lengths[0]",
            "min(lengths), 0, min(lengths) < lengths[0]",
        ),
        (hit.DIVERGENT,),
        without("divergent lookup"),
    ),
    PlantedFault(
        "lag-without-a-laggard",
        "A connector is told that groups lag although none does.",
        "a hit that could be used waits for a transfer",
        Patch(
            "reference/views.py",
            "min(lengths) < lengths[0]",
            "min(lengths) <= lengths[0]",
        ),
        (hit.DIVERGENT,),
        without("divergent lookup"),
    ),
    PlantedFault(
        "deeper-group-answers",
        "A connector is given the rows of states that are deeper than attention.",
        "the deeper group is taken instead of the common hit",
        Patch(
            "reference/views.py",
            "if max(lengths) > lengths[0]:",
            "if False:",
        ),
        (hit.BLOCKS_COVER_IT, hit.EAGLE_DROPS_ONE, allocation.FITS_THE_HIT),
        without("divergent lookup"),
        "what should have been the common hit has the length of attention and the rows of states",
        mixes=("full+mamba",),
    ),
    PlantedFault(
        "cut-takes-keys",
        "Cutting a hit takes the keys off the blocks behind the cut.",
        "a view changes what it shows",
        Patch(
            "reference/coordinator.py",
            "            cut.append(row[:width])\n",
            "            cut.append(row[:width])\n"
            "            self.pool.evict_blocks(block.block_id for block in row[width:])\n",
        ),
        (hit.READ_ONLY,),
        without("truncate"),
    ),
    PlantedFault(
        "cut-refuses-short-states",
        "A cut is refused where a group of states is shorter.",
        "an error where only states are short",
        Patch(
            "reference/coordinator.py",
            "width <= len(row) or isinstance(manager, MambaManager)",
            "width <= len(row)",
        ),
        (hit.TRUNCATION,),
        without("truncate"),
    ),
    PlantedFault(
        "cut-accepts-short-attention",
        "A cut behind the end of a hit is not refused.",
        "a view claims tokens that it does not hold",
        Patch(
            "reference/coordinator.py", "width <= len(row) or isinstance(manager, MambaManager)", "width >= 0"
        ),
        (hit.TRUNCATION,),
        without("truncate"),
    ),
    PlantedFault(
        "common-prefix-of-some",
        "Blocks count as common to all unless every request has another.",
        "a common prefix that some request does not have",
        Patch("reference/kinds.py", "or any(o[i : i + 1] != [block]", "or all(o[i : i + 1] != [block]"),
        (allocation.COMMON_PREFIX,),
        without("common prefix"),
    ),
)
