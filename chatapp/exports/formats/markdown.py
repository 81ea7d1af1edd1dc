"""Writes chats as Markdown that people read: who said what and when, with reasoning and tool calls
folded, and files as links."""

from collections.abc import Iterable, Iterator

from django.utils import timezone

from chatapp.exports.branch_notes import BranchNotes
from chatapp.exports.contents import Contents
from chatapp.exports.endings import ending_sentence
from chatapp.exports.markdown_text import contained, escaped, fenced, image, link
from chatapp.exports.reading import Chat, attachments_of, images_of
from chatapp.models import Message
from chatapp.models.conversations.rounds import Round, ToolRun
from chatapp.models.platform import branding
from chatapp.rendering.fragments.tool_names import readable_name
from chatapp.rendering.fragments.words import model_name, moment, state_words


def markdown(chat: Chat, contents: Contents | None = None) -> Iterator[bytes]:
    """Yield one chat in pieces; note its files in `contents`, so that it links to them."""
    yield _paragraphs(_heading(chat))
    notes = BranchNotes(chat.places)
    for message in chat.messages:
        yield _paragraphs(_message(message, notes.of(message), contents))


def _paragraphs(parts: Iterable[str]) -> bytes:
    return "".join(f"{part}\n\n" for part in parts if part).encode()


def _heading(chat: Chat) -> Iterator[str]:
    conversation, settings = chat.conversation, chat.settings
    yield f"# {escaped(conversation.title) or 'Untitled chat'}"
    said = [f"Exported from {escaped(branding.known().name)} on {moment(timezone.now())} UTC"]
    if conversation.project:
        said.append(f"project: {escaped(conversation.project.name)}")
    if settings.preset_version:
        said.append(f"preset: {escaped(settings.preset_version.name)}")
    yield f"{', '.join(said)}."
    if settings.system_prompt:
        yield from _folded("Instructions", contained(settings.system_prompt))


def _message(message: Message, note: str, contents: Contents | None) -> Iterator[str]:
    who = "You" if message.is_prompt else escaped(model_name(message)) or "Reply"
    yield f"## {who}"
    about = f"{moment(message.created_at)} UTC"
    yield f"*{about}. {note}.*" if note else f"*{about}*"
    for failed in message.failed_models[:1]:
        yield f"*In place of {escaped(failed.name)}, which failed.*"
    yield "\n".join(_files(message, contents))
    if message.is_continuation:
        yield "*Continued*"
    elif message.is_prompt:
        yield contained(message.content)
    else:
        yield from _reply(message, contents)


def _files(message: Message, contents: Contents | None) -> Iterator[str]:
    for one in attachments_of(message):
        path = contents.attach(one) if contents is not None else None
        if one.is_expired:
            yield f"* {escaped(one.name)} (deleted by the retention period)"
        elif path and one.media_type.startswith("image/"):
            yield f"* {image(one.alt or one.name, path)}"
        else:
            yield f"* {link(one.name, path)}" if path else f"* File: {escaped(one.name)}"


def _reply(message: Message, contents: Contents | None) -> Iterator[str]:
    for one in message.rounds:
        yield from _round(one)
    for picture in images_of(message):
        words = str(picture)
        yield image(words, contents.add_image(picture)) if contents is not None else f"({words})"
    if message.extras.sources:
        yield "Sources:"
        yield "\n".join(
            f"{number}. {link(one.title or one.url, one.url)}"
            for number, one in enumerate(message.extras.sources, 1)
        )
    if ending := ending_sentence(message):
        yield f"> **{escaped(ending)}**"


def _round(one: Round) -> Iterator[str]:
    if one.reasoning:
        yield from _folded("Reasoning", contained(one.reasoning))
    yield contained(one.content)
    yield contained(one.refusal)
    for run in one.tool_runs:
        yield from _folded(f"Tool call: {_plain(_name(run))}", *_call(run))


def _name(run: ToolRun) -> str:
    name = readable_name(run.name, run.title)
    return f"{name.words} ({name.server})" if name.server else name.words


def _call(run: ToolRun) -> Iterator[str]:
    yield f"{escaped(run.name)}: {state_words(run)}" if run.name else state_words(run)
    if run.arguments:
        yield fenced(run.arguments, "json")
    if run.result:
        yield "Result:"
        yield fenced(run.result)


def _folded(summary: str, *parts: str) -> Iterator[str]:
    """Yield a part that is folded. Blank lines make what is in it Markdown again."""
    yield f"<details>\n<summary>{summary}</summary>"
    yield from parts
    yield "</details>"


def _plain(text: str) -> str:
    """Return a name to stand in an HTML element that is Markdown, too."""
    return escaped(text).replace("\\<", "&lt;").replace("\\>", "&gt;")
