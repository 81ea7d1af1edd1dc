"""Reads what only our own export has of chats and replies: their settings, what models are not
sent, and how replies came about. What is invalid is left out, and texts are shortened.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from chatapp.parameters.table import PARAMETERS
from chatapp.parameters.values import InvalidParameters, clean_parameters
from chatapp.transfer.records import (
    OwnChat,
    OwnReply,
    SourceCut,
    SourceModelSettings,
    SourceRequest,
)
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
    requests: dict[str, SourceRequest] = {}
    for record in map(mapping, as_list(value.get("request_settings"))):
        if (id := identifier(record.get("id"))) and (request := _request(record, left_out)):
            requests.setdefault(id, request)
    return OwnChat(
        is_temporary=value.get("is_temporary") is True,
        archived_at=moment(value.get("archived_at"), left_out),
        requests=requests,
        model_settings=_model_settings(value.get("model_settings"), parameters, left_out),
        cuts=tuple(_read_cut(mapping(cut), left_out) for cut in as_list(value.get("left_out"))),
    )


def read_parameters(value: object, left_out: Counter[str]) -> dict[str, object]:
    """Return parameters, or none if one of them is invalid."""
    try:
        return clean_parameters(storable(mapping(value)))
    except InvalidParameters as invalid:
        left_out["parameter"] += len(invalid.errors)
        return {}


def _request(record: dict[str, Any], left_out: Counter[str]) -> SourceRequest | None:
    """Return what replies were asked with; None if the export withholds it."""
    instructions = text(record.get("instructions"))[:MAX_INSTRUCTIONS]
    parameters = read_parameters(record.get("parameters"), left_out)
    return SourceRequest(instructions, parameters) if instructions or parameters else None


def _model_settings(
    value: object, parameters: Mapping[str, object], left_out: Counter[str]
) -> tuple[SourceModelSettings, ...]:
    model_settings = []
    for record in map(mapping, as_list(value)[:MAX_MODELS]):
        own: dict[str, object] = {}
        if isinstance(system_prompt := record.get("system_prompt"), str):
            own["system_prompt"] = text(system_prompt)[:MAX_INSTRUCTIONS]
        own_parameters = storable(mapping(record.get("parameters")))
        try:  # None means that the model isn't sent what the chat has
            all_parameters = clean_parameters({**parameters, **own_parameters})
        except InvalidParameters as invalid:
            left_out["parameter"] += len(invalid.errors)
        else:
            if names := [name for name in PARAMETERS if name in own_parameters]:
                own["parameters"] = {name: all_parameters.get(name) for name in names}
        upstream, model = line(record.get("upstream"), 100), line(record.get("model"), MAX_MODEL)
        if own and upstream and model:
            model_settings.append(SourceModelSettings(upstream, model, own))
    return tuple(model_settings)


def _read_cut(record: dict[str, Any], left_out: Counter[str]) -> SourceCut:
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
    failed = [
        _failed_model(mapping(failed_model))
        for failed_model in as_list(message.get("failed_models"))
    ]
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
    duration = number(value)
    return duration if duration is not None and duration >= 0 else None


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
    left_out = {
        line(kind, 100): min(count(part_count) or 0, MAX_COUNT) for kind, part_count in kinds
    }
    return {
        **counts,
        "has_sound": record.get("has_sound") is True,
        "left_out": {
            kind: part_count for kind, part_count in left_out.items() if kind and part_count
        },
        "imported_usage": _usage(message.get("usage") or record.get("imported_usage")),
    }


def _usage(value: object) -> dict[str, object]:
    """Return the tokens of a reply where it was written, and whether they are estimated."""
    record = mapping(value)
    provenance = text(record.get("provenance"))
    tokens = {
        name: token_count for name in TOKENS if (token_count := count(record.get(name))) is not None
    }
    is_known = tokens and provenance in ("reported", "estimated")
    return {"provenance": provenance, **tokens} if is_known else {}


def _moderation(record: dict[str, Any]) -> dict[str, object] | None:
    sides = {name: _moderated_side(mapping(record.get(name))) for name in ("input", "output")}
    return sides if any(sides.values()) else None  # type: ignore[return-value]


def _moderated_side(record: dict[str, Any]) -> dict[str, object] | None:
    if "results" in record:
        results = [
            _result(mapping(moderation_result))
            for moderation_result in as_list(record["results"])[:MAX_RESULTS]
        ]
        return {"model": line(record.get("model"), 100), "results": results}
    failure = {"code": line(record.get("code"), 100), "message": line(record.get("message"), 500)}
    return dict(failure) if any(failure.values()) else None


def _result(record: dict[str, Any]) -> dict[str, object]:
    scores = list(mapping(record.get("scores")).items())[:MAX_CATEGORIES]
    types = list(mapping(record.get("applied_input_types")).items())[:MAX_CATEGORIES]
    return {
        "flagged": record.get("flagged") is True,
        "categories": _names(record.get("categories")),
        "scores": {line(name, 100): score for name, score in scores if number(score) is not None},
        "applied_input_types": {line(name, 100): _names(kinds) for name, kinds in types},
        "model": line(record.get("model"), 100),
    }


def _names(value: object) -> list[str]:
    return [line(name, 100) for name in as_list(value)[:MAX_CATEGORIES] if isinstance(name, str)]
