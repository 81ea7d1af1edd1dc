"""Files and images of a shared chat, at addresses below its link."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from chatapp.chat.message_views import send_reply_image
from chatapp.files.serving import HEADERS, send_image, send_original, send_thumbnail
from chatapp.models import FileContent, SharedChat
from chatapp.models.refusals import ChatNotFound
from chatapp.models.sharing import shared_threads
from chatapp.sharing.access import for_readers


@for_readers
def file(request: HttpRequest, link: SharedChat, pk: UUID) -> HttpResponseBase:
    """A document: its text, or the original, which may name its author, if the link does so too."""
    attachment = shared_threads.get_attachment(link, pk)
    content = attachment.content
    if link.shows_author or content is None or content.kind == FileContent.Kind.IMAGE:
        return send_original(request, attachment)
    if not content.page_count:
        raise ChatNotFound
    first, last = attachment.page_range
    begin = [0, *content.page_ends][first - 1]
    text = content.text_from(begin, content.page_ends[last - 1] - begin)
    return HttpResponse(text, content_type="text/plain; charset=utf-8", headers=HEADERS)


@for_readers
def image(request: HttpRequest, link: SharedChat, pk: UUID) -> HttpResponseBase:
    return send_image(request, shared_threads.get_attachment(link, pk))


@for_readers
def thumbnail(request: HttpRequest, link: SharedChat, pk: UUID) -> HttpResponseBase:
    return send_thumbnail(request, shared_threads.get_attachment(link, pk))


@for_readers
def reply_image(
    _request: HttpRequest, link: SharedChat, reply: UUID, position: int
) -> HttpResponse:
    return send_reply_image(shared_threads.get_image(link, reply, position))
