"""Requests that go on with more prompt."""

from pagedkv.conformance.faults.fault import PlantedFault
from pagedkv.conformance.faults.patching import Patch
from pagedkv.spec.clauses import allocation, hashing

from .elsewhere import without

_NOBODY_GOES_ON = without("continue")

FAULTS = (
    PlantedFault(
        "hashes-of-replaced-tokens-stay",
        "A request that goes on keeps the hashes of units that held a replaced token.",
        "a block is named by a token that was sampled and never computed, and answers for it",
        Patch(
            "spec/requests.py",
            "self._tokens[position:], self.block_hashes[num_kept:] = token_ids, ()",
            "self._tokens[position:] = token_ids",
        ),
        (hashing.NAMES_THE_PREFIX,),
        _NOBODY_GOES_ON,
    ),
    PlantedFault(
        "images-of-the-new-part-left-out",
        "A request that goes on forgets the images of its new part.",
        "a session is answered about another image",
        Patch(
            "spec/requests.py",
            "self._num_prompt_tokens, self.mm_features = end, new_features",
            "self._num_prompt_tokens = end",
        ),
        (hashing.NAMES_THE_PREFIX,),
        _NOBODY_GOES_ON,
    ),
    PlantedFault(
        "embeddings-of-the-new-part-left-out",
        "A request that goes on forgets the embeddings of its new part.",
        "a session is served with the KV of the tokens that stand for embeddings",
        Patch(
            "spec/requests.py",
            "self.prompt_embeds = {**self.prompt_embeds, **new_embeds}",
            "self.prompt_embeds = {**self.prompt_embeds}",
        ),
        (hashing.NAMES_THE_PREFIX,),
        _NOBODY_GOES_ON,
    ),
    PlantedFault(
        "prompt-keeps-its-length",
        "The new part of a request that goes on counts as output.",
        "the end of a session's prompt is looked for where its first turn ended",
        Patch(
            "spec/requests.py",
            "self._num_prompt_tokens, self.mm_features = end, new_features",
            "self.mm_features = new_features",
        ),
        (allocation.PARTIAL_PROMPT_END,),
        _NOBODY_GOES_ON,
    ),
    PlantedFault(
        "longer-prompt-unnamed",
        "A request that has named one prompt's end never names another.",
        "only the first turn of a session can be hit inside a block",
        Patch(
            "reference/kinds.py",
            "self.named_partial.get(request_id, 0) < boundary <= length",
            "boundary <= length and request_id not in self.named_partial",
        ),
        (allocation.PARTIAL_PROMPT_END,),
        _NOBODY_GOES_ON,
        mixes=("full+full+mamba",),
    ),
    PlantedFault(
        "torch-longer-prompt-unnamed",
        "A row that has named one prompt's end never names another.",
        "only the first turn of a session can be hit inside a block",
        Patch("impl/kinds.py", "(named < boundaries) & (lengths", "(named == 0) & (lengths"),
        (allocation.PARTIAL_PROMPT_END,),
        _NOBODY_GOES_ON,
        mixes=("full+full+mamba",),
    ),
)
