"""Turns the records that `transfer` reads into database rows with keys that are always the same."""

import uuid
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from chatapp.db.statements import build
from chatapp.models import Conversation, Feedback, Message, User
from chatapp.models.conversations.context_cuts import MAX_SUMMARY, ContextCut
from chatapp.models.conversations.extras import Extras
from chatapp.models.conversations.forks import ROW_BYTES
from chatapp.models.conversations.rounds import Round, RunState, ToolRun
from chatapp.models.conversations.titled import MAX_TITLE_LENGTH
from chatapp.transfer import SourceChat, SourceMessage, SourceRound, SourceToolRun
from chatapp.transfer.formats.parts import UNTITLED
from chatapp.transfer.records import Format
from chatapp.transfer.values import count, line, listed, mapping, number, text
from chatapp.upstream.wire.errors import ErrorKind, UpstreamError

NAMESPACE = uuid.UUID("5b0b6cd5-7a5c-4c43-9d0e-3c7c6f1f6a10")
MAX_MODEL = 200
MAX_TOOL_NAME = 200
# Characters of all texts of a message; more would take long to show.
MAX_PROMPT = 1_000_000
MAX_REPLY = 8_000_000
MAX_CHOICE = 2**15 - 1


def chat_key(user: User, chat: SourceChat) -> uuid.UUID:
    """Return the key that this chat has whenever this person imports it."""
    return uuid.uuid5(NAMESPACE, f"{user.pk} {chat.source} {chat.source_id}")


def message_key(chat: uuid.UUID, source_id: str) -> uuid.UUID:
    return uuid.uuid5(chat, source_id)


def conversation_of(key: uuid.UUID, user: User, chat: SourceChat, now: datetime) -> Conversation:
    """Return the row of a new chat. `created_at` will be the time of the import."""
    used_at = min(chat.updated_at or chat.created_at or now, now)
    return Conversation(
        id=key,
        user=user,
        title=Conversation.title_of(chat.title)[:MAX_TITLE_LENGTH] or UNTITLED,
        titled_by=Conversation.TitledBy.PERSON,
        updated_at=used_at,
        archived_at=used_at if chat.is_archived else None,
        active_leaf=message_key(key, chat.active_leaf),
        imported_from=str(chat.source),
    )


def message_of(
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
        return build(
            Message,
            **fields,
            content=record.content,
            is_continuation=record.is_continuation or record.is_placeholder,
            file_count=file_count,
        )
    return build(Message, **fields, **_reply_fields(record))


def _reply_fields(record: SourceMessage) -> dict[str, Any]:
    *earlier, last = record.rounds
    own = record.own
    return {
        "model": line(record.model, MAX_MODEL),
        "ending": str(record.ending or ""),
        "error": asdict(_error(record.error)) if record.error else None,
        "reasoning": last.reasoning,
        "content": last.content,
        "tool_runs": [_run(one).as_record() for one in last.tool_runs],
        "earlier_rounds": [_round(one).as_record() for one in earlier],
        "extras_record": _extras(record).as_record(),
        "reasoning_duration": _seconds(record.reasoning_seconds),
        "finish_reason": line(own.get("finish_reason"), 50),
        "choice": min(count(own.get("choice")) or 0, MAX_CHOICE),
        "time_to_first_token": _seconds(own.get("time_to_first_token")),
        "duration": _seconds(own.get("duration")),
    }


def _round(record: SourceRound) -> Round:
    return Round(record.reasoning, record.content, "", [_run(one) for one in record.tool_runs])


def _run(record: SourceToolRun) -> ToolRun:
    name = line(record.name, MAX_TOOL_NAME)
    return ToolRun(record.id, name, record.arguments, RunState(record.state), record.result)


def _error(sentence: str) -> UpstreamError:
    return UpstreamError(ErrorKind.STREAM_ERROR, sentence)


def _extras(record: SourceMessage) -> Extras:
    own = mapping(record.own.get("extras"))
    named = max(count(own.get("source_count")) or 0, len(record.sources))
    return Extras(record.sources, named, has_sound=own.get("has_sound") is True)


def _seconds(value: object) -> float | None:
    found = number(value)
    return found if found is not None and found >= 0 else None


def feedback_of(key: uuid.UUID, record: SourceMessage, at: datetime) -> Feedback | None:
    given = record.feedback
    if given is None or record.role == "user":
        return None
    return Feedback(
        message_id=key, rating=given.rating, note=given.note, given_at=given.given_at or at
    )


def cuts_of(chat: uuid.UUID, record: SourceChat, now: datetime) -> list[ContextCut]:
    """Return what models are not sent of a chat, in our own exports."""
    if record.source is not Format.OWN:
        return []
    replies = {one.source_id for one in record.messages if one.role == "assistant"}
    found: dict[object, ContextCut] = {}
    for one in map(mapping, listed(record.own.get("left_out"))):
        through = one.get("through")
        if through is None or through in replies:
            found[through] = _cut(chat, one, now)
    return list(found.values())


def _cut(chat: uuid.UUID, one: Mapping[str, Any], now: datetime) -> ContextCut:
    through = text(one.get("through"))
    return ContextCut(
        conversation_id=chat,
        message_id=message_key(chat, through) if through else None,
        summary=text(one.get("summary"))[:MAX_SUMMARY],
        model=line(one.get("model"), MAX_MODEL),
        is_edited=one.get("is_edited") is True,
        is_lifted=one.get("is_lifted") is True,
        created_at=now,
    )


def shortened(record: SourceMessage) -> SourceMessage:
    """Return a message with as much of its texts as may be stored: itself, if that is all."""
    left = MAX_PROMPT if record.role == "user" else MAX_REPLY
    if bytes_of(record) <= left:
        return record

    def cut(said: str) -> str:
        nonlocal left
        kept = said[: max(0, left)]
        left -= len(kept)
        return kept

    rounds = []
    for one in record.rounds:
        runs = [
            replace(run, arguments=cut(run.arguments), result=cut(run.result))
            for run in one.tool_runs
        ]
        rounds.append(SourceRound(cut(one.reasoning), cut(one.content), tuple(runs)))
    return replace(record, rounds=tuple(rounds), error=cut(record.error))


def bytes_of(record: SourceMessage) -> int:
    """Return about how many bytes a message takes up, as forks count them."""
    texts = [record.error]
    for one in record.rounds:
        texts += [one.reasoning, one.content]
        for run in one.tool_runs:
            texts += [run.name, run.arguments, run.result]
    size = sum(len(one) if one.isascii() else len(one.encode()) for one in texts)
    return size + ROW_BYTES * (1 + len(record.files))
