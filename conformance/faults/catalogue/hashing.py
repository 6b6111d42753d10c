"""Names of prefixes."""

from pagedkv.conformance.faults.fault import PlantedFault, Unrelated
from pagedkv.conformance.faults.patching import Patch
from pagedkv.spec import World
from pagedkv.spec.clauses import events, hashing


def _has_plain_prompts(world: World) -> bool:
    return not any(prompt.salt or prompt.lora or prompt.images or prompt.embeds for prompt in world.prompts)


def _has_one_prompt_without_output(world: World) -> bool:
    return len(world.prompts) == 1


_PLAIN = Unrelated(is_taken=_has_plain_prompts)

FAULTS = (
    PlantedFault(
        "salt-left-out-of-the-first-unit",
        "The first unit is hashed without the salt.",
        "tenants with different salts share a cache",
        Patch(
            "spec/hashing/extra_keys.py",
            "if request.cache_salt is not None and start == 0:",
            "if request.cache_salt is not None and start > 0:",
        ),
        (hashing.NAMES_THE_PREFIX,),
        _PLAIN,
    ),
    PlantedFault(
        "adapter-hashed-as-salt",
        "The name of an adapter is hashed as if it were a salt.",
        "one kind of extra key passes for another",
        Patch(
            "spec/hashing/extra_keys.py",
            "keys.append(LoraName(request.lora_name))",
            "keys.append(CacheSalt(request.lora_name))",
        ),
        (hashing.NAMES_THE_PREFIX,),
        _PLAIN,
    ),
    PlantedFault(
        "adapter-left-out",
        "Units are hashed without the adapter.",
        "a request is served with the KV of another adapter",
        Patch(
            "spec/hashing/extra_keys.py", "if request.lora_name is not None:", "if request.lora_name == '':"
        ),
        (hashing.NAMES_THE_PREFIX,),
        _PLAIN,
    ),
    PlantedFault(
        "image-content-left-out",
        "Images are hashed by their places alone.",
        "a request is answered about another image",
        Patch(
            "spec/hashing/extra_keys.py",
            "MultiModalKey(identifier, offset) for",
            "MultiModalKey('', offset) for",
        ),
        (hashing.NAMES_THE_PREFIX,),
        _PLAIN,
    ),
    PlantedFault(
        "image-place-left-out",
        "Images are hashed by their contents alone.",
        "an image at another place of the same tokens is taken for the same",
        Patch(
            "spec/hashing/extra_keys.py",
            "MultiModalKey(identifier, offset) for",
            "MultiModalKey(identifier, 0) for",
        ),
        (hashing.NAMES_THE_PREFIX, events.TELLS_THE_BLOCK),
        _PLAIN,
        "an announcement tells the place that the hash leaves out",
        mixes=("full+mamba+mamba",),
    ),
    PlantedFault(
        "images-left-out-of-output-units",
        "A unit that output fills is hashed without the images in it.",
        "a hash completed by output differs from a fresh one",
        Patch(
            "spec/hashing/extra_keys.py",
            "if item.offset < end and start < item.offset + item.length",
            "if item.offset < end <= request.num_prompt_tokens and start < item.offset + item.length",
        ),
        (hashing.NAMES_THE_PREFIX,),
        _PLAIN,
    ),
    PlantedFault(
        "embedding-content-left-out",
        "Embeddings are hashed by their places alone.",
        "a request is served with the KV of another embedding",
        Patch(
            "spec/hashing/extra_keys.py",
            "EmbeddingKey(embeds[at], at - start) for",
            "EmbeddingKey(b'', at - start) for",
        ),
        (hashing.NAMES_THE_PREFIX,),
        _PLAIN,
    ),
    PlantedFault(
        "embedding-place-left-out",
        "Embeddings are hashed by their contents alone.",
        "an embedding at another place of the same tokens is taken for the same",
        Patch(
            "spec/hashing/extra_keys.py",
            "EmbeddingKey(embeds[at], at - start) for",
            "EmbeddingKey(embeds[at], 0) for",
        ),
        (hashing.NAMES_THE_PREFIX,),
        _PLAIN,
        mixes=("full+mamba+mamba",),
    ),
    PlantedFault(
        "embedding-hashed-as-image",
        "An embedding is hashed as if it were an image with its bytes as identifier.",
        "one kind of extra key passes for another",
        Patch(
            "spec/hashing/extra_keys.py",
            "EmbeddingKey(embeds[at], at - start) for",
            "MultiModalKey(embeds[at].decode(), at - start) for",
        ),
        (hashing.NAMES_THE_PREFIX,),
        _PLAIN,
    ),
    PlantedFault(
        "last-embedding-left-out",
        "An embedding at the last position of a unit is hashed with no unit.",
        "an end that is taken to be inside",
        Patch(
            "spec/hashing/extra_keys.py",
            "for at in range(start, end) if",
            "for at in range(start, end - 1) if",
        ),
        (hashing.NAMES_THE_PREFIX,),
        _PLAIN,
    ),
    PlantedFault(
        "parent-left-out",
        "A unit's hash does not depend on the units before it.",
        "equal units after different prefixes are taken for the same",
        Patch(
            "spec/hashing/units.py",
            "hash_fn, parent, token_ids[start:end]",
            "hash_fn, None, token_ids[start:end]",
        ),
        (hashing.NAMES_THE_PREFIX,),
        "every run has prompts of several units",
    ),
)
