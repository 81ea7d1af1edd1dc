"""The pages with which owners share their chats: the dialog, and the list of their links."""

from collections.abc import Iterable
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from chatapp.accounts.links import absolute
from chatapp.accounts.people_fields import suggested_people
from chatapp.chat import thread_views
from chatapp.chat.queries import parse_uuid
from chatapp.models import Conversation, Installation, Refused, SharedChat, User
from chatapp.realtime.worker import worker
from chatapp.sharing.forms import ShareForm


@require_http_methods(["GET", "POST"])
@never_cache
@login_required
def share(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The dialog that shares a chat, up to the message in the query or its end.

    It lists the chat's links; after sharing, it shows the new one.
    """
    assert isinstance(request.user, User)
    conversation = thread_views.get_own_conversation(request, pk)
    form = ShareForm(request.POST if request.method == "POST" else None, request.user)
    message = parse_uuid(request.GET.get("message", ""))
    link = token = None
    if form.is_valid():
        try:
            share_request = form.share(conversation, message)
            link, token = share_request.store(request.user)
        except Refused as refused:
            form.add_error(None, str(refused))
    context = {
        "conversation": conversation,
        "message": message,
        "form": form,
        "link": link,
        "address": _address(request, token) if token else "",
        "colleagues": suggested_people(request.user),
        "may_share": Installation.load().lets_share(request.user),
        "links": _with_addresses(request, _find_links(conversation)),
    }
    context["is_part"] = is_part = "HX-Request" in request.headers
    part = "sharing/_share.html" if request.method == "POST" else "sharing/_dialog.html"
    return render(request, part if is_part else "sharing/share.html", context)


@require_GET
@never_cache
@login_required
def links(request: HttpRequest) -> HttpResponse:
    """A person's shared links."""
    assert isinstance(request.user, User)
    own = SharedChat.objects.for_user(request.user).with_names()
    return render(request, "sharing/links.html", {"links": _with_addresses(request, own)})


@require_POST
@login_required
def revoke(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Revoke a link. Open tabs are told at once."""
    link = _get_own_link(request, pk)
    conversation: Conversation = link.conversation
    assert isinstance(request.user, User)
    link.revoke(request.user)
    worker().shares_changed(conversation.pk)
    messages.success(request, "Revoked. The link no longer works.")
    return redirect("shared-links")


@require_POST
@login_required
def renew(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Replace a link by a new one."""
    link = _get_own_link(request, pk)
    link.renew()
    worker().shares_changed(link.conversation_id)
    messages.success(request, "The old link no longer works. Copy the new one below.")
    return redirect("shared-links")


def _find_links(conversation: Conversation) -> Iterable[SharedChat]:
    active = SharedChat.objects.active().filter(conversation=conversation)
    named_links: Iterable[SharedChat] = active.with_names()
    return named_links


def _with_addresses(
    request: HttpRequest, links: Iterable[SharedChat]
) -> list[tuple[SharedChat, str]]:
    """Return each link with its address, or with "" if it can't be shown again."""
    tokens = [(link, link.token) for link in links]
    return [(link, _address(request, token) if token else "") for link, token in tokens]


def _get_own_link(request: HttpRequest, pk: UUID) -> SharedChat:
    assert isinstance(request.user, User)
    own = SharedChat.objects.for_user(request.user).with_names()
    link: SharedChat = get_object_or_404(own, pk=pk)
    return link


def _address(request: HttpRequest, token: str) -> str:
    return absolute(request, reverse("shared-chat", args=[token]))
