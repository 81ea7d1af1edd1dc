"""Writes a chat as one HTML file that looks like the app: nothing is loaded, and no script runs.

The messages are drawn with the partials of the chat page. Images are part of the file.
"""

import base64
import hashlib
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

from django.contrib.staticfiles import finders
from django.utils import timezone
from django.utils.safestring import SafeString, mark_safe

from chatapp.exports.branch_notes import BranchNotes
from chatapp.exports.contents import Contents, read_chunks
from chatapp.exports.endings import ending_sentence, is_incomplete
from chatapp.exports.reading import Chat, get_attachments, get_images
from chatapp.models import Attachment, FileContent, Message, ReplyImage
from chatapp.models.platform import branding
from chatapp.rendering import fragments, pool
from chatapp.rendering.fragments import file_icons
from chatapp.rendering.fragments.environment import draw
from chatapp.rendering.pool import GetHtml, Typed
from chatapp.upstream.wire.images import detect_media_type

AT_ONCE = 20  # messages that are rendered at the same time
STYLES = (
    *("base/palette", "base/app", "thread/prose", "thread/formulas", "thread/code"),
    *("thread/prompt", "thread/thread", "thread/tool-calls", "thread/reply-extras"),
    *("thread/reply", "thread/print", "thread/exported"),
)
ICONS = ("wrench", *file_icons.ALL)
POLICY = (
    "default-src 'none'; style-src 'sha256-{}'; img-src data:; base-uri 'none'; form-action 'none'"
)
_LEFT_OUT = re.compile(r"/\*.*?\*/|@font-face \{.*?\}", re.DOTALL)  # a page loads no fonts
_SYMBOLS = re.compile(rf'<symbol id="icon-(?:{"|".join(ICONS)})".*?</symbol>', re.DOTALL)
NO_PICTURE = "data:,"


def html(chat: Chat, contents: Contents | None = None) -> Iterator[bytes]:
    """Yield one chat in pieces; note files other than images in `contents`, which it links to."""
    place = uuid4().hex  # where the messages go
    page = {
        "chat": chat,
        "now": timezone.now(),
        "style": _style(),
        "policy": policy(),
        "icons": _icons(),
        "thread": place,
    }
    head, tail = draw("exports/page.html", page).split(place)
    yield head.encode()
    notes = BranchNotes(chat.message_refs)
    messages = chat.messages
    while batch := list(islice(messages, AT_ONCE)):
        html_of = pool.render_texts(fragments.collect_texts(batch))
        for message in batch:
            yield _message(message, html_of, notes.build_note(message), contents).encode()
    yield tail.encode()


def policy() -> str:
    """Return the content security policy of the page."""
    digest = hashlib.sha256(_style().encode()).digest()
    return POLICY.format(base64.b64encode(digest).decode())


def _message(
    message: Message, html_of: GetHtml, note: str, contents: Contents | None
) -> SafeString:
    view = fragments.ReplyView.of(message, html_of) if not message.is_prompt else None
    images = {image.position: _picture(image) for image in get_images(message)}
    context = {
        "message": message,
        "note": note,
        "html": html_of(Typed(message.content)) if message.is_prompt else "",
        "reply": view,
        "files": [_file(attachment, contents) for attachment in get_attachments(message)],
        "pictures": defaultdict(lambda: NO_PICTURE, images),
        "extras": message.extras,
        "usage": getattr(message, "usage", None) if not message.is_streaming else None,
        "ending": "" if message.is_prompt else ending_sentence(message),
        "is_incomplete": is_incomplete(message),
        "icon": _icon,
    }
    return draw("exports/_message.html", context)


def _file(attachment: Attachment, contents: Contents | None) -> tuple[Attachment, str, str]:
    """Return a file with its image, if it is one, and its path, if it is beside the page."""
    if attachment.content and attachment.content.kind == FileContent.Kind.IMAGE:
        return attachment, _picture(attachment), ""
    path = contents.attach(attachment) if contents is not None else None
    return attachment, "", quote(path) if path else ""


def _picture(image: Attachment | ReplyImage) -> str:
    """Return an image as a data URL; an empty one if it is lost."""
    try:
        data = b"".join(read_chunks(image))
    except FileNotFoundError:
        return NO_PICTURE
    media_type = detect_media_type(data[:16])
    return (
        f"data:{media_type};base64,{base64.b64encode(data).decode()}" if media_type else NO_PICTURE
    )


def _icon(name: str) -> SafeString:
    svg = f'<svg class="icon" aria-hidden="true"><use href="#icon-{name}"/></svg>'
    return mark_safe(svg)  # noqa: S308 - the names are in our templates


@cache
def _sheets() -> str:
    texts = (_source(f"css/{name}.css") for name in STYLES)
    return "\n".join(_LEFT_OUT.sub("", text) for text in texts)


def _style() -> SafeString:
    brand = branding.get_branding()
    accent = ""
    if brand.accent:
        accent = f"\n:root{{--accent:light-dark({brand.accent},{brand.accent_dark})}}"
    return mark_safe(_sheets() + accent)  # noqa: S308 - our own sheets, and checked colours


@cache
def _icons() -> SafeString:
    symbols = "".join(_SYMBOLS.findall(_source("icons.svg")))
    return mark_safe(f'<svg class="exported-icons">{symbols}</svg>')  # noqa: S308 - our own


def _source(name: str) -> str:
    path = finders.find(name)
    assert isinstance(path, str)
    return Path(path).read_text()
