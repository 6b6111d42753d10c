"""What a lookup answers, a cut hit, and that neither changes anything."""

from collections.abc import Iterator

from pagedkv.spec.clauses import allocation, hit, index
from pagedkv.spec.moves import Admit, CommonPrefix, Truncate
from pagedkv.spec.outcomes import Answered, Found, Viewed, Waits
from pagedkv.spec.world import WHOLE

from .edge import Edge
from .law import law
from .shape import covering


@law(hit.ALIGNED, Admit, Truncate)
def aligned(edge: Edge) -> Iterator[str]:
    """A hit is a multiple of the alignment."""
    if edge.found and edge.found.hit % edge.shape.alignment:
        yield f"the hit is {edge.found.hit}, the alignment {edge.shape.alignment}"


@law(hit.BLOCKS_COVER_IT, Admit, Truncate)
def blocks_cover_it(edge: Edge) -> Iterator[str]:
    """A hit's rows have the blocks that cover it, as far as the next step reads them."""
    found, lookup, shape = edge.found, edge.lookup, edge.shape
    if found is None or lookup is None:
        return
    for g, length in enumerate(lookup.lengths(found.hit)):
        row, width = found.rows[g], covering(length, shape.sizes[g])
        filled = [i for i, block in enumerate(row) if block]
        wanted = shape.read_entries(g, length)
        if len(row) != width or filled != wanted:
            yield f"{length} tokens of group {g} are in {list(row)}"


@law(hit.LONGEST, Admit, Truncate)
def longest(edge: Edge) -> Iterator[str]:
    """Without a draft model the hit is the longest prefix that every kind answers."""
    yield from _other_hit(edge, is_eagle=False)


@law(hit.EAGLE_DROPS_ONE, Admit, Truncate)
def eagle_drops_one(edge: Edge) -> Iterator[str]:
    """With one it is the longest that they answer when attention has given up its last part."""
    yield from _other_hit(edge, is_eagle=True)


def _other_hit(edge: Edge, is_eagle: bool) -> Iterator[str]:
    found, lookup, shape = edge.found, edge.lookup, edge.shape
    drops = any(not shape.is_state[g] for g in shape.eagle)
    if found and lookup and drops == is_eagle and not lookup.is_divergent and found.hit != lookup.common:
        yield f"the hit is {found.hit}, not {lookup.common}; kinds {shape.kinds} alone {lookup.alone}"


@law(hit.JUNCTION, Admit, Truncate)
def junction(edge: Edge) -> Iterator[str]:
    """The junction is the longest that a kind answered, where the hit is shorter."""
    found, lookup = edge.found, edge.lookup
    if found and lookup and not lookup.is_divergent and found.junction != lookup.junction:
        yield f"the junction is {found.junction}, not {lookup.junction}; kinds alone {lookup.alone}"


@law(hit.DIVERGENT, Admit, Truncate)
def divergent(edge: Edge) -> Iterator[str]:
    """A connector is told attention's hit and whether states lag, unless one is deeper."""
    found, lookup = edge.found, edge.lookup
    if found is None or lookup is None:
        return
    if lookup.is_divergent:
        top = lookup.alone[0]
        expected = (top, 0, min(lookup.alone) < top)
        if (found.hit, found.junction, found.diverged) != expected:
            yield f"a connector is answered {found}, not {expected}; kinds alone {lookup.alone}"
    elif found.diverged:
        yield f"{edge.move} is answered {found} with groups that lag; kinds alone {lookup.alone}"


@law(index.LONGEST_HOLDER_ANSWERS, Admit, Truncate)
def longest_holder_answers(edge: Edge) -> Iterator[str]:
    """Each block of a hit is the longest holder of a key of the prefix that covers the hit there."""
    found, lookup, shape = edge.found, edge.lookup, edge.shape
    if found is None or lookup is None:
        return
    listed = edge.before.index
    for g, length in enumerate(lookup.lengths(found.hit)):
        size = shape.sizes[g]
        for i, block in enumerate(found.rows[g]):
            if block:
                least = min(length, (i + 1) * size)
                most = least if shape.is_state[g] else min((i + 1) * size, lookup.longest)
                names = [lookup.key(g, n) for n in range(least, most + 1, edge.world.unit)]
                first = {listed[key][0] for key in names if key in listed}
                if block not in first:
                    yield f"block {block} answers for group {g} at {least}, the longest holders are {first}"


@law(hit.OFF, Admit, Truncate)
def off(edge: Edge) -> Iterator[str]:
    """Without caching there is no hit, nor for a request that must not read the cache."""
    is_skipped = isinstance(edge.move, Admit) and edge.move.lookup == "skip"
    if edge.found and (is_skipped or not edge.world.enable_caching):
        nothing = Found(0, ((),) * len(edge.shape.sizes))
        if edge.found != nothing:
            yield f"{'the cache is not to be read' if is_skipped else 'caching is off'}: {edge.found}"


@law(hit.READ_ONLY, Admit, Truncate, CommonPrefix)
def read_only(edge: Edge) -> Iterator[str]:
    """Looking changes nothing."""
    if not isinstance(edge.move, Admit) or isinstance(edge.outcome, Waits):
        for part, old, new in edge.changes():
            yield f"{edge.move} changed {part} from {old} to {new}"


@law(hit.TRUNCATION, Truncate)
def truncation(edge: Edge) -> Iterator[str]:
    """A hit that attention covers up to the cut loses its blocks from there on; other cuts are refused."""
    if not isinstance(edge.move, Truncate) or not isinstance(edge.outcome, Viewed):
        return
    n, sizes, rows = edge.move.num_tokens, edge.shape.sizes, edge.outcome.found.rows
    may = n >= 0 and all(
        n % size == 0 and (is_state or n <= len(row) * size)
        for size, is_state, row in zip(sizes, edge.shape.is_state, rows, strict=True)
    )
    expected = tuple(row[: n // size] for size, row in zip(sizes, rows, strict=True)) if may else None
    if edge.outcome.rows != expected:
        yield f"{rows} cut at {n} is {edge.outcome.rows}, not {expected}"


@law(allocation.COMMON_PREFIX, CommonPrefix)
def common_prefix(edge: Edge) -> Iterator[str]:
    """Common prefix blocks are the leading ones of full attention that are in every table."""
    if not isinstance(edge.move, CommonPrefix) or not isinstance(edge.outcome, Answered):
        return
    tables = edge.before.tables
    expected = []
    for g, row in enumerate(tables.get(edge.move.request, ((),) * len(edge.shape.sizes))):
        shared = 0
        if edge.shape.reads[g] in WHOLE:
            while row[shared:] and row[shared] and all(row[shared] in r[g] for r in tables.values()):
                shared += 1
        expected.append(shared)
    if edge.outcome.value != tuple(expected):
        yield f"{edge.outcome.value} common blocks, not {expected}: the tables are {dict(tables)}"
