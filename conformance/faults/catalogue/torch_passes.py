"""What the torch manager remembers of a pass, and the row numbers of requests."""

from pagedkv.conformance.faults.fault import PlantedFault
from pagedkv.conformance.faults.patching import Patch
from pagedkv.spec.clauses import copies, freeing, pool, worker

from .elsewhere import without

FAULTS = (
    PlantedFault(
        "torch-mark-trusted",
        "A block counts as filled when there are as many marks as the place says that it had last.",
        "a stale slot is trusted without a look at whose it is",
        Patch(
            "impl/ledger.py",
            "says_so = (at < self.filled.count) & (marks[:, 0] == group) & (marks[:, 1] == blocks)",
            "says_so = at < self.filled.count",
        ),
        (copies.SAME_PASS_WAITS,),
        "every pass fills blocks",
    ),
    PlantedFault(
        "torch-mark-of-another-block-trusted",
        "A block counts as filled when the mark at its place is of its group.",
        "a stale slot is trusted without a look at whose it is",
        Patch("impl/ledger.py", "(marks[:, 0] == group) & (marks[:, 1] == blocks)", "(marks[:, 0] == group)"),
        (copies.SAME_PASS_WAITS,),
        "every pass fills blocks",
    ),
    PlantedFault(
        "torch-mark-looked-for-one-further",
        "The place of a mark is noted as the one after it.",
        "an append answers the end instead of the beginning",
        Patch(
            "impl/records.py",
            "return torch.arange(self.count - len(new), self.count, device=device)",
            "return torch.arange(self.count - len(new) + 1, self.count + 1, device=device)",
        ),
        (worker.WRITES_ALONE,),
        "every pass fills blocks",
        also=(copies.SAME_PASS_WAITS,),
        mixes=("full+mamba+mamba",),
    ),
    PlantedFault(
        "torch-marks-not-cleared",
        "What a pass fills still counts as being filled in the next.",
        "the same-step guard is not cleared at the next step",
        Patch("impl/ledger.py", "        self.filled.clear()\n", ""),
        (copies.SAME_PASS_WAITS,),
        "every pass fills blocks",
    ),
    PlantedFault(
        "torch-marks-are-copies",
        "Rows of records are answered as copies, so that what is written to them is lost.",
        "a copy is taken for a view",
        Patch(
            "impl/records.py", "return self._store[: self.count]", "return self._store[: self.count].clone()"
        ),
        (copies.SAME_PASS_WAITS,),
        without("withdraw"),
    ),
    PlantedFault(
        "torch-row-number-given-twice",
        "Row numbers that wait for the end of a pass are given back again when the next ends.",
        "a free list hands out one slot twice",
        Patch("impl/ledger.py", "        self.gone.clear()\n", ""),
        (pool.COUNT_IS_HOLDERS,),
        "every run has requests that leave and others that come",
        mixes=("full+mamba+mamba",),
    ),
    PlantedFault(
        "torch-row-number-free-too-soon",
        "A row number is free at once, though marks of the pass name it.",
        "a slot is used again while something points to it",
        Patch(
            "impl/ledger.py", "        if self.filled.count or self.published.count:\n", "        if False:\n"
        ),
        (freeing.FORGETS_THE_REQUEST,),
        "every run has requests that leave",
    ),
    PlantedFault(
        "torch-withdrawn-still-published",
        "What a request published stays listed for the pass when it is withdrawn.",
        "a mask keeps what it should drop",
        Patch("impl/ledger.py", "        self.published.keep(self.published.rows[:, 1] != row)\n", ""),
        (freeing.WITHDRAWN_KEYS_GO,),
        without("withdraw"),
    ),
    PlantedFault(
        "torch-dropped-records-counted",
        "Records of which some are dropped are still as many.",
        "a compaction leaves the length as it was, and stale slots come into use",
        Patch("impl/records.py", "        self.count = len(kept)\n", ""),
        (freeing.FORGETS_THE_REQUEST, freeing.WITHDRAWN_KEYS_GO),
        "every run withdraws requests and ends some",
        "rows of pins and of publications are dropped",
    ),
    PlantedFault(
        "torch-records-overwrite-the-first",
        "New records are written over the first ones.",
        "an append without its offset",
        Patch(
            "impl/records.py",
            "self._store[self.count : self.count + len(new)] = new",
            "self._store[: len(new)] = new",
        ),
        (copies.SAME_PASS_WAITS,),
        "every pass fills blocks",
    ),
)
