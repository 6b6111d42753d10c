"""The index of the torch manager: buckets of tagged cells, and how it grows."""

from pagedkv.conformance.faults.fault import PlantedFault
from pagedkv.conformance.faults.patching import Patch
from pagedkv.spec.clauses import hit, index

from .elsewhere import SPREAD, WITHOUT_CACHING

_MANY_STATES = ("full+mamba+mamba",)
"""A mix that soon fills buckets."""
_NOT_FOUND = "who does not find a key reads less, or adds it a second time"
_AN_ANSWER_IS_WRONG = "what is wrong shows in the hit of whichever group asks first"

FAULTS = (
    PlantedFault(
        "torch-passed-not-counted",
        "A key that finds its bucket full is not counted there as having gone on.",
        "an overflowed bucket does not say so, and what went on is never found",
        Patch(
            "impl/ops/fixed.py",
            "    buckets.passed.index_add_(0, bucket, (~fits).to(torch.int32))\n",
            "",
        ),
        (hit.LONGEST, index.BOTH_WAYS),
        SPREAD,
        _NOT_FOUND,
        mixes=_MANY_STATES,
    ),
    PlantedFault(
        "torch-passed-counted-once",
        "Several keys that find the same bucket full are counted as one.",
        "an addition through an index loses what comes twice",
        Patch(
            "impl/ops/fixed.py",
            "    buckets.passed.index_add_(0, bucket, (~fits).to(torch.int32))\n",
            "    buckets.passed[bucket] += (~fits).to(torch.int32)\n",
        ),
        (hit.LONGEST, index.BOTH_WAYS),
        SPREAD,
        _NOT_FOUND,
        mixes=_MANY_STATES,
    ),
    PlantedFault(
        "torch-passed-given-back-by-all",
        "A key that goes is taken off the count of the bucket where it lives as well.",
        "a loop over passed buckets ends one too late",
        Patch(
            "impl/ops/index.py",
            "        further = bucket != lives_in\n"
            "        bucket, lives_in = bucket[further], lives_in[further]\n"
            "        buckets.passed.index_add_(0, bucket, torch.full_like(bucket, -1, dtype=torch.int32))\n",
            "        buckets.passed.index_add_(0, bucket, torch.full_like(bucket, -1, dtype=torch.int32))\n"
            "        further = bucket != lives_in\n"
            "        bucket, lives_in = bucket[further], lives_in[further]\n",
        ),
        (hit.LONGEST, index.BOTH_WAYS),
        SPREAD,
        _NOT_FOUND,
        mixes=_MANY_STATES,
    ),
    PlantedFault(
        "torch-half-a-digest-compared",
        "Two keys whose digests agree in their first 16 bytes are taken for one.",
        "an index that compares less than the whole key answers with another prefix",
        Patch(
            "impl/ops/fixed.py",
            "(keys.digest[rows] == digest).all(-1)",
            "(keys.digest[rows] == digest)[..., :2].all(-1)",
        ),
        (hit.LONGEST, index.BOTH_WAYS),
        SPREAD,
        _NOT_FOUND,
        mixes=_MANY_STATES,
    ),
    PlantedFault(
        "torch-search-ends-in-the-first-bucket",
        "A search does not go on where its bucket has overflowed.",
        "what does not fit is put elsewhere and looked for here",
        Patch("impl/ops/index.py", "    while len(searched):\n", "    while False:\n"),
        (hit.LONGEST, index.BOTH_WAYS),
        SPREAD,
        _NOT_FOUND,
        mixes=_MANY_STATES,
    ),
    PlantedFault(
        "torch-search-does-not-wrap",
        "A search goes on behind the last bucket, where waste is written, not in the first.",
        "a hash table is off by one where it wraps",
        Patch(
            "impl/ops/index.py",
            "        bucket = _beside(buckets, bucket)\n        found",
            "        bucket = bucket + 1\n        found",
        ),
        (hit.LONGEST, index.BOTH_WAYS),
        SPREAD,
        _NOT_FOUND,
        mixes=_MANY_STATES,
    ),
    PlantedFault(
        "torch-cell-not-freed",
        "A key that goes leaves its row in its cell.",
        "a stale slot answers for a key that is gone",
        Patch("impl/ops/index.py", "    take_out(buckets, cells)\n", ""),
        (index.BOTH_WAYS,),
        WITHOUT_CACHING,
    ),
    PlantedFault(
        "torch-cell-remembered",
        "A row that goes keeps the number of its cell, and has it when it is used again.",
        "a stale slot belongs to the next key that is stored in that row",
        Patch("impl/ops/index.py", "    put(keys.cell, rows, NOBODY)\n    bucket", "    bucket"),
        (index.LONGEST_HOLDER_ANSWERS,),
        WITHOUT_CACHING,
    ),
    PlantedFault(
        "torch-one-cell-for-two",
        "All keys that come to a bucket at once are put into its first free cell.",
        "concurrent insertions overwrite each other",
        Patch(
            "impl/ops/fixed.py",
            "wanted = rank_among_equals(bucket)[:, None] + 1",
            "wanted = torch.ones_like(bucket)[:, None]",
        ),
        (index.BOTH_WAYS,),
        WITHOUT_CACHING,
    ),
    PlantedFault(
        "torch-tag-decides",
        "A cell answers when its tag is that of the key.",
        "part of a hash is taken for the whole: another prefix is read",
        Patch(
            "impl/ops/fixed.py",
            "(buckets.tags[bucket] == tags[:, None]) & same_name(keys, rows, names)",
            "(buckets.tags[bucket] == tags[:, None]) & (rows >= 0)",
        ),
        (hit.EAGLE_DROPS_ONE, hit.LONGEST, index.BOTH_WAYS),
        SPREAD,
        _AN_ANSWER_IS_WRONG,
    ),
    PlantedFault(
        "torch-first-word-decides",
        "Two keys are the same when the first word of their hashes is.",
        "part of a hash is taken for the whole: another prefix is read",
        Patch(
            "impl/ops/fixed.py",
            "(keys.digest[rows] == digest).all(-1)",
            "(keys.digest[rows] == digest)[..., 0]",
        ),
        (hit.EAGLE_DROPS_ONE, hit.LONGEST, index.BOTH_WAYS),
        SPREAD,
        _AN_ANSWER_IS_WRONG,
    ),
    PlantedFault(
        "torch-tags-in-int8",
        "Tags are kept in one byte and compared in four.",
        "a narrower type wraps, and nothing is found again",
        Patch(
            "impl/layout.py",
            "tags=torch.zeros((num_buckets + 1, BUCKET), dtype=torch.int32, device=device)",
            "tags=torch.zeros((num_buckets + 1, BUCKET), dtype=torch.int8, device=device)",
        ),
        (hit.BLOCKS_COVER_IT, hit.LONGEST, index.BOTH_WAYS),
        WITHOUT_CACHING,
        _AN_ANSWER_IS_WRONG,
    ),
    PlantedFault(
        "torch-stale-tag",
        "A cell keeps the tag of the key that had it before.",
        "a stale slot hides the key that is in it now",
        Patch("impl/ops/fixed.py", "    put(buckets.tags.view(-1), target, tags)\n", ""),
        (hit.BLOCKS_COVER_IT, hit.LONGEST, index.BOTH_WAYS),
        WITHOUT_CACHING,
        _AN_ANSWER_IS_WRONG,
    ),
    PlantedFault(
        "torch-no-row-answers-as-the-first",
        "A search without result answers with the first row.",
        "zero is both a number and nothing",
        Patch(
            "impl/ops/fixed.py",
            "found = torch.where(is_it, rows, NOBODY).amax(1)",
            "found = torch.where(is_it, rows, 0).amax(1)",
        ),
        (index.BOTH_WAYS,),
        WITHOUT_CACHING,
    ),
    PlantedFault(
        "torch-first-row-never-answers",
        "A key whose longest holder has row 0 is not found.",
        "zero is both a number and nothing",
        Patch(
            "impl/keys.py",
            "return torch.where(rows >= 0, self.keys.block[rows].long(), NOBODY)",
            "return torch.where(rows > 0, self.keys.block[rows].long(), NOBODY)",
        ),
        (hit.BLOCKS_COVER_IT, hit.LONGEST, hit.JUNCTION),
        WITHOUT_CACHING,
        _AN_ANSWER_IS_WRONG,
    ),
    PlantedFault(
        "torch-not-found-reads-the-last-row",
        "A key that is not found is answered with the block of the last row.",
        "an index of -1 reads from the end",
        Patch(
            "impl/keys.py",
            "return torch.where(rows >= 0, self.keys.block[rows].long(), NOBODY)",
            "return self.keys.block[rows].long()",
        ),
        (hit.EAGLE_DROPS_ONE, hit.LONGEST),
        WITHOUT_CACHING,
        _AN_ANSWER_IS_WRONG,
    ),
    PlantedFault(
        "torch-grown-without-keys",
        "An index that grows starts empty.",
        "a rehash loses what was there",
        Patch(
            "impl/keys.py",
            "        insert(self.keys, self.buckets, (new.cell >= 0).nonzero().view(-1))\n",
            "",
        ),
        (index.BOTH_WAYS,),
        WITHOUT_CACHING,
    ),
    PlantedFault(
        "torch-grown-with-all-holders",
        "An index that grows takes in every holder of a key, not the longest alone.",
        "a rehash brings back what had been put behind",
        Patch("impl/keys.py", "(new.cell >= 0).nonzero()", "(new.block >= 0).nonzero()"),
        (index.LONGEST_HOLDER_ANSWERS,),
        WITHOUT_CACHING,
    ),
)
