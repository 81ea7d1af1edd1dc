"""Views of one chat as a whole: its Markdown, to be copied, and a page to be printed."""

from collections.abc import Iterator
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from chatapp.exports.formats.html import html, policy
from chatapp.exports.formats.markdown import markdown
from chatapp.exports.reading import ChatReader
from chatapp.exports.streaming import stream_pieces
from chatapp.exports.writing import TYPES, Write
from chatapp.models import Conversation, User


@require_GET
@never_cache
@login_required
def chat_markdown(request: HttpRequest, pk: UUID) -> HttpResponseBase:
    """The branch that is shown, as Markdown without files."""
    return _response(request, pk, markdown, "md")


@require_GET
@never_cache
@login_required
def print_page(request: HttpRequest, pk: UUID) -> HttpResponseBase:
    """The branch that is shown with all of its messages, as a page without anything to press."""
    response = _response(request, pk, html, "html")
    response["Content-Security-Policy"] = f"{policy()}; frame-ancestors 'none'"
    return response


def _response(request: HttpRequest, pk: UUID, write: Write, suffix: str) -> HttpResponseBase:
    assert isinstance(request.user, User)
    conversation: Conversation = get_object_or_404(request.user.conversations.not_trashed(), pk=pk)
    pieces = _pieces(ChatReader(request.user, [conversation.pk], is_shown_only=True), write)
    return StreamingHttpResponse(
        stream_pieces(pieces, request.session.session_key or ""),
        content_type=TYPES[suffix],
        headers={"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"},
    )


def _pieces(reading: ChatReader, write: Write) -> Iterator[bytes]:
    for chat in reading:
        yield from write(chat, None)
