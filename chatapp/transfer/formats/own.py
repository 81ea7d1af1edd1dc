"""Reads chats of our own export, JSON Lines, alone or in an archive that also has the files.

`export_format` has its records. A chat and its replies pass them on as `own`, since they have more
than those of other apps.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, get_args

from msgspec.structs import replace

from chatapp.parameters.table import PARAMETERS
from chatapp.parameters.values import InvalidParameters, clean_parameters
from chatapp.transfer.export_format import (
    NO_MESSAGE,
    VERSION,
    ChatRecord,
    FileRecord,
    MessageRecord,
    ModelSettingsRecord,
    PresetRecord,
    RoundRecord,
)
from chatapp.transfer.formats.parts import (
    DAMAGED_MESSAGE,
    MADE_UP,
    NO_ROLE,
    Export,
    Unusable,
    build_file,
    chat,
    link,
    read_feedback,
)
from chatapp.transfer.records import Format, RunState, SourceChat, SourceFile
from chatapp.transfer.tree import Kind, NextRound, Node, Part, Reasoning, Text, ToolCall, ToolResult
from chatapp.transfer.values import parse_moment
from chatapp.upstream.wire.reply import Ending

MAX_MODELS = 20  # with settings of their own, as many as a chat may have
NOT_EXPORTED = (
    "This export was made without files. Export the chat again with its files, or import your"
    " personal archive."
)
NEWER = "It was exported by a newer version of this app. Update this app, then import it again."
EXPIRED = "The file had been deleted by the retention period."
PRESET_KEPT = "Its preset isn't imported. Its instructions and parameters are the chat's own now."
PRESET_MISSING = "Its preset isn't imported, and its instructions aren't in the export."
_STATES: Mapping[str, RunState] = {state: state for state in get_args(RunState)}


def is_chat(value: dict[str, Any]) -> bool:
    return "is_temporary" in value and isinstance(value.get("messages"), list)


def read_chat(value: dict[str, Any], export: Export) -> SourceChat:
    left_out: Counter[str] = Counter()
    record = ChatRecord.read(value, left_out)
    if record.trashed_at:
        raise Unusable("It was in the trash.")
    if record.version > VERSION:
        raise Unusable(NEWER)
    nodes = [
        _build_node(message, index, bool(record.version), export, left_out)
        for index, message in enumerate(record.messages)
    ]
    system_prompt, parameters = _choose_settings(record)
    model_settings = _check_model_settings(record.model_settings, parameters, left_out)
    return chat(
        Format.OWN,
        value,
        nodes,
        left_out,
        source_id=record.id,
        title=record.title,
        current=record.active_leaf,
        created_at=parse_moment(record.created_at),
        updated_at=parse_moment(record.updated_at),
        is_archived=bool(value.get("archived_at")),
        is_pinned=record.is_pinned,
        folder=record.project or "",
        system_prompt=system_prompt,
        parameters=parameters,
        notes=_describe_preset(record.preset),
        own=replace(record, model_settings=model_settings),
    )


def _choose_settings(record: ChatRecord) -> tuple[str, Mapping[str, object]]:
    """Return the chat's own system prompt and parameters, or else those of its preset."""
    system_prompt, parameters = record.system_prompt, record.parameters
    if record.preset and system_prompt is None:
        system_prompt = record.preset.system_prompt
    if record.preset and parameters is None:
        parameters = record.preset.parameters
    return system_prompt or "", parameters or {}


def _check_model_settings(
    model_settings: list[ModelSettingsRecord],
    parameters: Mapping[str, object],
    left_out: Counter[str],
) -> list[ModelSettingsRecord]:
    """Return the settings of models whose parameters are valid with those of the chat."""
    checked_settings = []
    for settings in model_settings[:MAX_MODELS]:
        own: Mapping[str, object] = settings.parameters or {}
        try:
            sent = clean_parameters({**parameters, **own})
        except InvalidParameters as invalid:
            left_out["parameter"] += len(invalid.errors)
            own = {}
        else:
            own = {name: sent.get(name) for name in PARAMETERS if name in own}
        checked = replace(settings, parameters=own or None)
        if checked.own and checked.upstream and checked.model:
            checked_settings.append(checked)
    return checked_settings


def _describe_preset(preset: PresetRecord | None) -> list[str]:
    if preset is None:
        return []
    return [PRESET_MISSING if preset.system_prompt is None else PRESET_KEPT]


def _build_node(
    message: MessageRecord, index: int, has_rounds: bool, export: Export, left_out: Counter[str]
) -> Node:
    node = Node(message.id or f"{MADE_UP}{index}", message.parent or None, Kind.HIDDEN)
    if message.deleted_at:
        left_out["deleted message"] += 1
    elif message.role not in ("user", "assistant"):
        node.damage = DAMAGED_MESSAGE if message == NO_MESSAGE else NO_ROLE
    else:
        node.kind = Kind.PROMPT if message.role == "user" else Kind.REPLY
        _fill_node(node, message, has_rounds, export, left_out)
        if node.kind is Kind.REPLY:
            node.own = message
    return node


def _fill_node(
    node: Node, message: MessageRecord, has_rounds: bool, export: Export, left_out: Counter[str]
) -> None:
    node.at = parse_moment(message.created_at)
    node.is_continuation = message.is_continuation
    node.parts = _build_parts(message, has_rounds)
    node.model = message.model
    node.reasoning_seconds = message.reasoning_duration
    is_known = message.ending in list(Ending)
    node.ending = Ending(message.ending) if is_known else Ending.INTERRUPTED
    for url, title in message.extras.get("sources", ()):
        node.sources += link(url, title, left_out)
    if feedback := message.feedback:
        given_at = parse_moment(feedback.given_at)
        node.feedback = read_feedback(feedback.rating, feedback.note, given_at)
    node.files = [_build_file(file, export) for file in (*message.files, *message.images)]
    node.error = message.error.message if message.error else ""


def _build_parts(message: MessageRecord, has_rounds: bool) -> list[Part]:
    if not message.rounds and not has_rounds:  # before version 1, which put the rounds together
        return [Reasoning(message.reasoning), *_build_tool_parts(message), Text(message.content)]
    parts: list[Part] = []
    for record in message.rounds or [message]:
        parts += [NextRound()] if parts else []
        parts += [Reasoning(record.reasoning), Text(record.content), *_build_tool_parts(record)]
    return parts


def _build_tool_parts(record: RoundRecord) -> Iterator[ToolCall | ToolResult]:
    for call in record.tool_calls:
        yield ToolCall(call.name, call.arguments, call.id)
        if state := _STATES.get(call.state):
            yield ToolResult(call.result, call.name, call.id, state)


def _build_file(record: FileRecord, export: Export) -> SourceFile:
    archived_file = export.files(record.id)
    first, last = [*record.pages, 0, 0][:2]
    return build_file(
        record.name or (archived_file.name if archived_file else "Image"),
        record.type,
        size=record.size,
        content=archived_file.content if archived_file else None,
        missing=EXPIRED if record.is_expired else NOT_EXPORTED,
        alt=record.alt,
        pages=(first, last),
        is_expired=archived_file is None and record.is_expired,
    )
