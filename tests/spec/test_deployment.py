"""Which options a deployment may have."""

import pytest

from pagedkv.spec import (
    FullAttentionSpec,
    KVCacheConfig,
    KVCacheGroupSpec,
    MambaSpec,
    UnsupportedError,
    ValuePreconditionError,
)
from pagedkv.spec.clauses import config
from pagedkv.spec.deployment import check_groups, check_limits, check_retention


@pytest.mark.parametrize("watermark", [-0.01, 1.0, 1.5])
def test_a_watermark_is_a_share_of_the_pool(watermark: float) -> None:
    check_limits(8, None, 0.0)
    check_limits(8, 4, 0.99)
    with pytest.raises(ValuePreconditionError, match=f"watermark is {watermark}") as refusal:
        check_limits(8, None, watermark)
    assert refusal.value.clause is config.WATERMARK_IS_A_SHARE


@pytest.mark.parametrize("interval", [-8, 4, 12])
def test_an_interval_is_a_multiple_of_what_hits_are(interval: int) -> None:
    for fitting in (None, 0, 8, 16):
        check_retention(fitting, 8)
    with pytest.raises(ValuePreconditionError, match=f"retention_interval is {interval}, .* 8") as refusal:
        check_retention(interval, 8)
    assert refusal.value.clause is config.RETENTION_BY_HITS


@pytest.mark.parametrize(("block_size", "speculative"), [(2, 2), (2, 3), (1, 1)])
def test_a_block_has_more_tokens_than_there_are_speculative_blocks(block_size: int, speculative: int) -> None:
    def groups(number: int) -> KVCacheConfig:
        specs = (
            FullAttentionSpec(block_size, 1, 1, "float32"),
            MambaSpec(block_size, ((1, 1),), ("float32",), "align", number),
        )
        return KVCacheConfig(4, [], [KVCacheGroupSpec([f"layer{g}"], spec) for g, spec in enumerate(specs)])

    check_groups(groups(block_size - 1), 1, block_size, False)
    with pytest.raises(UnsupportedError, match=f"is {speculative}, block_size {block_size}") as refusal:
        check_groups(groups(speculative), 1, block_size, False)
    assert refusal.value.clause is config.DRAFTS_WITHIN_A_BLOCK
