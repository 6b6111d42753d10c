"""What a failed load in a step has spoilt, as an engine can know it: by blocks."""

from collections.abc import Mapping, Sequence

from pagedkv.spec.snapshot import Rows

Holder = str | int
"""A request, or one that has gone: by its place among those whose blocks still wait."""


def spoilt(
    sizes: Sequence[int],
    tables: Mapping[Holder, Rows],
    copies: Sequence[tuple[int, int]],
    failed: Mapping[Holder, int],
) -> tuple[frozenset[int], frozenset[Holder]]:
    """Blocks whose content is not what it was taken for, and whose tables they are in.

    ``failed`` says up to where the tables of failed loads are right, in tokens. Whoever has a spoilt block
    has computed all that follows it from that, and a copy of it is spoilt too. Blocks of other content may
    be among the answer: those of other groups behind a spoilt one.
    """
    right = dict(failed)
    while True:
        blocks = {
            block
            for holder, num_tokens in right.items()
            for row, size in zip(tables[holder], sizes, strict=True)
            for block in row[num_tokens // size :]
            if block
        }
        while any(src in blocks and dst not in blocks for src, dst in copies):
            blocks.update(dst for src, dst in copies if src in blocks)
        before = right.copy()
        for holder, rows in tables.items():
            for row, size in zip(rows, sizes, strict=True):
                first = next((i * size for i, block in enumerate(row) if block in blocks), None)
                if first is not None:
                    right[holder] = min(first, right.get(holder, first))
        if right == before:
            return frozenset(blocks), frozenset(right)
