"""Writes chats as JSON Lines, one line per chat with all its branches; see docs/export-format.md.

`chatapp.transfer.export_format` has the records.
"""

from collections.abc import Iterable, Iterator
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
)
from chatapp.models.conversations.chats.feedback import get_loaded_feedback
from chatapp.models.conversations.messages.rounds import Round, ToolRun
from chatapp.models.conversations.threads.context_cuts import ContextCut
from chatapp.text.spreadsheets import in_dollars
from chatapp.transfer.export_format import (
    TOKENS,
    VERSION,
    ChatRecord,
    CutRecord,
    ErrorRecord,
    FeedbackRecord,
    FileRecord,
    MessageRecord,
    ModelSettingsRecord,
    PresetRecord,
    RequestSettingsRecord,
    RoundRecord,
    ToolCallRecord,
    UsageRecord,
)


def json_lines(chats: Iterable[Chat], contents: Contents | None = None) -> Iterator[bytes]:
    """Yield the chats' JSON in pieces, with a newline after each chat; note files in `contents`."""
    for chat in chats:
        yield msgspec.json.encode(_build_chat(chat))[:-1]
        yield from _encode_list("request_settings", map(_build_request, chat.request_settings))
        messages = (_export_message(message, contents) for message in chat.messages)
        yield from _encode_list("messages", messages)
        yield b"}\n"


def _encode_list(name: str, records: Iterable[msgspec.Struct]) -> Iterator[bytes]:
    yield f',"{name}":['.encode()
    separator = b""
    for record in records:
        yield separator + msgspec.json.encode(record)
        separator = b","
    yield b"]"


def _export_message(message: Message, contents: Contents | None) -> MessageRecord:
    if contents is not None:
        for attachment in get_attachments(message):
            contents.attach(attachment)
        for image in get_images(message):
            contents.add_image(image)
    return _build_message(message)


def _build_chat(chat: Chat) -> ChatRecord:
    conversation, settings = chat.conversation, chat.settings
    is_readable = settings.is_readable(conversation.user)
    return ChatRecord(
        version=VERSION,
        id=str(conversation.pk),
        title=conversation.title,
        created_at=conversation.created_at.isoformat(),
        updated_at=conversation.updated_at.isoformat(),
        archived_at=_format_moment(conversation.archived_at),
        trashed_at=_format_moment(conversation.trashed_at),
        is_pinned=conversation.is_pinned,
        is_temporary=conversation.is_temporary,
        imported_from=conversation.imported_from,
        project=conversation.project.name if conversation.project else None,
        active_leaf=_get_active_leaf(chat),
        # With what the chat has of it, if the person may read that.
        preset=_build_preset(settings.preset_version, with_content=is_readable),
        system_prompt=settings.system_prompt,
        parameters=settings.parameters,
        model_settings=_build_model_settings(settings),
        left_out=[_build_cut(cut) for cut in chat.cuts],
    )


def _get_active_leaf(chat: Chat) -> str | None:
    """Return the last message of the branch that the person read last, if it is exported."""
    leaf = chat.conversation.active_leaf
    return str(leaf) if any(ref.message == leaf for ref in chat.message_refs) else None


def _build_request(settings: RequestSettings) -> RequestSettingsRecord:
    """Return what requests had besides messages, without what the person may not read of a preset.

    Their own part of it is elsewhere: the chat's system prompt, the project and the memory.
    """
    id, preset = str(settings.pk), _build_preset(settings.preset_version)
    if not settings.is_readable(settings.conversation.user):
        return RequestSettingsRecord(id=id, preset=preset, is_withheld=True)
    return RequestSettingsRecord(
        id=id,
        preset=preset,
        instructions=settings.instructions,
        files=[file.name for file in settings.files],
        parameters=settings.parameters,
    )


def _build_preset(
    version: PresetVersion | None, *, with_content: bool = False
) -> PresetRecord | None:
    if version is None:
        return None
    names = ("system_prompt", "parameters") if with_content else ()
    content = {name: getattr(version, name) for name in names}
    return PresetRecord(name=version.name, version=version.number, **content)


