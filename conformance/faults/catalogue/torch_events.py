"""What the torch manager announces."""

from pagedkv.conformance.faults.fault import PlantedFault
from pagedkv.conformance.faults.patching import Patch
from pagedkv.spec.clauses import events

from .elsewhere import WITHOUT_EVENTS, without

FAULTS = (
    PlantedFault(
        "torch-events-removal-of-every-holder",
        "Every row that was the longest holder of its key is announced removed.",
        "duplicates: the loss of one is told as the loss of all",
        Patch(
            "impl/keys.py",
            "        remove(self.keys, self.buckets, gone)\n        return gone\n",
            "        remove(self.keys, self.buckets, gone)\n        return rows[heads]\n",
        ),
        (events.REMOVED_WHEN_GONE, events.REPLAY_REBUILDS),
        WITHOUT_EVENTS,
        "a holder that came with the move is not one that stayed",
    ),
    PlantedFault(
        "torch-events-removals-missing",
        "Keys that go with their blocks are not announced removed.",
        "a router sends requests to where nothing is left",
        Patch(
            "impl/keys.py",
            "        rows = self._rows_of(blocks)\n        self._announce_removed(self._leave(rows))\n",
            "        rows = self._rows_of(blocks)\n        self._leave(rows)\n",
        ),
        (events.STORED_WHEN_NEW, events.REPLAY_REBUILDS),
        WITHOUT_EVENTS,
        "the same call may store the key again",
    ),
    PlantedFault(
        "torch-events-withdrawal-not-announced",
        "Keys that are withdrawn are not announced removed.",
        "a router is told of work that never ran",
        Patch(
            "impl/keys.py",
            "        self._announce_removed(self._leave(gone))\n",
            "        self._leave(gone)\n",
        ),
        (events.REPLAY_REBUILDS,),
        without("withdraw"),
    ),
    PlantedFault(
        "torch-events-move-announced",
        "A move announces the keys that it takes along.",
        "an entry that stays live throughout is announced removed",
        Patch(
            "impl/keys.py",
            "        self._leave(rows)\n        put(keys.block, rows, dst)\n",
            "        self._announce_removed(self._leave(rows))\n        put(keys.block, rows, dst)\n",
        ),
        (events.REMOVED_WHEN_GONE,),
        WITHOUT_EVENTS,
        mixes=("full+mamba",),
    ),
    PlantedFault(
        "torch-events-stored-by-every-holder",
        "Every block that gets a key announces it.",
        "a consumer counts holders that are never taken off",
        Patch(
            "impl/keys.py",
            "return is_new, is_new.nonzero().view(-1)[entered]",
            "return is_new, is_new.nonzero().view(-1)",
        ),
        (events.STORED_WHEN_NEW,),
        WITHOUT_EVENTS,
    ),
    PlantedFault(
        "torch-events-parents-of-this-call-unknown",
        "A parent that is stored by the very call that stores its child is not named.",
        "a batch looks up what is there before it has added anything",
        Patch("impl/events.py", "            known.add(digest)\n", ""),
        (events.PARENTS_KNOWN,),
        WITHOUT_EVENTS,
    ),
    PlantedFault(
        "torch-events-parents-before-they-are-told",
        "Every prefix before a block is named as parent, in the index or not.",
        "parent that was never announced",
        Patch("impl/events.py", "strict=True) if is_there}", "strict=True)}"),
        (events.PARENTS_KNOWN,),
        WITHOUT_EVENTS,
        mixes=("mamba", "full+mamba", "full+window"),
    ),
    PlantedFault(
        "torch-events-parents-of-the-first-group",
        "Whether a parent is there is asked of the first group.",
        "a key of one group stands for the key of another",
        Patch("impl/pool.py", "self.tensor([group] * len(hashes))", "self.tensor([0] * len(hashes))"),
        (events.PARENTS_KNOWN,),
        WITHOUT_EVENTS,
        mixes=("full+mamba", "full+window"),
    ),
    PlantedFault(
        "torch-events-reset-not-announced",
        "A reset takes all keys and tells nobody.",
        "reset not announced",
        Patch(
            "impl/pool.py",
            "            self.events.waiting.append(AllBlocksCleared())\n",
            "            pass\n",
        ),
        (events.CLEARED_BY_RESET,),
        without("reset"),
    ),
    PlantedFault(
        "torch-events-taken-twice",
        "Taking the events leaves them to be taken again.",
        "drained twice",
        Patch(
            "impl/events.py",
            "        taken, self.waiting = self.waiting, []\n        return taken\n",
            "        return list(self.waiting)\n",
        ),
        (events.STORED_WHEN_NEW,),
        WITHOUT_EVENTS,
    ),
)
