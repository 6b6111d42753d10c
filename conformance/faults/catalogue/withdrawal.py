"""Work that will never run."""

from pagedkv.conformance.faults.fault import PlantedFault
from pagedkv.conformance.faults.patching import Patch
from pagedkv.spec.clauses import freeing, index, worker

from .elsewhere import WITHOUT_CACHING, without

_KEYS_STAY = Patch(
    "reference/single_type.py", "self.block_pool.withdraw_key(entry.block_id, entry.key)", "pass"
)

FAULTS = (
    PlantedFault(
        "withdrawn-keys-stay",
        "A request that loses its place in the pass that scheduled it leaves its keys.",
        "keys of withdrawn work stay",
        _KEYS_STAY,
        (freeing.WITHDRAWN_KEYS_GO,),
        without("withdraw"),
    ),
    PlantedFault(
        "withdrawn-keys-stay-unseen",
        "A request that loses its place leaves its keys, and nobody can look into the pool.",
        "a request reads what was never computed",
        _KEYS_STAY,
        (worker.READS_ITS_PREFIX,),
        without("withdraw"),
        tells_state=False,
        mixes=("full",),
    ),
    PlantedFault(
        "withdrawal-evicts",
        "A withdrawal takes all keys off the blocks it published, older ones too.",
        "a valid key is lost with an invalid one",
        Patch(
            "reference/single_type.py",
            "self.block_pool.withdraw_key(entry.block_id, entry.key)",
            "self.block_pool.evict_blocks([entry.block_id])",
        ),
        (index.KEYS_STAY,),
        without("withdraw"),
        mixes=("full+mamba",),
    ),
    PlantedFault(
        "withdrawal-for-everybody",
        "A withdrawal takes back what anybody published in this pass.",
        "a valid key is lost with an invalid one",
        Patch(
            "reference/single_type.py",
            "            if entry.request_id == request_id:\n",
            "            if entry:\n",
        ),
        (index.KEYS_STAY,),
        without("withdraw"),
    ),
    PlantedFault(
        "finished-keys-withdrawn",
        "Every free takes back what the request published last, also when its step has run.",
        "the keys of a request go with it",
        Patch(
            "reference/single_type.py",
            "        self.num_cached_block.pop(request_id, None)\n",
            "        self.num_cached_block.pop(request_id, None)\n"
            "        for entry in self.published:\n"
            "            if entry.request_id == request_id:\n"
            "                self.block_pool.withdraw_key(entry.block_id, entry.key)\n",
        ),
        (index.KEYS_STAY,),
        WITHOUT_CACHING,
    ),
    PlantedFault(
        "published-not-cleared",
        "What earlier passes published counts as published in this one.",
        "keys of work that ran are taken back",
        Patch("reference/single_type.py", "        self.published = []\n", ""),
        (freeing.WITHDRAWN_KEYS_GO,),
        WITHOUT_CACHING,
    ),
    PlantedFault(
        "withdrawal-refused-for-itself",
        "A request's own table counts as that of another.",
        "a preemption fails",
        Patch(
            "reference/single_type.py",
            " for other, row in self.rows.items() if other != request_id)",
            " for other, row in self.rows.items())",
        ),
        (freeing.NOT_WHAT_OTHERS_TOOK,),
        without("withdraw"),
    ),
)
