"""What a text and a token are, and their bytes."""

import struct
from collections.abc import Sequence

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1


def encode_text(argument: str, text: str) -> bytes:
    """Return `text` in UTF-8. Errors name `argument`.

    TypeError for what is no text, ValueError for surrogates, which are no characters.
    """
    if not isinstance(text, str):
        raise TypeError(f"{argument} is {text!r}: it must be a text")
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{argument} is {text!r}: it must not contain surrogates") from error


def encode_token_ids(token_ids: Sequence[int], argument: str = "token_ids") -> bytes:
    """Return the tokens as little-endian int64.

    ValueError, naming `argument` and the first token that is no such integer.
    """
    try:
        return struct.pack(f"<{len(token_ids)}q", *token_ids)
    except struct.error as error:
        wrong = next(t for t in token_ids if not isinstance(t, int) or not INT64_MIN <= t <= INT64_MAX)
        raise ValueError(
            f"{argument} has {wrong!r}: a token is an integer from -2**63 to 2**63 - 1"
        ) from error
