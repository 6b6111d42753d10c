"""Worlds, moves and outcomes as JSON values, and strictly back.

The form follows the classes: an object has the fields of its class and no other, a tuple is a list. Moves,
outcomes and events also carry their ``kind``: the class's name in lower case with underscores, such as
``end_pass``. A field that has a default may be left out, as in traces that are older than the field.
Reading makes no object of any other class, whatever the content says.
"""

import dataclasses
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from operator import index
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

from pagedkv.spec.event_names import EventName
from pagedkv.spec.moves import Move
from pagedkv.spec.outcomes import Outcome
from pagedkv.spec.world import World

from .limits import Limit, limit_of
from .worlds import reason_against

T = TypeVar("T")


class BadContent(ValueError):
    """A value that is not what its place asks for: ``place is value, and it has to be rule``."""

    def __init__(self, place: str, content: object, rule: str) -> None:
        shown = content if isinstance(content, _Told) else told(content)
        super().__init__(f"`{place}` is {shown}, and it has to be {rule}")


class _Told(str):
    """What stands at a place, in words."""


def kind_name(cls: type) -> str:
    """How traces write a class of moves or outcomes: ``EndPass`` is ``end_pass``."""
    return re.sub("(?<!^)(?=[A-Z])", "_", cls.__name__).lower()


_KINDS: Mapping[type, str] = {
    cls: kind_name(cls) for cls in (*get_args(Move), *get_args(Outcome), *get_args(EventName))
}


def world_to_json(world: World) -> dict[str, Any]:
    """The world as an object with all its fields."""
    return _object_of(world)


def world_from_json(content: object) -> World:
    """The world back. Raises ``BadContent``, also for one that no manager can be made for."""
    world = from_json(content, World, "world")
    check_world(world)
    return world


def check_world(world: World) -> None:
    """Raise ``BadContent`` where no manager can be made for the world, or no request for its prompts."""
    reason = reason_against(world)
    if reason:
        raise BadContent("world", _Told("contradictory"), f"one whose {reason}")


def move_to_json(move: Move) -> dict[str, Any]:
    """The move as an object with its kind and fields."""
    return _object_of(move)


def move_from_json(content: object) -> Move:
    """The move back. Raises ``BadContent``."""
    return cast(Move, _decode(content, Move, Limit(), "move"))


def outcome_to_json(outcome: Outcome) -> dict[str, Any]:
    """The outcome as an object with its kind and fields.

    Raises ``BadContent`` where a manager has answered something that is no such value.
    """
    return _object_of(outcome)


def outcome_from_json(content: object) -> Outcome:
    """The outcome back. Raises ``BadContent``."""
    return cast(Outcome, _decode(content, Outcome, Limit(), "outcome"))


