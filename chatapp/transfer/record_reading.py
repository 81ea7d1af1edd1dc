"""Reads the records of `export_format`, and their fields, from JSON that nobody has checked.

The types of a record say how its fields are read. What is absent or invalid becomes empty, texts
are shortened, and unknown fields are ignored.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import NoneType
from typing import Annotated, Any, Self, get_args, get_origin, get_type_hints

import msgspec

from chatapp.parameters.values import InvalidParameters, clean_parameters
from chatapp.transfer.values import (
    as_list,
    count,
    identifier,
    line,
    mapping,
    moment,
    number,
    storable,
    text,
)
from chatapp.upstream.wire.errors.upstream_error import ErrorKind
from chatapp.upstream.wire.reply import Ending

MAX_INSTRUCTIONS = 100_000  # characters of a whole system message
MAX_FAILED = 20
MAX_CHOICE = 2**15 - 1
MAX_COUNT = 1_000_000  # of sources and the like
MAX_KINDS = 50  # of parts that a reply lacks
MAX_RESULTS, MAX_CATEGORIES = 64, 128  # as those of `upstream.wire.moderation`
_FAILURES = frozenset([*ErrorKind, *Ending])

# Reads a value, and counts what had to be left out.
Reader = Callable[[object, Counter[str]], Any]


class Record(msgspec.Struct, omit_defaults=True):
    @classmethod
    def read(cls, value: object, left_out: Counter[str]) -> Self:
        content = mapping(value)
        fields = {
            name: read(content.get(name), left_out)
            for name, read, is_required in _list_readers(cls)
            if is_required or name in content
        }
        return cls(**fields)


@cache
def _list_readers(kind: type[Record]) -> Sequence[tuple[str, Reader, bool]]:
    """Return the name of each field, its reader, and whether it has no default."""
    hints = get_type_hints(kind, include_extras=True)
    fields = msgspec.structs.fields(kind)
    return [(field.name, _find_reader(hints[field.name]), field.required) for field in fields]


def _find_reader(hint: Any) -> Reader:
    arguments = get_args(hint)
    if get_origin(hint) is Annotated:
        return hint.__metadata__[0]  # type: ignore[no-any-return]
    if hint in _READERS:
        return _READERS[hint]
    if NoneType in arguments:
        read = _find_reader(arguments[0])
        return lambda value, left_out: None if value is None else read(value, left_out)
    if get_origin(hint) is list:
        read_item = _find_reader(arguments[0])
        return lambda value, left_out: [read_item(item, left_out) for item in as_list(value)]
    return hint.read  # type: ignore[no-any-return]


def _read_seconds(value: object, _: Counter[str]) -> float | None:
    duration = number(value)
    return duration if duration is not None and duration >= 0 else None


# Of types that do not name a reader of their own
_READERS: Mapping[object, Reader] = {
    str: lambda value, _: text(value),
    bool: lambda value, _: value is True,
    int: lambda value, _: count(value) or 0,
    int | None: lambda value, _: count(value),
    float | None: _read_seconds,
    dict[str, object]: lambda value, _: storable(mapping(value)),
}


def _read_moment(value: object, left_out: Counter[str]) -> str:
    at = moment(value, left_out)
    return at.isoformat() if at else ""


def _read_parameters(value: object, left_out: Counter[str]) -> dict[str, object]:
    """Return request parameters, or none if one of them is invalid."""
    try:
        return clean_parameters(storable(mapping(value)))
    except InvalidParameters as invalid:
        left_out["parameter"] += len(invalid.errors)
        return {}


def _read_failed_models(value: object, _: Counter[str]) -> list[dict[str, object]]:
    return [_read_failed_model(mapping(record)) for record in as_list(value)[:MAX_FAILED]]


def _read_failed_model(record: Mapping[str, Any]) -> dict[str, object]:
    kind, status = text(record.get("kind")), count(record.get("status"))
    model = line(record.get("model"), 200)
    return {
        "upstream": 0,  # unknown: the export has a key of another installation
        "model": model,
        "name": line(record.get("name"), 200) or model,
        "kind": kind if kind in _FAILURES else "",
        "status": status if status in range(100, 600) else None,
    }


def _read_moderation(value: object, _: Counter[str]) -> dict[str, object] | None:
    record = mapping(value)
    sides = {name: _read_moderated_side(mapping(record.get(name))) for name in ("input", "output")}
    return dict(sides) if any(sides.values()) else None


def _read_moderated_side(record: Mapping[str, Any]) -> dict[str, object] | None:
    if "results" in record:
        results = map(mapping, as_list(record["results"])[:MAX_RESULTS])
        return {
            "model": line(record.get("model"), 100),
            "results": [_read_moderation_result(result) for result in results],
        }
    failure = {"code": line(record.get("code"), 100), "message": line(record.get("message"), 500)}
    return dict(failure) if any(failure.values()) else None


def _read_moderation_result(record: Mapping[str, Any]) -> dict[str, object]:
    scores = list(mapping(record.get("scores")).items())[:MAX_CATEGORIES]
    types = list(mapping(record.get("applied_input_types")).items())[:MAX_CATEGORIES]
    return {
        "flagged": record.get("flagged") is True,
        "categories": _read_names(record.get("categories")),
        "scores": {line(name, 100): score for name, score in scores if number(score) is not None},
        "applied_input_types": {line(name, 100): _read_names(kinds) for name, kinds in types},
        "model": line(record.get("model"), 100),
    }


def _read_names(value: object) -> list[str]:
    return [line(name, 100) for name in as_list(value)[:MAX_CATEGORIES] if isinstance(name, str)]


def _read_extras(value: object, _: Counter[str]) -> dict[str, Any]:
    """Return what came with a reply, but for its images, which are found among the files."""
    record = mapping(value)
    pairs = [[*as_list(pair), "", ""][:2] for pair in as_list(record.get("sources"))]
    kinds = list(mapping(record.get("left_out")).items())[:MAX_KINDS]
    counts = {line(kind, 100): _bound_count(part_count) for kind, part_count in kinds}
    return {
        "sources": [[text(url), text(title)] for url, title in pairs],
        "source_count": _bound_count(record.get("source_count")),
        "expired_images": _bound_count(record.get("expired_images")),
        "has_sound": record.get("has_sound") is True,
        "left_out": {
            kind: part_count for kind, part_count in counts.items() if kind and part_count
        },
        "imported_usage": storable(mapping(record.get("imported_usage"))),
    }


def _bound_count(value: object, limit: int = MAX_COUNT) -> int:
    return min(count(value) or 0, limit)


Id = Annotated[str, lambda value, _: identifier(value)]
Line = Annotated[str, lambda value, _: line(value)]
Instructions = Annotated[str, lambda value, _: text(value)[:MAX_INSTRUCTIONS]]
Moment = Annotated[str, _read_moment]  # ISO 8601
Choice = Annotated[int, lambda value, _: _bound_count(value, MAX_CHOICE)]
Parameters = Annotated[dict[str, object], _read_parameters]
# JSON in the form in which the database has it
FailedModels = Annotated[list[dict[str, Any]], _read_failed_models]
Moderation = Annotated[dict[str, Any] | None, _read_moderation]
Extras = Annotated[dict[str, Any], _read_extras]
