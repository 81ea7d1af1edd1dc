"""Turns the records that `transfer` reads into database rows with keys that are always the same."""

import json
import uuid
from collections.abc import Iterable
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from chatapp.models import Conversation, Feedback, Message, User
from chatapp.models.conversations.chats.titled import MAX_TITLE_LENGTH
from chatapp.models.conversations.messages.extras import Extras
from chatapp.models.conversations.messages.rounds import Round, RunState, ToolRun
from chatapp.models.conversations.turns.forks import ROW_BYTES
from chatapp.transfer import SourceChat, SourceMessage, SourceRound, SourceToolRun
from chatapp.transfer.export_format import RequestSettingsRecord
from chatapp.transfer.formats.parts import UNTITLED
from chatapp.transfer.values import line, parse_moment
from chatapp.upstream.wire.errors.upstream_error import ErrorKind, UpstreamError

NAMESPACE = uuid.UUID("5b0b6cd5-7a5c-4c43-9d0e-3c7c6f1f6a10")
MAX_MODEL = 200
MAX_TOOL_NAME = 200
MAX_FINISH_REASON = 50
# Characters of all texts of a message; more would take long to show.
MAX_PROMPT = 1_000_000
MAX_REPLY = 8_000_000


def chat_key(user: User, chat: SourceChat) -> uuid.UUID:
    """Return the key that this chat has whenever this person imports it."""
    return uuid.uuid5(NAMESPACE, f"{user.pk} {chat.source} {chat.source_id}")


def message_key(chat: uuid.UUID, source_id: str) -> uuid.UUID:
    return uuid.uuid5(chat, source_id)


def build_conversation(key: uuid.UUID, user: User, chat: SourceChat, now: datetime) -> Conversation:
    """Return the row of a new chat. `created_at` will be the time of the import."""
    used_at = min(chat.updated_at or chat.created_at or now, now)
    return Conversation(
        id=key,
        user=user,
        title=Conversation.build_title(chat.title)[:MAX_TITLE_LENGTH] or UNTITLED,
        titled_by=Conversation.TitledBy.PERSON,
        updated_at=used_at,
        archived_at=min(parse_moment(chat.own.archived_at or "") or used_at, now)
        if chat.is_archived
        else None,
        active_leaf=message_key(key, chat.active_leaf),
        imported_from=str(chat.source),
    )


def build_message(
    conversation: Conversation, record: SourceMessage, at: datetime, file_count: int = 0
) -> Message:
    """Return the row of a message. `at` is when it was written, or about when."""
    chat = conversation.pk
    fields: dict[str, Any] = {
        "id": message_key(chat, record.source_id),
        "conversation": conversation,
        "parent_id": message_key(chat, record.parent) if record.parent is not None else None,
        "role": record.role,
        "created_at": at,
    }
    if record.role == "user":
        return Message(
            **fields,
            content=record.content,
            is_continuation=record.is_continuation or record.is_placeholder,
            file_count=file_count,
        )
    return Message(**fields, **_reply_fields(record))


def _reply_fields(record: SourceMessage) -> dict[str, Any]:
    *earlier, last = record.rounds
    own = record.own
    return {
        "model": line(record.model, MAX_MODEL),
        "ending": str(record.ending or ""),
        "error": _error(record),
        "reasoning": last.reasoning,
        "content": last.content,
        "tool_runs": [_build_tool_run(run).as_record() for run in last.tool_runs],
        "earlier_rounds": [_build_round(earlier_round).as_record() for earlier_round in earlier],
        "extras_record": _extras(record).as_record(),
        "reasoning_duration": record.reasoning_seconds,
        "finish_reason": line(own.finish_reason, MAX_FINISH_REASON),
        "choice": own.choice,
        "failed_models_record": own.failed_models or None,
        # It counts as flagged only where the provider said so.
        "moderation": own.moderation,
        "time_to_first_token": own.time_to_first_token,
        "duration": own.duration,
    }


def _build_round(record: SourceRound) -> Round:
    return Round(
        record.reasoning, record.content, "", [_build_tool_run(run) for run in record.tool_runs]
    )


def _build_tool_run(record: SourceToolRun) -> ToolRun:
    name = line(record.name, MAX_TOOL_NAME)
    return ToolRun(record.id, name, record.arguments, RunState(record.state), record.result)


def _error(record: SourceMessage) -> dict[str, Any] | None:
    kind = record.own.error.kind if record.own.error else ""
    is_known = kind in list(ErrorKind)
    if not (record.error or is_known):
        return None
    error_kind = ErrorKind(kind) if is_known else ErrorKind.STREAM_ERROR
    return asdict(UpstreamError(error_kind, record.error))


def _extras(record: SourceMessage) -> Extras:
    own = Extras.from_record(record.own.extras)
    return replace(
        own,
        sources=record.sources,
        source_count=max(own.source_count, len(record.sources)),
        imported_usage=record.own.imported_usage,
    )


def build_feedback(key: uuid.UUID, record: SourceMessage, at: datetime) -> Feedback | None:
    source_feedback = record.feedback
    if source_feedback is None or record.role == "user":
        return None
    return Feedback(
        message_id=key,
        rating=source_feedback.rating,
        note=source_feedback.note,
        given_at=source_feedback.given_at or at,
    )


def shorten_message(record: SourceMessage) -> SourceMessage:
    """Return a message with as much of its texts as may be stored: itself, if that is all."""
    remaining = MAX_PROMPT if record.role == "user" else MAX_REPLY
    if count_bytes(record) <= remaining:
        return record

    def cut_text(whole_text: str) -> str:
        nonlocal remaining
        shortened_text = whole_text[: max(0, remaining)]
        remaining -= len(shortened_text)
        return shortened_text

    rounds = []
    for source_round in record.rounds:
        runs = [
            replace(run, arguments=cut_text(run.arguments), result=cut_text(run.result))
            for run in source_round.tool_runs
        ]
        rounds.append(
            SourceRound(
                cut_text(source_round.reasoning), cut_text(source_round.content), tuple(runs)
            )
        )
    return replace(record, rounds=tuple(rounds), error=cut_text(record.error))


def count_bytes(record: SourceMessage) -> int:
    """Return about how many bytes a message takes up, as forks count them."""
    texts = [record.error]
    for source_round in record.rounds:
        texts += [source_round.reasoning, source_round.content]
        for run in source_round.tool_runs:
            texts += [run.name, run.arguments, run.result]
    if record.own.moderation:
        texts.append(json.dumps(record.own.moderation))
    return _count_text_bytes(texts) + ROW_BYTES * (1 + len(record.files))


def settings_bytes(chat: SourceChat) -> int:
    """Return about how many bytes a chat takes up besides its messages and their requests."""
    own = chat.own
    texts = [chat.system_prompt, *(json.dumps(settings.own) for settings in own.model_settings)]
    texts += [cut.summary for cut in own.left_out]
    return _count_text_bytes(texts) + ROW_BYTES * len(own.left_out)


def request_bytes(request: RequestSettingsRecord) -> int:
    texts = [request.instructions or "", json.dumps(request.parameters or {})]
    return _count_text_bytes(texts) + ROW_BYTES


def _count_text_bytes(texts: Iterable[str]) -> int:
    return sum(len(text) if text.isascii() else len(text.encode()) for text in texts)
