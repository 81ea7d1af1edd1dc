"""Writes chats as JSON Lines, one line per chat with all its branches; see docs/export-format.md.

`chatapp/transfer/formats/own.py` reads it.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

import msgspec

from chatapp.exports.contents import Contents
from chatapp.exports.endings import is_incomplete
from chatapp.exports.reading import Chat, get_attachments, get_images
from chatapp.models import (
    Attachment,
    ChatSettings,
    Feedback,
    Message,
    PresetVersion,
    ReplyImage,
    RequestSettings,
    Upstream,
    Usage,
    User,
)
from chatapp.models.conversations.feedback import get_loaded_feedback
from chatapp.models.conversations.rounds import Round, ToolRun
from chatapp.text.spreadsheets import in_dollars

VERSION = 1
EMPTY: tuple[object, ...] = ("", None, [], False)
COUNTS = (
    "prompt_tokens",
    "completion_tokens",
    "total_tokens",
    "cached_tokens",
    "reasoning_tokens",
)


def json_lines(chats: Iterable[Chat], contents: Contents | None = None) -> Iterator[bytes]:
    """Yield the chats' JSON in pieces, with a newline after each chat; note files in `contents`."""
    for chat in chats:
        yield msgspec.json.encode(_chat_record(chat))[:-1]
        request_settings = map(_request_settings_record, chat.request_settings)
        yield from _list("request_settings", request_settings)
        yield from _list(
            "messages", (_export_message(message, contents) for message in chat.messages)
        )
        yield b"}\n"


def _list(name: str, records: Iterable[Mapping[str, object]]) -> Iterator[bytes]:
    yield f',"{name}":['.encode()
    separator = b""
    for record in records:
        yield separator + msgspec.json.encode(record)
        separator = b","
    yield b"]"


def _export_message(message: Message, contents: Contents | None) -> dict[str, object]:
    if contents is not None:
        for attachment in get_attachments(message):
            contents.attach(attachment)
        for image in get_images(message):
            contents.add_image(image)
    return _message_record(message)


def _chat_record(chat: Chat) -> dict[str, object]:
    conversation, settings = chat.conversation, chat.settings
    return {
        "version": VERSION,
        "id": str(conversation.pk),
        "title": conversation.title,
        "created_at": conversation.created_at.isoformat(),
        "updated_at": conversation.updated_at.isoformat(),
        "archived_at": _moment(conversation.archived_at),
        "trashed_at": _moment(conversation.trashed_at),
        "is_pinned": conversation.is_pinned,
        "is_temporary": conversation.is_temporary,
        "imported_from": conversation.imported_from,
        "project": conversation.project.name if conversation.project else None,
        "active_leaf": _active_leaf(chat),
        "preset": _preset_of_chat(settings, conversation.user),
        "system_prompt": settings.system_prompt,
        "parameters": settings.parameters,
        "model_settings": _model_settings(settings),
        **_left_out(chat),
    }


def _active_leaf(chat: Chat) -> str | None:
    """Return the last message of the branch that the person read last, if it is exported."""
    leaf = chat.conversation.active_leaf
    return str(leaf) if any(ref.message == leaf for ref in chat.message_refs) else None


def _request_settings_record(settings: RequestSettings) -> dict[str, object]:
    """Return what requests had besides messages, without what the person may not read of a preset.

    Their own part of it is elsewhere: the chat's system prompt, the project and the memory.
    """
    is_withheld = not settings.is_readable(settings.conversation.user)
    sent = {
        "instructions": settings.instructions,
        "files": [file.name for file in settings.files],
        "parameters": settings.parameters,
    }
    return {
        "id": str(settings.pk),
        "preset": _preset_record(settings.preset_version),
        **({"is_withheld": True} if is_withheld else sent),
    }


def _preset_record(version: PresetVersion | None) -> dict[str, object] | None:
    return {"name": version.name, "version": version.number} if version else None


def _preset_of_chat(settings: ChatSettings, person: User) -> dict[str, object] | None:
    """Return the chat's preset, with what the chat has of it if the person may read that."""
    version = settings.preset_version
    record = _preset_record(version)
    if version and record and settings.is_readable(person):
        record |= {"system_prompt": version.system_prompt, "parameters": version.parameters}
    return record


def _model_settings(settings: ChatSettings) -> list[dict[str, object]]:
    """Return in what models of the chat depart from it."""
    if not settings.by_model:
        return []
    own = {value.partition("/")[::2]: values for value, values in settings.by_model.items()}
    upstreams = Upstream.objects.filter(pk__in={upstream for upstream, _ in own})
    names = {str(pk): name for pk, name in upstreams.values_list("pk", "name")}
    return [
        {"upstream": names.get(upstream, ""), "model": model, **values}
        for (upstream, model), values in own.items()
    ]


