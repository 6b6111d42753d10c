"""Which prefixes of a request become keys."""

from collections.abc import Sequence

from .reach import Reads
from .sizes import blocks_for, floor_to


def cacheable_length(end: int, num_tokens: int, alignment: int, block_size: int, is_eagle: bool) -> int:
    """Up to which length the full blocks of a group become keys.

    Tokens beyond ``num_tokens`` are drafts and may yet be rejected. ``alignment`` is the grain of
    hits: what ends between two multiples of it could never be asked for, except the one block that
    an EAGLE group has matched and then gives up.
    """
    final = min(end, num_tokens)
    cacheable = floor_to(final, alignment)
    return min(final, cacheable + block_size) if is_eagle and cacheable else cacheable


def is_kept(
    reads: Reads,
    i: int,
    block_size: int,
    reach: int,
    alignment: int,
    is_eagle: bool,
    retention: int | None = None,
    boundaries: Sequence[int] = (),
) -> bool:
    """Whether block ``i`` of a group becomes a key: whether a hit that is meant to be found reads it.

    Hits are found by ``alignment``, with a ``retention`` interval once in so many tokens, and at the
    ``boundaries``, each rounded down to the alignment, where that leaves something. With EAGLE a hit in a
    window reads one block beyond its end as well. An interval is for windows and states; chunks and full
    attention keep all.
    """
    if reads in ("prefix", "chunk") or (reads == "state" and retention is None):
        return True
    spare = int(is_eagle and reads == "window")
    read = 1 if reads == "state" else blocks_for(reach - 1, block_size) + spare
    every = (alignment if retention is None else retention) // block_size
    if every and (read >= every or (i >= spare and (i - spare) % every >= every - read)):
        return True
    lengths = [floor_to(boundary, alignment) for boundary in boundaries]
    ends = [length // block_size + spare for length in lengths if length > 0]
    return any(end - read <= i < end for end in ends)


def keeps_all(
    reads: Reads, block_size: int, reach: int, alignment: int, is_eagle: bool, retention: int | None
) -> bool:
    """Whether every block of a group becomes a key, wherever boundaries are."""
    every = (alignment if retention is None else retention) // block_size
    # What is kept repeats after so many blocks.
    return all(is_kept(reads, i, block_size, reach, alignment, is_eagle, retention) for i in range(every + 1))


def partial_boundary(num_prompt_tokens: int, unit: int, block_size: int) -> int:
    """The prompt's last unit boundary where it lies inside a block, else 0."""
    boundary = floor_to(num_prompt_tokens, unit)
    return boundary if boundary % block_size else 0


def resend_length(num_prompt_tokens: int, alignment: int, margin: int) -> int:
    """The longest prefix that the same prompt could hit, when a draft model gives up ``margin`` tokens.

    The last token is always computed again.
    """
    return floor_to(max(0, num_prompt_tokens - 1 - margin), alignment)