def to_json(value: Any, place: str = "") -> Any:
    """A value of these classes as JSON; numpy numbers become plain ones. Raises ``BadContent``."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if _is_record(type(value)):
        kind = {"kind": _KINDS[type(value)]} if type(value) in _KINDS else {}
        names = getattr(value, "_fields" if isinstance(value, tuple) else "__dataclass_fields__")
        return kind | {name: to_json(getattr(value, name), name) for name in names}
    if isinstance(value, tuple):
        return [to_json(entry, place) for entry in value]
    try:
        return index(value)
    except TypeError:
        raise BadContent(place, value, "made of whole numbers, texts, truth values and tuples") from None


def from_json(content: object, cls: type[T], place: str) -> T:
    """An object of a class with declared fields; errors name it ``place``. Raises ``BadContent``."""
    return cast(T, _decode(content, cls, Limit(), place))


def _object_of(value: object) -> dict[str, Any]:
    return cast(dict[str, Any], to_json(value))


_fields = lru_cache(maxsize=None)(get_type_hints)


@cache
def _optional(cls: Any) -> frozenset[str]:
    """The fields that have a default."""
    if issubclass(cls, tuple):
        return frozenset(cls._field_defaults)
    return frozenset(
        field.name
        for field in dataclasses.fields(cls)
        if field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
    )


def _is_record(declared: Any) -> bool:
    return hasattr(declared, "__dataclass_fields__") or hasattr(declared, "_fields")


def _decode(content: object, declared: Any, limit: Limit, place: str) -> Any:
    origin = get_origin(declared)
    if origin is UnionType:
        return _decode_one_of(content, get_args(declared), limit, place)
    if origin is Literal:
        options = get_args(declared)
        if content not in options:
            raise BadContent(place, content, "one of " + ", ".join(map(told, options)))
        return content
    if origin is tuple:
        return _decode_list(content, get_args(declared), limit, place)
    if origin is Sequence:
        return _decode_list(content, (*get_args(declared), ...), limit, place)
    if _is_record(declared):
        return _decode_object(content, declared, place)
    if type(content) is not declared:
        raise BadContent(place, content, _rule(declared, limit))
    if isinstance(content, str):
        is_text = len(content) <= limit.text and not re.search("[\ud800-\udfff]", content)
        if not is_text or (limit.pattern and not re.fullmatch(limit.pattern, content)):
            raise BadContent(place, content, _rule(str, limit))
    elif declared is int and not limit.least <= cast(int, content) <= limit.most:
        raise BadContent(place, content, _rule(int, limit))
    return content


def _decode_one_of(content: object, options: Sequence[Any], limit: Limit, place: str) -> Any:
    if content is None and NoneType in options:
        return None
    options = [option for option in options if option is not NoneType]
    if len(options) > 1 and all(option in _KINDS for option in options):
        kind = content.get("kind") if isinstance(content, dict) else content
        known = {_KINDS[option]: option for option in options}
        if not isinstance(kind, str) or kind not in known:
            raise BadContent(f"{place}.kind", kind, "one of " + ", ".join(known))
        return _decode_object(content, known[kind], place)
    # What is left are truth values beside lists, which JSON tells apart.
    if bool in options:
        is_truth = isinstance(content, bool)
        options = [option for option in options if (option is bool) == is_truth]
    (option,) = options
    return _decode(content, option, limit, place)


def _decode_list(content: object, entries: tuple[Any, ...], limit: Limit, place: str) -> tuple[Any, ...]:
    fewest, longest = limit.fewest, limit.longest
    is_open = entries[-1] is Ellipsis
    if not is_open:
        fewest = longest = len(entries)
    if not isinstance(content, list) or not fewest <= len(content) <= longest:
        count = f"{fewest}" if fewest == longest else f"{fewest} to {longest}"
        raise BadContent(place, content, f"a list of {count} entries")
    return tuple(
        _decode(entry, entries[0 if is_open else i], limit, f"{place}[{i}]")
        for i, entry in enumerate(content)
    )


def _decode_object(content: object, cls: type, place: str) -> Any:
    fields = _fields(cls)
    names = [*fields, "kind"] if cls in _KINDS else [*fields]
    if not isinstance(content, dict):
        raise BadContent(place, content, "an object with " + ", ".join(names))
    unknown, lacking = set(content) - set(names), set(names) - set(content) - _optional(cls)
    if unknown or lacking:
        fault = f"with the unknown field {told(min(unknown))}" if unknown else f"without {min(lacking)}"
        rule = "one with " + ", ".join(names) if names else "one without fields"
        raise BadContent(place, _Told(f"an object {fault}"), rule)
    if cls in _KINDS and content["kind"] != _KINDS[cls]:
        raise BadContent(f"{place}.kind", content["kind"], _KINDS[cls])
    return cls(
        **{
            name: _decode(content[name], declared, limit_of(cls, name), f"{place}.{name}")
            for name, declared in fields.items()
            if name in content
        }
    )


def _rule(declared: type, limit: Limit) -> str:
    if declared is int:
        return f"a whole number from {limit.least} to {limit.most}"
    if declared is bool:
        return "true or false"
    form = f" that is {limit.pattern}" if limit.pattern else " without surrogates"
    return f"a text of at most {limit.text} characters{form}"


def told(content: object) -> str:
    """A value of a file in a few characters, all of them printable."""
    match content:
        case None | bool() | int() | str():
            text = json.dumps(content[:60] if isinstance(content, str) else content)
            return text if len(text) <= 70 else text[:70] + "..."
        case list() | tuple():
            return f"a list of {len(content)}"
        case dict():
            return "an object"
    return f"a {type(content).__name__}"