def _build_model_settings(settings: ChatSettings) -> list[ModelSettingsRecord]:
    """Return in what models of the chat depart from it."""
    if not settings.by_model:
        return []
    own = {value.partition("/")[::2]: values for value, values in settings.by_model.items()}
    upstreams = Upstream.objects.filter(pk__in={upstream for upstream, _ in own})
    names = {str(pk): name for pk, name in upstreams.values_list("pk", "name")}
    return [
        ModelSettingsRecord(upstream=names.get(upstream, ""), model=model, **values)
        for (upstream, model), values in own.items()
    ]


def _build_cut(cut: ContextCut) -> CutRecord:
    return CutRecord(
        through=str(cut.message_id) if cut.message_id else None,
        summary=cut.summary,
        upstream=cut.upstream.name if cut.upstream else "",
        model=cut.model,
        is_edited=cut.is_edited,
        is_lifted=cut.is_lifted,
        created_at=cut.created_at.isoformat(),
    )


def _build_message(message: Message) -> MessageRecord:
    feedback, usage = get_loaded_feedback(message), getattr(message, "usage", None)
    error, rounds = message.upstream_error, message.rounds
    records = [_build_round(message, reply_round) for reply_round in rounds]
    return MessageRecord(
        id=str(message.pk),
        parent=str(message.parent_id) if message.parent_id else None,
        role=message.role,
        created_at=message.created_at.isoformat(),
        deleted_at=_format_moment(message.deleted_at),
        is_continuation=message.is_continuation,
        content=message.content if message.is_prompt else message.answer_text,
        reasoning="\n\n".join(record.reasoning for record in records if record.reasoning),
        tool_calls=[call for record in records for call in record.tool_calls],
        rounds=records if len(records) > 1 else [],
        extras=message.extras_record or {},
        upstream=message.upstream.name if message.upstream else "",
        model=message.model,
        request_settings=str(message.request_settings_id or ""),
        failed_models=message.failed_models_record or [],
        choice=message.choice,
        ending=message.ending,
        is_incomplete=is_incomplete(message),
        finish_reason=message.finish_reason,
        error=ErrorRecord(kind=error.kind, message=error.message) if error else None,
        moderation=message.moderation,
        time_to_first_token=message.time_to_first_token or None,
        reasoning_duration=message.reasoning_duration or None,
        duration=message.duration or None,
        usage=_build_usage(usage) if usage else None,
        feedback=_build_feedback(feedback) if feedback else None,
        files=[build_file(attachment) for attachment in get_attachments(message)],
        images=[build_image(image) for image in get_images(message)],
    )


def build_file(attachment: Attachment) -> FileRecord:
    """Return what an export has of an attached file, without its bytes."""
    first, last = attachment.first_page, attachment.last_page
    return FileRecord(
        id=str(attachment.pk),
        name=attachment.name,
        type=attachment.media_type,
        size=attachment.size or None,
        alt=attachment.alt,
        pages=[first, last] if first or last else [],
        is_expired=attachment.is_expired,
    )


def build_image(image: ReplyImage) -> FileRecord:
    """Return what an export has of an image of a reply, without its bytes."""
    return FileRecord(id=f"{image.message_id}-{image.position}", type=image.media_type)


def _build_round(message: Message, reply_round: Round) -> RoundRecord:
    return RoundRecord(
        reasoning=reply_round.reasoning,
        content="\n\n".join(filter(None, [reply_round.content, reply_round.refusal])),
        tool_calls=[_build_tool_call(message, run) for run in reply_round.tool_runs],
    )


def _build_tool_call(message: Message, run: ToolRun) -> ToolCallRecord:
    return ToolCallRecord(
        id=run.id,
        name=run.name,
        arguments=run.arguments,
        state=run.state,
        result=run.result,
        images=[f"{message.pk}-{image.position}" for image in run.images],
    )


def _build_usage(usage: Usage) -> UsageRecord:
    counts = {name: getattr(usage, name) for name in TOKENS}
    return UsageRecord(provenance=usage.provenance, **counts, cost_usd=in_dollars(usage.cost))


def _build_feedback(feedback: Feedback) -> FeedbackRecord:
    return FeedbackRecord(
        rating=feedback.rating, note=feedback.note, given_at=feedback.given_at.isoformat()
    )


def _format_moment(at: datetime | None) -> str | None:
    return at.isoformat() if at else None
