"""What a world has to be beyond its fields' bounds, for a manager to be made and prompts to be sent."""

from pagedkv.spec.world import REACHING, STATES, WHOLE, Prompt, World


def reason_against(world: World) -> str:
    """The rule that the world breaks, as ``part does this`` with the values; empty when there is none."""
    sizes = [group.block_size for group in world.groups]
    if any(size % world.unit for size in sizes):
        return f"unit divides every block_size, not {world.unit} and {sizes}"
    modes = sorted({group.kind for group in world.groups if group.kind in STATES})
    if len(modes) > 1:
        return f"mamba groups have one mode, not {modes}"
    states = sorted({group.block_size for group in world.groups if group.kind in STATES})
    if len(states) > 1:
        return f"mamba groups have one block_size, not {states}"
    if modes == ["mamba-none"] and (states[0] < world.max_model_len or world.enable_caching):
        return (
            f"mamba-none has one block for all of the {world.max_model_len} tokens and no caching, not "
            f"{states[0]} and {world.enable_caching}"
        )
    if world.enable_caching and any(group.kind == "cross" for group in world.groups):
        return "caching is off beside cross attention"
    for group in world.groups:
        if (group.reach > 0) != (group.kind in REACHING):
            return (
                f"each of {', '.join(REACHING)} has a reach of at least 1, and no other group has one, "
                f"not {group.kind} and {group.reach}"
            )
        if group.kind == "sink" and group.reach % group.block_size:
            return f"sinks fill whole blocks of {group.block_size} tokens, not {group.reach}"
    if len(world.sinks) >= world.num_blocks:
        return f"sinks leave a block of {world.num_blocks}, not {len(world.sinks)} of them"
    spread = [group for group in world.groups if group.kind not in STATES] if world.num_ranks > 1 else []
    for group in spread:
        if group.block_size % world.num_ranks or group.kind in ("window", "chunk"):
            return (
                f"{world.num_ranks} ranks hold equal parts of blocks, and no window or chunk, not "
                f"{group.kind} and {group.block_size}"
            )
    is_one = len({group.spec() for group in world.groups}) == 1 and world.groups[0].kind in WHOLE
    if world.pcp > 1 and not is_one:
        return f"pcp is 1 but for full attention of one spec alone, not {world.pcp}"
    for group in world.groups:
        if group.speculative >= max(1, group.block_size):
            return f"speculative is less than block_size, not {group.speculative} and {group.block_size}"
    interval = world.options.retention_interval
    if interval is not None and interval % world.scheduler_block_size:
        return f"retention_interval is a multiple of {world.scheduler_block_size}, not {interval}"
    chunks = [g for g, group in enumerate(world.groups) if group.kind == "chunk"]
    if chunks and len(set(sizes)) > 1:
        return f"groups beside a chunk have its block_size, not {sizes}"
    read = [g for g in chunks if g in world.eagle_groups]
    if read:
        return f"no draft model reads a chunk, not group {read[0]}"
    for p, prompt in enumerate(world.prompts):
        reason = _against_prompt(prompt)
        if reason:
            return f"prompt {p} {reason}"
    return ""


def _against_prompt(prompt: Prompt) -> str:
    if prompt.length > len(prompt.tokens):
        return f"has a length of at most its {len(prompt.tokens)} tokens, not {prompt.length}"
    lengths: dict[str, int] = {}
    for image in prompt.images:
        if image.offset + image.length > prompt.length:
            return f"has images within its {prompt.length} tokens, not at {image.offset} for {image.length}"
        if lengths.setdefault(image.identifier, image.length) != image.length:
            return f"has one length for each image identifier, not two for {image.identifier!r}"
    positions = [embed.position for embed in prompt.embeds]
    for i, position in enumerate(positions):
        if position >= prompt.length or position in positions[:i]:
            return f"has one embedding each at positions before {prompt.length}, not another at {position}"
    return ""
