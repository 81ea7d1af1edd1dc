"""Writes chats as Markdown that people read: who said what and when, with reasoning and tool calls
folded, and files as links."""

from collections.abc import Iterable, Iterator

from django.utils import timezone

from chatapp.exports.branch_notes import BranchNotes
from chatapp.exports.contents import Contents
from chatapp.exports.endings import ending_sentence
from chatapp.exports.markdown_text import contain_markdown, escape_line, fence_code, image, link
from chatapp.exports.reading import Chat, get_attachments, get_images
from chatapp.models import Message
from chatapp.models.conversations.messages.rounds import Round, ToolRun
from chatapp.models.platform import branding
from chatapp.rendering.fragments.tool_names import readable_name
from chatapp.rendering.fragments.words import model_name, moment, state_words


def markdown(chat: Chat, contents: Contents | None = None) -> Iterator[bytes]:
    """Yield one chat in pieces; note its files in `contents`, so that it links to them."""
    yield _paragraphs(_heading(chat))
    notes = BranchNotes(chat.message_refs)
    for message in chat.messages:
        yield _paragraphs(_message(message, notes.build_note(message), contents))


def _paragraphs(parts: Iterable[str]) -> bytes:
    return "".join(f"{part}\n\n" for part in parts if part).encode()


def _heading(chat: Chat) -> Iterator[str]:
    conversation, settings = chat.conversation, chat.settings
    yield f"# {escape_line(conversation.title) or 'Untitled chat'}"
    sentence_parts = [
        f"Exported from {escape_line(branding.get_branding().name)} on {moment(timezone.now())} UTC"
    ]
    if conversation.project:
        sentence_parts.append(f"project: {escape_line(conversation.project.name)}")
    if settings.preset_version:
        sentence_parts.append(f"preset: {escape_line(settings.preset_version.name)}")
    yield f"{', '.join(sentence_parts)}."
    if settings.system_prompt:
        yield from _fold_section("Instructions", contain_markdown(settings.system_prompt))


def _message(message: Message, note: str, contents: Contents | None) -> Iterator[str]:
    who = "You" if message.is_prompt else escape_line(model_name(message)) or "Reply"
    yield f"## {who}"
    about = f"{moment(message.created_at)} UTC"
    yield f"*{about}. {note}.*" if note else f"*{about}*"
    for failed in message.failed_models[:1]:
        yield f"*In place of {escape_line(failed.name)}, which failed.*"
    yield "\n".join(_files(message, contents))
    if message.is_continuation:
        yield "*Continued*"
    elif message.is_prompt:
        yield contain_markdown(message.content)
    else:
        yield from _reply(message, contents)


def _files(message: Message, contents: Contents | None) -> Iterator[str]:
    for attachment in get_attachments(message):
        path = contents.attach(attachment) if contents is not None else None
        if attachment.is_expired:
            yield f"* {escape_line(attachment.name)} (deleted by the retention period)"
        elif path and attachment.media_type.startswith("image/"):
            yield f"* {image(attachment.alt or attachment.name, path)}"
        else:
            yield (
                f"* {link(attachment.name, path)}"
                if path
                else f"* File: {escape_line(attachment.name)}"
            )


def _reply(message: Message, contents: Contents | None) -> Iterator[str]:
    for reply_round in message.rounds:
        yield from _round(reply_round)
    for picture in get_images(message):
        words = str(picture)
        yield image(words, contents.add_image(picture)) if contents is not None else f"({words})"
    if message.extras.sources:
        yield "Sources:"
        yield "\n".join(
            f"{number}. {link(source.title or source.url, source.url)}"
            for number, source in enumerate(message.extras.sources, 1)
        )
    if ending := ending_sentence(message):
        yield f"> **{escape_line(ending)}**"


def _round(reply_round: Round) -> Iterator[str]:
    if reply_round.reasoning:
        yield from _fold_section("Reasoning", contain_markdown(reply_round.reasoning))
    yield contain_markdown(reply_round.content)
    yield contain_markdown(reply_round.refusal)
    for run in reply_round.tool_runs:
        yield from _fold_section(f"Tool call: {_plain(_name(run))}", *_call(run))


def _name(run: ToolRun) -> str:
    name = readable_name(run.name, run.title)
    return f"{name.words} ({name.server})" if name.server else name.words


def _call(run: ToolRun) -> Iterator[str]:
    yield f"{escape_line(run.name)}: {state_words(run)}" if run.name else state_words(run)
    if run.arguments:
        yield fence_code(run.arguments, "json")
    if run.result:
        yield "Result:"
        yield fence_code(run.result)


def _fold_section(summary: str, *parts: str) -> Iterator[str]:
    """Yield a part that is folded. Blank lines make what is in it Markdown again."""
    yield f"<details>\n<summary>{summary}</summary>"
    yield from parts
    yield "</details>"


def _plain(text: str) -> str:
    """Return a name to stand in an HTML element that is Markdown, too."""
    return escape_line(text).replace("\\<", "&lt;").replace("\\>", "&gt;")