def _left_out(chat: Chat) -> dict[str, object]:
    """Return what models are not sent of the chat, and the summaries in its place."""
    if not chat.cuts:
        return {}
    return {
        "left_out": [
            {
                "through": str(cut.message_id) if cut.message_id else None,
                "summary": cut.summary,
                "upstream": cut.upstream.name if cut.upstream else "",
                "model": cut.model,
                "is_edited": cut.is_edited,
                "is_lifted": cut.is_lifted,
                "created_at": cut.created_at.isoformat(),
            }
            for cut in chat.cuts
        ]
    }


def _message_record(message: Message) -> dict[str, object]:
    """Return a message's fields, without those that are empty."""
    feedback, usage = get_loaded_feedback(message), getattr(message, "usage", None)
    error = message.upstream_error
    rounds = message.rounds
    record = {
        "id": str(message.pk),
        "parent": str(message.parent_id) if message.parent_id else None,
        "role": message.role,
        "created_at": message.created_at.isoformat(),
        "deleted_at": _moment(message.deleted_at),
        "is_continuation": message.is_continuation,
        "content": message.content if message.is_prompt else message.answer_text,
        "reasoning": "\n\n".join(
            reply_round.reasoning for reply_round in rounds if reply_round.reasoning
        ),
        "tool_calls": [
            _tool_call_record(message, run)
            for reply_round in rounds
            for run in reply_round.tool_runs
        ],
        "rounds": [_round_record(message, reply_round) for reply_round in rounds]
        if len(rounds) > 1
        else [],
        "extras": message.extras_record,
        "upstream": message.upstream.name if message.upstream else "",
        "model": message.model,
        "request_settings": str(message.request_settings_id or ""),
        "failed_models": message.failed_models_record,
        "choice": message.choice,
        "ending": message.ending,
        "is_incomplete": is_incomplete(message),
        "finish_reason": message.finish_reason,
        "error": {"kind": error.kind, "message": error.message} if error else None,
        "moderation": message.moderation,
        "time_to_first_token": message.time_to_first_token,
        "reasoning_duration": message.reasoning_duration,
        "duration": message.duration,
        "usage": _usage_record(usage) if usage else None,
        "feedback": _feedback_record(feedback) if feedback else "",
        "files": [file_record(attachment) for attachment in get_attachments(message)],
        "images": [image_record(image) for image in get_images(message)],
    }
    return {name: value for name, value in record.items() if value not in EMPTY}


def file_record(attachment: Attachment) -> dict[str, object]:
    """Return what an export has of an attached file, without its bytes."""
    first, last = attachment.first_page, attachment.last_page
    record = {
        "id": str(attachment.pk),
        "name": attachment.name,
        "type": attachment.media_type,
        "size": attachment.size,
        "alt": attachment.alt,
        "pages": [first, last] if first or last else [],
        "is_expired": attachment.is_expired,
    }
    return {name: value for name, value in record.items() if value not in EMPTY}


def image_record(image: ReplyImage) -> dict[str, object]:
    """Return what an export has of an image of a reply, without its bytes."""
    return {"id": f"{image.message_id}-{image.position}", "type": image.media_type}


def _round_record(message: Message, reply_round: Round) -> dict[str, object]:
    """Return one of several rounds of a reply: text that ends with tool calls, but for the last."""
    record = {
        "reasoning": reply_round.reasoning,
        "content": "\n\n".join(filter(None, [reply_round.content, reply_round.refusal])),
        "tool_calls": [_tool_call_record(message, run) for run in reply_round.tool_runs],
    }
    return {name: value for name, value in record.items() if value not in EMPTY}


def _tool_call_record(message: Message, run: ToolRun) -> dict[str, object]:
    record: dict[str, object] = {
        "id": run.id,
        "name": run.name,
        "arguments": run.arguments,
        "state": run.state,
        "result": run.result,
    }
    images = [f"{message.pk}-{image.position}" for image in run.images]
    return {**record, "images": images} if images else record


def _usage_record(usage: Usage) -> dict[str, object]:
    counts = {name: getattr(usage, name) for name in COUNTS}
    record = {"provenance": usage.provenance, **counts, "cost_usd": in_dollars(usage.cost)}
    return {name: value for name, value in record.items() if value not in ("", None)}


def _moment(at: datetime | None) -> str | None:
    return at.isoformat() if at else None


def _feedback_record(feedback: Feedback) -> dict[str, str]:
    return {
        "rating": feedback.rating,
        "note": feedback.note,
        "given_at": feedback.given_at.isoformat(),
    }
