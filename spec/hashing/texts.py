"""What a text and a token are, and their bytes."""

import struct
from collections.abc import Sequence

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1


def encode_text(argument: str, text: str) -> bytes:
    """Return `text` in UTF-8. ValueError, naming `argument`, for surrogates, which are no characters."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{argument} is {text!r}: it must not contain surrogates") from error


def encode_token_ids(token_ids: Sequence[int]) -> bytes:
    """Return the tokens as little-endian int64. ValueError, naming the first that is no such integer."""
    try:
        return struct.pack(f"<{len(token_ids)}q", *token_ids)
    except struct.error as error:
        wrong = next(t for t in token_ids if not isinstance(t, int) or not INT64_MIN <= t <= INT64_MAX)
        raise ValueError(
            f"token_ids has {wrong!r}: a token is an integer from -2**63 to 2**63 - 1"
        ) from error
