"""Downloads conversations as JSON Lines: one conversation per line, with all its branches.

Messages are read from the database in small batches while the response is sent, so neither a long
conversation nor many of them are ever in memory as a whole.
"""

import json
from collections.abc import AsyncIterator, Callable
from datetime import datetime
from uuid import UUID

from channels.db import database_sync_to_async
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.db.models import Prefetch
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.views.decorators.http import require_POST

from chatapp.chat.bulk_actions import error_response, text_response
from chatapp.chat.page_forms import ChosenForm
from chatapp.models import (
    Attachment,
    ChatSettings,
    Conversation,
    Feedback,
    Message,
    PresetVersion,
    RequestSettings,
    Upstream,
    User,
    audit,
)
from chatapp.models.conversations.feedback import known_feedback
from chatapp.models.conversations.rounds import ToolRun
from chatapp.sessions.validity import person_of

AT_ONCE = 100  # messages per batch
EMPTY: tuple[object, ...] = ("", None, [], False)


@require_POST
@login_required
def export(request: HttpRequest) -> HttpResponseBase:
    assert isinstance(request.user, User)
    form = ChosenForm(request.POST, user=request.user)
    if not form.is_valid():
        return error_response(form)
    chosen = list(form.chosen.kept().select_related("project"))
    if not chosen:  # audit events are permanent, so record none for an empty export
        return text_response("This no longer exists.", 404)
    with transaction.atomic():
        detail = {"conversations": len(chosen)}
        audit.record(
            "conversations.exported", actor=request.user, about=request.user, detail=detail
        )
    name = f"conversations-{timezone.now():%Y-%m-%d}.jsonl"
    return StreamingHttpResponse(
        lines_of(chosen, request.session.session_key or ""),
        content_type="application/jsonl",
        headers={
            "Content-Disposition": f'attachment; filename="{name}"',
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
        },
    )


async def lines_of(
    conversations: list[Conversation], session_key: str, *, with_deleted: bool = False
) -> AsyncIterator[str]:
    """Yield the conversations' JSON in pieces, with a newline after each conversation.

    Raises `NotSignedIn` once the session has ended, so that the client sees a truncated download.
    `with_deleted` includes messages that are deleted but still kept.
    """
    for conversation in conversations:
        await database_sync_to_async(person_of)(session_key)
        described = await database_sync_to_async(_conversation_record)(conversation)
        record = json.dumps(described, ensure_ascii=False)
        yield record[:-1]
        messages, settings = await database_sync_to_async(_ids)(conversation, with_deleted)
        async for piece in _list_of("request_settings", settings, _request_settings):
            yield piece
        async for piece in _list_of("messages", messages, _batch):
            yield piece
        yield "}\n"


async def _list_of(
    name: str, pks: list[UUID], batch: Callable[[list[UUID]], list[dict[str, object]]]
) -> AsyncIterator[str]:
    """Yield a field with the records of these rows; `batch` reads some of them at a time."""
    yield f', "{name}": ['
    separator = ""
    for start in range(0, len(pks), AT_ONCE):
        for record in await database_sync_to_async(batch)(pks[start : start + AT_ONCE]):
            yield separator + json.dumps(record, ensure_ascii=False)
            separator = ", "
    yield "]"


def _ids(conversation: Conversation, with_deleted: bool) -> tuple[list[UUID], list[UUID]]:
    """Return the ids of the messages, and of the request settings of these."""
    messages = conversation.messages.all()
    if not with_deleted:
        messages = messages.filter(deleted_at=None)
    found = list(messages.values_list("pk", "request_settings_id"))
    settings = dict.fromkeys(asked_with for _, asked_with in found if asked_with)
    return [pk for pk, _ in found], list(settings)


def _batch(pks: list[UUID]) -> list[dict[str, object]]:
    messages = Message.objects.filter(pk__in=pks).select_related("feedback", "upstream")
    files = Attachment.objects.with_media_type()
    messages = messages.prefetch_related(Prefetch("attachments", files))
    return [_message_record(one) for one in messages.defer("logprobs", "upstream__api_key")]


def _request_settings(pks: list[UUID]) -> list[dict[str, object]]:
    found = RequestSettings.objects.filter(pk__in=pks)
    related = found.select_related("conversation__user", "preset_version__target")
    return [_request_settings_record(one) for one in related.order_by("pk")]


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


def _conversation_record(conversation: Conversation) -> dict[str, object]:
    settings = ChatSettings.of(conversation)
    return {
        "id": str(conversation.pk),
        "title": conversation.title,
        "created_at": conversation.created_at.isoformat(),
        "updated_at": conversation.updated_at.isoformat(),
        "archived_at": _moment(conversation.archived_at),
        "trashed_at": _moment(conversation.trashed_at),
        "is_pinned": conversation.is_pinned,
        "is_temporary": conversation.is_temporary,
        "project": conversation.project.name if conversation.project else None,
        "preset": _preset_record(settings.preset_version),
        "system_prompt": settings.system_prompt,
        "parameters": settings.parameters,
        "model_settings": _model_settings(settings),
        **_left_out(conversation),
    }


def _model_settings(settings: ChatSettings) -> list[dict[str, object]]:
    """Return in what models of the chat depart from it."""
    own = {value.partition("/")[::2]: values for value, values in (settings.by_model or {}).items()}
    found = Upstream.objects.filter(pk__in={upstream for upstream, _ in own})
    names = {str(pk): name for pk, name in found.values_list("pk", "name")}
    return [
        {"upstream": names.get(upstream, ""), "model": model, **values}
        for (upstream, model), values in own.items()
    ]


def _left_out(conversation: Conversation) -> dict[str, object]:
    """Return what models are not sent of the conversation, and the summaries in its place."""
    if not conversation.cut_changes:
        return {}
    cuts = conversation.context_cuts.select_related("upstream").defer("upstream__api_key")
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
            for cut in cuts.order_by("created_at")
        ]
    }


def _message_record(message: Message) -> dict[str, object]:
    """Return a message's fields, without those that are empty."""
    feedback = known_feedback(message)
    record = {
        "id": str(message.pk),
        "parent": str(message.parent_id) if message.parent_id else None,
        "role": message.role,
        "created_at": message.created_at.isoformat(),
        "deleted_at": _moment(message.deleted_at),
        "is_continuation": message.is_continuation,
        "content": message.content if message.is_prompt else message.answer_text,
        "reasoning": "\n\n".join(one.reasoning for one in message.rounds if one.reasoning),
        "tool_calls": [_tool_call_record(run) for one in message.rounds for run in one.tool_runs],
        "extras": message.extras_record,
        "upstream": message.upstream.name if message.upstream else "",
        "model": message.model,
        "request_settings": str(message.request_settings_id or ""),
        "failed_models": message.failed_models_record,
        "choice": message.choice,
        "ending": message.ending,
        "finish_reason": message.finish_reason,
        "moderation": message.moderation,
        "time_to_first_token": message.time_to_first_token,
        "reasoning_duration": message.reasoning_duration,
        "duration": message.duration,
        "feedback": _feedback_record(feedback) if feedback else "",
        "files": [file_record(one) for one in message.attachments.all()],
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


def _tool_call_record(run: ToolRun) -> dict[str, object]:
    return {
        "id": run.id,
        "name": run.name,
        "arguments": run.arguments,
        "state": run.state,
        "result": run.result,
    }


def _moment(at: datetime | None) -> str | None:
    return at.isoformat() if at else None


def _feedback_record(feedback: Feedback) -> dict[str, str]:
    return {
        "rating": feedback.rating,
        "note": feedback.note,
        "given_at": feedback.given_at.isoformat(),
    }
