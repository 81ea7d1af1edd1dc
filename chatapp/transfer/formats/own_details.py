"""Reads what only our own export has of chats and replies: their settings, what models are not
sent, and how replies came about. What is invalid is left out, and texts are shortened.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from chatapp.transfer.records import (
    OwnChat,
    OwnReply,
    SourceCut,
    SourceModelSettings,
    SourceRequest,
)
from chatapp.transfer.values import (
    count,
    identifier,
    line,
    listed,
    mapping,
    moment,
    number,
    storable,
    text,
)
from chatapp.upstream.wire.chat_parameters import LABELS, InvalidParameters, checked
from chatapp.upstream.wire.errors import ErrorKind
from chatapp.upstream.wire.reply import Ending

MAX_MODEL = 200
MAX_MODELS = 20  # with settings of their own, as many as a chat may have
MAX_INSTRUCTIONS = 100_000  # characters of a whole system message
MAX_FAILED = 20
MAX_CHOICE = 2**15 - 1
MAX_COUNT = 1_000_000  # of sources and the like
MAX_KINDS = 50  # of parts that a reply lacks
TOKENS = (  # which the usage of a reply counts
    *("prompt_tokens", "completion_tokens", "total_tokens", "cached_tokens"),
    "reasoning_tokens",
)
MAX_RESULTS, MAX_CATEGORIES = 64, 128  # as those of `upstream.wire.moderation`
_KINDS = frozenset([*ErrorKind, *Ending])


def details_of_chat(
    value: Mapping[str, Any], parameters: Mapping[str, object], left_out: Counter[str]
) -> OwnChat:
    """Read the details of a chat with these parameters."""
    found: dict[str, SourceRequest] = {}
    for record in map(mapping, listed(value.get("request_settings"))):
        if (id := identifier(record.get("id"))) and (one := _request(record, left_out)):
            found.setdefault(id, one)
    return OwnChat(
        is_temporary=value.get("is_temporary") is True,
        archived_at=moment(value.get("archived_at"), left_out),
        requests=found,
        model_settings=_model_settings(value.get("model_settings"), parameters, left_out),
        cuts=tuple(_cut(mapping(one), left_out) for one in listed(value.get("left_out"))),
    )


def parameters_of(value: object, left_out: Counter[str]) -> dict[str, object]:
    """Return parameters, or none if one of them is invalid."""
    try:
        return checked(storable(mapping(value)))
    except InvalidParameters as invalid:
        left_out["parameter"] += len(invalid.errors)
        return {}


def _request(record: dict[str, Any], left_out: Counter[str]) -> SourceRequest | None:
    """Return what replies were asked with; None if the export withholds it."""
    instructions = text(record.get("instructions"))[:MAX_INSTRUCTIONS]
    parameters = parameters_of(record.get("parameters"), left_out)
    return SourceRequest(instructions, parameters) if instructions or parameters else None


def _model_settings(
    value: object, parameters: Mapping[str, object], left_out: Counter[str]
) -> tuple[SourceModelSettings, ...]:
    found = []
    for record in map(mapping, listed(value)[:MAX_MODELS]):
        own: dict[str, object] = {}
        if isinstance(said := record.get("system_prompt"), str):
            own["system_prompt"] = text(said)[:MAX_INSTRUCTIONS]
        given = storable(mapping(record.get("parameters")))
        try:  # None means that the model isn't sent what the chat has
            sent = checked({**parameters, **given})
        except InvalidParameters as invalid:
            left_out["parameter"] += len(invalid.errors)
        else:
            if names := [name for name in LABELS if name in given]:
                own["parameters"] = {name: sent.get(name) for name in names}
        upstream, model = line(record.get("upstream"), 100), line(record.get("model"), MAX_MODEL)
        if own and upstream and model:
            found.append(SourceModelSettings(upstream, model, own))
    return tuple(found)


def _cut(record: dict[str, Any], left_out: Counter[str]) -> SourceCut:
    return SourceCut(
        through=identifier(record.get("through")) or None,
        summary=text(record.get("summary")),
        upstream=line(record.get("upstream"), 100),
        model=line(record.get("model"), MAX_MODEL),
        is_edited=record.get("is_edited") is True,
        is_lifted=record.get("is_lifted") is True,
        created_at=moment(record.get("created_at"), left_out),
    )


def details_of_reply(message: Mapping[str, Any]) -> OwnReply:
    failed = [_failed_model(mapping(one)) for one in listed(message.get("failed_models"))]
    kind = text(mapping(message.get("error")).get("kind"))
    return OwnReply(
        request=identifier(message.get("request_settings")),
        choice=min(count(message.get("choice")) or 0, MAX_CHOICE),
        finish_reason=line(message.get("finish_reason"), 50),
        error_kind=kind if kind in list(ErrorKind) else "",
        failed_models=tuple(failed[:MAX_FAILED]),
        moderation=_moderation(mapping(message.get("moderation"))),
        extras=_extras(message),
        time_to_first_token=seconds(message.get("time_to_first_token")),
        duration=seconds(message.get("duration")),
    )


def seconds(value: object) -> float | None:
    found = number(value)
    return found if found is not None and found >= 0 else None


def _failed_model(record: dict[str, Any]) -> dict[str, object]:
    kind, status = text(record.get("kind")), count(record.get("status"))
    model = line(record.get("model"), MAX_MODEL)
    return {
        "upstream": 0,  # unknown: the export has a key of another installation
        "model": model,
        "name": line(record.get("name"), MAX_MODEL) or model,
        "kind": kind if kind in _KINDS else "",
        "status": status if status in range(100, 600) else None,
    }


def _extras(message: Mapping[str, Any]) -> dict[str, object]:
    """Return what came with a reply besides its sources and images."""
    record = mapping(message.get("extras"))
    counts = {
        name: min(count(record.get(name)) or 0, MAX_COUNT)
        for name in ("source_count", "expired_images")
    }
    kinds = list(mapping(record.get("left_out")).items())[:MAX_KINDS]
    left_out = {line(kind, 100): min(count(one) or 0, MAX_COUNT) for kind, one in kinds}
    return {
        **counts,
        "has_sound": record.get("has_sound") is True,
        "left_out": {kind: one for kind, one in left_out.items() if kind and one},
        "imported_usage": _usage(message.get("usage") or record.get("imported_usage")),
    }


def _usage(value: object) -> dict[str, object]:
    """Return the tokens of a reply where it was written, and whether they are estimated."""
    record = mapping(value)
    provenance = text(record.get("provenance"))
    tokens = {name: found for name in TOKENS if (found := count(record.get(name))) is not None}
    is_known = tokens and provenance in ("reported", "estimated")
    return {"provenance": provenance, **tokens} if is_known else {}


def _moderation(record: dict[str, Any]) -> dict[str, object] | None:
    sides = {name: _moderated_side(mapping(record.get(name))) for name in ("input", "output")}
    return sides if any(sides.values()) else None  # type: ignore[return-value]


def _moderated_side(record: dict[str, Any]) -> dict[str, object] | None:
    if "results" in record:
        results = [_result(mapping(one)) for one in listed(record["results"])[:MAX_RESULTS]]
        return {"model": line(record.get("model"), 100), "results": results}
    failure = {"code": line(record.get("code"), 100), "message": line(record.get("message"), 500)}
    return dict(failure) if any(failure.values()) else None


def _result(record: dict[str, Any]) -> dict[str, object]:
    scores = list(mapping(record.get("scores")).items())[:MAX_CATEGORIES]
    types = list(mapping(record.get("applied_input_types")).items())[:MAX_CATEGORIES]
    return {
        "flagged": record.get("flagged") is True,
        "categories": _names(record.get("categories")),
        "scores": {line(name, 100): one for name, one in scores if number(one) is not None},
        "applied_input_types": {line(name, 100): _names(kinds) for name, kinds in types},
        "model": line(record.get("model"), 100),
    }


def _names(value: object) -> list[str]:
    return [line(one, 100) for one in listed(value)[:MAX_CATEGORIES] if isinstance(one, str)]
