"""Faults of the hit over several kinds."""

from functools import partial

from pagedkv.conformance.proofs.contracts import reconcile

from .fault import planted

_in_reconcile = partial(planted, "reconcile.py")

FAULTS = (
    _in_reconcile(
        "attention-asked-within-candidate",
        "A second kind of attention is asked within what the first had.",
        "length if kind.is_mamba else max_length",
        "length",
        (
            reconcile.common_hit_of_two_kinds_of_attention,
            reconcile.common_hit_of_two_kinds_of_attention_by_units,
        ),
    ),
    _in_reconcile(
        "states-asked-past-candidate",
        "States beyond what attention has are taken for an answer.",
        "length if kind.is_mamba else max_length",
        "max_length",
        (
            reconcile.common_hit_by_units,
            reconcile.common_hit_by_blocks,
        ),
    ),
    _in_reconcile(
        "junction-is-last-answer",
        "The junction is what the last kind answered.",
        "junction = max(junction, length)",
        "junction = length",
        (reconcile.common_hit_by_units,),
    ),
    _in_reconcile(
        "junction-past-candidate",
        "The junction lies beyond what was still asked for.",
        "junction = max(junction, length)",
        "junction = max(junction, found[i].length)",
        (reconcile.common_hit_of_two_kinds_of_attention,),
    ),
    _in_reconcile(
        "junction-not-longer",
        "The common hit itself is reported as lost.",
        "junction if junction > length else 0",
        "junction",
        (reconcile.common_hit_of_states_alone,),
    ),
    _in_reconcile(
        "junction-never",
        "No junction is reported.",
        "junction if junction > length else 0",
        "0",
        (reconcile.common_hit_by_blocks,),
    ),
    _in_reconcile(
        "candidate-not-verified-again",
        "Kinds asked before the last shortening are not asked again.",
        "        if length == candidate:\n            break",
        "        break",
        (reconcile.common_hit_of_states_alone,),
    ),
    _in_reconcile(
        "states-asked-once",
        "States are asked once, as attention is.",
        "if kind.is_mamba or i not in found:",
        "if i not in found:",
        (reconcile.common_hit_of_two_kinds_of_states,),
    ),
    _in_reconcile(
        "common-blocks-not-cut",
        "Attention keeps blocks past the common hit.",
        "found[i].named_by[: blocks_for(length, k.block_size)]",
        "found[i].named_by",
        (reconcile.common_hit_by_units,),
    ),
    _in_reconcile(
        "kind-ignores-eagle",
        "No kind gives up anything for EAGLE.",
        "alignment, kind.drops_for_eagle)",
        "alignment, False)",
        (reconcile.kind_hit_is_its_longest_answer,),
    ),
    _in_reconcile(
        "kind-states-by-blocks",
        "States inside blocks are never looked up.",
        "mamba_hit(kind.cached, max_length, unit, alignment)",
        "mamba_hit(kind.cached, max_length, unit, kind.block_size)",
        (reconcile.kind_hit_is_its_longest_answer,),
    ),
    _in_reconcile(
        "common-starts-short",
        "The longest hit that is allowed is not asked for.",
        "candidate, junction = max_length, 0",
        "candidate, junction = max(0, max_length - 1), 0",
        (reconcile.common_hit_by_blocks,),
    ),
)
