"""The read-only page of another member's chat in a shared project, its files, and copying it."""

from collections.abc import Callable
from functools import wraps
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST, require_safe

from chatapp.chat.message_views import send_reply_image
from chatapp.chat.queries import parse_uuid
from chatapp.files.serving import send_image, send_original, send_thumbnail
from chatapp.models import ChatNotFound, Conversation, Refused, ThreadPage, User
from chatapp.models.sharing import shared_threads
from chatapp.models.sharing.copies import begin_copy
from chatapp.models.sharing.project_chats import ProjectChat
from chatapp.realtime.worker import worker
from chatapp.rendering import fragments, pool

View = Callable[..., HttpResponseBase]


def for_members(view: View) -> View:
    """Pass the chat to the view if it is open to the person; 404 otherwise. Nothing is cached."""

    @login_required
    @wraps(view)
    def open_chat(
        request: HttpRequest, pk: UUID, chat: UUID, **arguments: object
    ) -> HttpResponseBase:
        assert isinstance(request.user, User)
        project_chat = ProjectChat.find(request.user, pk, chat)
        if project_chat is None:
            raise Http404
        try:
            response = view(request, project_chat, **arguments)
        except ChatNotFound:
            raise Http404 from None
        response.headers["Cache-Control"] = "no-store"
        return response

    return open_chat


@require_safe
@for_members
def page(request: HttpRequest, chat: ProjectChat) -> HttpResponse:
    """The newest messages, or those before the one in the query."""
    before = parse_uuid(request.GET.get("before", ""))
    view = shared_threads.before(chat, before) if before else shared_threads.newest(chat)
    context = {"chat": chat, "view": view, "thread": _render_thread(view, chat)}
    return render(request, "sharing/project_chat.html", context)


@require_safe
@for_members
def earlier(request: HttpRequest, chat: ProjectChat, message: UUID) -> HttpResponse:
    """The messages before this one, to replace the link to them."""
    view = shared_threads.before(chat, message)
    if not view.thread:
        raise Http404
    return render(
        request, "sharing/_thread.html", {"view": view, "thread": _render_thread(view, chat)}
    )


@require_safe
@for_members
def file(request: HttpRequest, chat: ProjectChat, file: UUID) -> HttpResponseBase:
    return send_original(request, shared_threads.get_attachment(chat, file))


@require_safe
@for_members
def image(request: HttpRequest, chat: ProjectChat, file: UUID) -> HttpResponseBase:
    return send_image(request, shared_threads.get_attachment(chat, file))


@require_safe
@for_members
def thumbnail(request: HttpRequest, chat: ProjectChat, file: UUID) -> HttpResponseBase:
    return send_thumbnail(request, shared_threads.get_attachment(chat, file))


@require_safe
@for_members
def reply_image(
    request: HttpRequest, chat: ProjectChat, message: UUID, position: int
) -> HttpResponse:
    return send_reply_image(shared_threads.get_image(chat, message, position))


@require_POST
@for_members
def copy(request: HttpRequest, chat: ProjectChat) -> HttpResponse:
    """Copy what the member sees of the chat into a chat of their own, and open it."""
    assert isinstance(request.user, User)
    try:
        conversation = _copy_in_steps(chat, request.user)
    except Refused as refused:
        messages.error(request, str(refused))
        return redirect("project-chat", chat.project.pk, chat.conversation.pk)
    worker().list_changed(request.user.pk)
    return redirect(conversation)


def _copy_in_steps(chat: ProjectChat, user: User) -> Conversation:
    """Copy it in short transactions, between which others can write."""
    copying = begin_copy(chat, user, worker().stored_bytes[user.pk])
    while not copying.step(user):
        pass
    return copying.conversation


def _render_thread(view: ThreadPage, chat: ProjectChat) -> SafeString:
    html_of_text = pool.render_texts(fragments.collect_texts(view.visible_messages))
    return fragments.shared_html(view.visible_messages, html_of_text, chat)


# Below the address of a chat: the view, and the name of its address.
PAGES = (
    ("", page, "project-chat"),
    ("earlier/<uuid:message>/", earlier, "project-chat-earlier"),
    ("files/<uuid:file>/", file, "project-chat-file"),
    ("files/<uuid:file>/image/", image, "project-chat-image"),
    ("files/<uuid:file>/thumbnail/", thumbnail, "project-chat-thumbnail"),
    ("images/<uuid:message>/<int:position>/", reply_image, "project-chat-reply-image"),
    ("copy/", copy, "copy-project-chat"),
)
