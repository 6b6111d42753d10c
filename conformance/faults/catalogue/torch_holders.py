"""The holders of a key in the torch manager: a ring of rows, of which the longest holder has the cell."""

from pagedkv.conformance.faults.fault import PlantedFault
from pagedkv.conformance.faults.patching import Patch
from pagedkv.spec.clauses import index

from .elsewhere import WITHOUT_CACHING

FAULTS = (
    PlantedFault(
        "torch-second-taken-for-newest",
        "A new holder is put behind the second, not behind the newest.",
        "both directions of a ring are mixed up",
        Patch(
            "impl/ops/fixed.py",
            "torch.where(is_new, last, keys.older[head].long())",
            "torch.where(is_new, last, keys.newer[head].long())",
        ),
        (index.BOTH_WAYS, index.LONGEST_HOLDER_ANSWERS),
        WITHOUT_CACHING,
        "what stood behind the second is lost or comes later",
        mixes=("mamba",),
    ),
    PlantedFault(
        "torch-newest-not-remembered",
        "The longest holder does not learn who is the newest.",
        "a ring is closed in one direction only",
        Patch("impl/ops/fixed.py", "    put(keys.older, newer, rows)\n", ""),
        (index.BOTH_WAYS,),
        WITHOUT_CACHING,
    ),
    PlantedFault(
        "torch-newest-not-reached",
        "The holder before does not learn who comes next.",
        "a ring is closed in one direction only",
        Patch("impl/ops/fixed.py", "    put(keys.newer, older, rows)\n", ""),
        (index.BOTH_WAYS,),
        WITHOUT_CACHING,
    ),
    PlantedFault(
        "torch-ring-open-before-the-leaver",
        "The holder before one that leaves still points to it.",
        "a link to a slot that is free",
        Patch(
            "impl/ops/fixed.py",
            "    put(keys.older, newer, older)\n    put(keys.newer, older, newer)\n",
            "    put(keys.older, newer, older)\n",
        ),
        (index.BOTH_WAYS,),
        WITHOUT_CACHING,
    ),
    PlantedFault(
        "torch-newest-inherits",
        "When the longest holder leaves, the newest answers.",
        "the wrong end of a ring is taken",
        Patch(
            "impl/ops/fixed.py",
            "return torch.where(is_left, newer, NOBODY)",
            "return torch.where(is_left, older, NOBODY)",
        ),
        (index.LONGEST_HOLDER_ANSWERS,),
        WITHOUT_CACHING,
    ),
    PlantedFault(
        "torch-heir-without-cell",
        "The holder that answers from now on does not know in which cell.",
        "a back reference is not moved with what it belongs to",
        Patch("impl/keys.py", "        put(keys.cell, heirs[inherits], cells)\n", ""),
        (index.BOTH_WAYS,),
        WITHOUT_CACHING,
    ),
    PlantedFault(
        "torch-cell-kept-by-the-leaver",
        "A holder that has left keeps the number of the cell that another has taken over.",
        "a stale slot belongs to the next key that is stored in that row",
        Patch("impl/keys.py", "        put(keys.cell, rows[inherits], NOBODY)\n", ""),
        (index.LONGEST_HOLDER_ANSWERS,),
        WITHOUT_CACHING,
    ),
)
