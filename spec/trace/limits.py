"""How large a trace can be: what a reader takes in before it has seen that the file makes sense."""

from typing import NamedTuple, get_args

from pagedkv.spec.event_names import EventName
from pagedkv.spec.outcomes import Outcome
from pagedkv.spec.snapshot import HandOffName, KeyName

MAX_LINE_BYTES = 4 * 2**20
MAX_FILE_BYTES = 256 * 2**20
MAX_TEXT = 10_000
"""Characters of a text that explains: an error's message, the values behind a breach."""
MAX_NAME = 200
"""Characters of any other text."""
_MILLION = 1_000_000
_INT64 = (-(2**63), 2**63 - 1)


class Limit(NamedTuple):
    """Bounds of what a field holds, at any depth."""

    least: int = 0
    most: int = _MILLION
    """Of whole numbers."""
    fewest: int = 0
    longest: int = _MILLION
    """Of lists, by their entries."""
    text: int = MAX_NAME
    """The most characters."""
    pattern: str = ""
    """A regular expression for the whole text; empty for any."""


_LIMITS = {
    "Header.spec_version": Limit(pattern=r"[0-9]{1,3}\.[0-9]{1,3}"),
    "Header.seed": Limit(*_INT64),
    "Header.number": Limit(0, _INT64[1]),
    "Header.steps": Limit(1, _MILLION),
    "Line.step": Limit(1, _MILLION),
    "RecordedBreach.clause": Limit(pattern=r"[A-Za-z]+/[a-z0-9_]+"),
    "RecordedBreach.because": Limit(text=MAX_TEXT),
    "World.groups": Limit(fewest=1, longest=16),
    "World.num_blocks": Limit(1),
    "World.unit": Limit(1),
    "World.prompts": Limit(fewest=1, longest=64),
    "World.max_requests": Limit(1),
    "World.max_step_tokens": Limit(1),
    "World.chunk_limits": Limit(1, longest=64),
    "World.dcp": Limit(1, 1000),
    "World.pcp": Limit(1, 1000),
    "Options.max_drafts": Limit(0, 1000),
    "Options.max_in_flight": Limit(0, 100),
    "Options.max_in_flight_tokens": Limit(1),
    "Options.watermark_percent": Limit(0, 99),
    "Group.block_size": Limit(1),
    "Group.speculative": Limit(0, 1000),
    "Group.variant": Limit(1),
    "Group.reach": Limit(0, 100_000),
    "Prompt.tokens": Limit(*_INT64, fewest=1, longest=100_000),
    "Prompt.length": Limit(1, 100_000),
    "Prompt.images": Limit(longest=1000),
    "Prompt.encoder_tokens": Limit(0, 100_000),
    "Prompt.embeds": Limit(longest=1000),
    "Image.offset": Limit(0, 100_000),
    "Image.length": Limit(1, 100_000),
    "Embed.position": Limit(0, 100_000),
    "Submit.prompt": Limit(0, 63),
    "Continue.prompt": Limit(0, 63),
    "Raised.message": Limit(text=MAX_TEXT),
    "Stored.extras": Limit(text=MAX_TEXT),
}

_ANSWERS = frozenset(cls.__name__ for cls in (*get_args(Outcome), *get_args(EventName), HandOffName, KeyName))


def limit_of(cls: type, field: str) -> Limit:
    """The bounds of a field. What a manager answered may be any number: it is told as it was."""
    known = _LIMITS.get(f"{cls.__name__}.{field}")
    if known is not None:
        return known
    return Limit(*_INT64) if cls.__name__ in _ANSWERS else Limit()
