"""What the model announces."""

from pagedkv.conformance.faults.fault import PlantedFault
from pagedkv.conformance.faults.patching import Patch
from pagedkv.spec.clauses import events

from .elsewhere import WITHOUT_CACHING, WITHOUT_EVENTS, without

_POOL = "reference/pool.py"
_VOCABULARY = "spec/events.py"
_UNTRUE = "a false announcement shows in what is replayed and in what is told"
_ALSO_REPLAYED = (events.REPLAY_REBUILDS,)

FAULTS = (
    PlantedFault(
        "events-removal-missing-at-reuse",
        "Keys that go because their block is taken are not announced removed.",
        "a router sends requests to where nothing is left",
        Patch(
            _POOL,
            "        for block_id in taken:\n            self._drop_keys(block_id)\n",
            "        for block_id in taken:\n"
            "            told = len(self.events)\n"
            "            self._drop_keys(block_id)\n"
            "            del self.events[told:]\n",
        ),
        (events.REPLAY_REBUILDS, events.STORED_WHEN_NEW),
        WITHOUT_EVENTS,
        "the same call may store the key again",
        mixes=("full",),
    ),
    PlantedFault(
        "events-removal-with-a-holder-left",
        "A key is announced removed when any of its holders loses it.",
        "duplicates: the loss of one is told as the loss of all",
        Patch(
            _POOL,
            "        if left:\n            self.index[key.name] = left\n",
            "        if left:\n"
            "            self.index[key.name] = left\n"
            "            self._announce(BlockRemoved((get_block_hash(key.name),), get_group_id(key.name)))\n",
        ),
        (events.REMOVED_WHEN_GONE, events.REPLAY_REBUILDS),
        WITHOUT_EVENTS,
        "a holder that came with the move is not one that stayed",
        also=_ALSO_REPLAYED,
    ),
    PlantedFault(
        "events-removal-before-it-is-true",
        "Attention that fills its block announces the earlier key removed and stored again.",
        "events that contradict: what never stopped being valid is announced removed",
        Patch(
            _POOL,
            "        longer = not held or held[0].num_tokens < key.num_tokens\n",
            "        longer = not held or held[0].num_tokens < key.num_tokens\n"
            "        for old in held:\n"
            "            self._announce(BlockRemoved((get_block_hash(old.name),), get_group_id(old.name)))\n",
        ),
        (events.REMOVED_WHEN_GONE,),
        WITHOUT_EVENTS,
        also=_ALSO_REPLAYED,
        mixes=("full+mamba",),
    ),
    PlantedFault(
        "events-move-announced",
        "A move takes the keys off before it gives them, and announces that they are gone.",
        "an entry that stays live throughout is announced removed",
        Patch(
            _POOL,
            "        self.keys[dst] = self.keys[src]\n"
            "        for key in self.keys[dst]:\n"
            "            self.index[key.name] += (dst,)\n"
            "        # The keys never leave the index, so nothing is announced.\n"
            "        self._drop_keys(src)\n",
            "        moved = self.keys[src]\n"
            "        self._drop_keys(src)\n"
            "        self.keys[dst] = moved\n"
            "        for key in moved:\n"
            "            self.index[key.name] = (*self.index.get(key.name, ()), dst)\n",
        ),
        (events.REMOVED_WHEN_GONE,),
        WITHOUT_EVENTS,
        also=_ALSO_REPLAYED,
        mixes=("full+mamba",),
    ),
    PlantedFault(
        "events-stored-by-every-holder",
        "Every further block that gets a key announces it again.",
        "a consumer counts holders that are never taken off",
        Patch(_POOL, "is_new = key.name not in self.index", "is_new = key not in self.keys[block_id]"),
        (events.STORED_WHEN_NEW,),
        WITHOUT_EVENTS,
    ),
    PlantedFault(
        "events-null-blocks-stored",
        "A prefix is announced stored that ends in a place without storage, or that is left out.",
        "stored event for null placeholders",
        Patch(
            _POOL,
            "        for block_id, key in wanted:\n"
            "            self._name(request, block_id, key, block_size, keep_keys)\n",
            "        for i in range(num_cached_blocks, num_full_blocks):\n"
            "            key = self._key(request, (i + 1) * block_size, kv_cache_group_id)\n"
            "            if (blocks[i].block_id, key) in wanted:\n"
            "                self._name(request, blocks[i].block_id, key, block_size, keep_keys)\n"
            "            elif key.name not in self.index:\n"
            "                gid = kv_cache_group_id\n"
            "                unit = self.hash_block_size\n"
            "                self._announce(\n"
            "                    stored_event(request, key.num_tokens, unit, block_size, gid, lambda h: False)\n"
            "                )\n",
        ),
        (events.REPLAY_REBUILDS, events.PARENTS_KNOWN, events.STORED_WHEN_NEW),
        WITHOUT_EVENTS,
        _UNTRUE,
        also=_ALSO_REPLAYED,
        mixes=("mamba", "full+mamba", "full+window", "window"),
    ),
    PlantedFault(
        "events-parent-never-announced",
        "The prefix before a block is named as parent whether or not it is in the index.",
        "parent that was never announced",
        Patch(_VOCABULARY, "parent if parent is not None and is_in_index(parent) else None", "parent"),
        (events.PARENTS_KNOWN,),
        WITHOUT_EVENTS,
        mixes=("mamba", "full+mamba", "full+window"),
    ),
    PlantedFault(
        "events-parent-one-unit-back",
        "The parent is the prefix one hash unit before the end, not before the block.",
        "parents are counted in units where they are blocks",
        Patch(
            _VOCABULARY,
            "request.block_hashes[start // unit - 1] if start else None",
            "request.block_hashes[num_tokens // unit - 2] if num_tokens > unit else None",
        ),
        (events.PARENTS_KNOWN,),
        WITHOUT_EVENTS,
        mixes=("full+mamba",),
    ),
    PlantedFault(
        "events-parent-left-out",
        "A key never names a parent.",
        "all that is stored hangs on the root",
        Patch(_VOCABULARY, "parent if parent is not None and is_in_index(parent) else None", "None"),
        (events.PARENTS_KNOWN,),
        WITHOUT_EVENTS,
    ),
    PlantedFault(
        "events-tokens-of-a-whole-block",
        "A partial entry is announced with the tokens up to its length from its own end backwards.",
        "token ids of the wrong span",
        Patch(
            _VOCABULARY,
            "tuple(request.all_token_ids[start:num_tokens])",
            "tuple(request.all_token_ids[max(0, num_tokens - block_size) : num_tokens])",
        ),
        (events.TELLS_THE_BLOCK,),
        WITHOUT_EVENTS,
        mixes=("full+mamba",),
    ),
    PlantedFault(
        "events-tokens-from-the-start",
        "A key is announced with all tokens of its prefix.",
        "token ids of the wrong span",
        Patch(_VOCABULARY, "request.all_token_ids[start:num_tokens]", "request.all_token_ids[:num_tokens]"),
        (events.TELLS_THE_BLOCK,),
        WITHOUT_EVENTS,
    ),
    PlantedFault(
        "events-start-forgotten",
        "Every key is announced as if its block were the first.",
        "a consumer takes what it has no parent for as a prompt's beginning",
        Patch(
            _VOCABULARY,
            "        start,\n        tuple(request.all",
            "        0,\n        tuple(request.all",
        ),
        (events.TELLS_THE_BLOCK,),
        WITHOUT_EVENTS,
    ),
    PlantedFault(
        "events-extras-of-the-first-unit",
        "The extra keys of a block's first unit are told for all of its units.",
        "extra keys are told per block where hashes have them per unit",
        Patch(
            _VOCABULARY,
            "get_extra_keys(request, first, first + unit)",
            "get_extra_keys(request, start, start + unit)",
        ),
        (events.TELLS_THE_BLOCK,),
        WITHOUT_EVENTS,
        mixes=("full+mamba",),
    ),
    PlantedFault(
        "events-extras-missing",
        "No extra keys are told.",
        "a consumer that makes the hashes itself makes others",
        Patch(_VOCABULARY, "get_extra_keys(request, first, first + unit)", "None"),
        (events.TELLS_THE_BLOCK,),
        WITHOUT_EVENTS,
    ),
    PlantedFault(
        "events-adapter-missing",
        "The adapter is not told.",
        "requests of another adapter are sent where its prefix is not",
        Patch(_VOCABULARY, "        request.lora_name,\n", "        None,\n"),
        (events.TELLS_THE_BLOCK,),
        WITHOUT_EVENTS,
    ),
    PlantedFault(
        "events-stored-before-removed",
        "What a call stores first is announced before the last key that had to go for it.",
        "events out of the order in which things happened",
        Patch(
            _POOL,
            "            self.events.append(stored_event(",
            "            gone = [e for e in self.events[-1:] if type(e) is BlockRemoved]\n"
            "            self.events[len(self.events) - len(gone) :] = []\n"
            "            self.events += gone\n"
            "            self.events.insert(len(self.events) - len(gone), stored_event(",
        ),
        (events.IN_ORDER, events.STORED_WHEN_NEW),
        WITHOUT_EVENTS,
        "a key that is stored again at once is known before it goes",
        also=_ALSO_REPLAYED,
        mixes=("full",),
    ),
    PlantedFault(
        "events-reset-not-announced",
        "A reset takes all keys and tells nobody.",
        "reset not announced",
        Patch(_POOL, "        self._announce(AllBlocksCleared())\n", ""),
        (events.CLEARED_BY_RESET,),
        without("reset"),
        also=_ALSO_REPLAYED,
    ),
    PlantedFault(
        "events-eviction-announced-as-reset",
        "An eviction announces that all is cleared.",
        "one loss is told as the loss of everything",
        Patch(
            _POOL,
            "        for block_id in ids:\n            self._drop_keys(block_id)\n",
            "        for block_id in ids:\n            self._drop_keys(block_id)\n        self._announce(AllBlocksCleared())\n",
        ),
        (events.CLEARED_BY_RESET,),
        without("evict"),
        also=_ALSO_REPLAYED,
    ),
    PlantedFault(
        "events-taken-twice",
        "Taking the events leaves them to be taken again.",
        "drained twice",
        Patch(
            _POOL,
            "        taken, self.events = self.events, []\n        return taken",
            "        return list(self.events)",
        ),
        (events.STORED_WHEN_NEW,),
        WITHOUT_CACHING,
        also=(events.REPLAY_REBUILDS, events.REMOVED_WHEN_GONE),
    ),
    PlantedFault(
        "events-withdrawal-not-announced",
        "Keys that are withdrawn are not announced removed.",
        "a router is told of work that never ran",
        Patch(
            _POOL,
            "            self._unlist(block_id, key)\n\n    # Telling",
            "            told = len(self.events)\n"
            "            self._unlist(block_id, key)\n"
            "            del self.events[told:]\n\n    # Telling",
        ),
        (events.REPLAY_REBUILDS,),
        without("withdraw"),
    ),
)
