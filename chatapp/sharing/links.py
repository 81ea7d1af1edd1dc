"""The pages with which owners share their chats: the dialog, and the list of their links."""

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
from chatapp.chat.queries import uuid_of
from chatapp.models import Conversation, Installation, Refused, SharedChat, User
from chatapp.realtime.worker import worker
from chatapp.sharing.forms import ShareForm


@require_http_methods(["GET", "POST"])
@never_cache
@login_required
def share(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The dialog that shares a chat, up to the message in the query or its end.

    After sharing, it shows the link, once.
    """
    assert isinstance(request.user, User)
    conversation = thread_views.own(request, pk)
    form = ShareForm(request.POST if request.method == "POST" else None, request.user)
    message = uuid_of(request.GET.get("message", ""))
    link = token = None
    if form.is_valid():
        try:
            wanted = form.share(conversation, message)
            link, token = wanted.store(request.user)
        except Refused as refused:
            form.add_error(None, str(refused))
    context = {
        "conversation": conversation,
        "message": message,
        "form": form,
        "link": link,
        "address": _address(request, token) if token else "",
        "colleagues": suggested_people(request.user),
        "may_share": Installation.this().lets_share(request.user),
        "count": SharedChat.objects.living().filter(conversation=conversation).count(),
    }
    context["is_part"] = is_part = "HX-Request" in request.headers
    part = "sharing/_share.html" if request.method == "POST" else "sharing/_dialog.html"
    return render(request, part if is_part else "sharing/share.html", context)


@require_GET
@never_cache
@login_required
def links(request: HttpRequest) -> HttpResponse:
    """A person's shared links."""
    return _list(request)


@require_POST
@login_required
def revoke(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Revoke a link. Open tabs are told at once."""
    link = _own(request, pk)
    conversation: Conversation = link.conversation
    assert isinstance(request.user, User)
    link.revoke(request.user)
    worker().shares_changed(conversation.pk)
    messages.success(request, "Revoked. The link no longer works.")
    return redirect("shared-links")


@require_POST
@never_cache
@login_required
def renew(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Replace a link by a new one, which is shown once."""
    link = _own(request, pk)
    token = link.renew()
    worker().shares_changed(link.conversation_id)
    return _list(request, renewed=link.pk, address=_address(request, token))


def _list(request: HttpRequest, renewed: UUID | None = None, address: str = "") -> HttpResponse:
    assert isinstance(request.user, User)
    own = SharedChat.objects.of(request.user).with_names()
    context = {"links": own, "renewed": renewed, "address": address}
    return render(request, "sharing/links.html", context)


def _own(request: HttpRequest, pk: UUID) -> SharedChat:
    assert isinstance(request.user, User)
    own = SharedChat.objects.of(request.user).with_names()
    link: SharedChat = get_object_or_404(own, pk=pk)
    return link


def _address(request: HttpRequest, token: str) -> str:
    return absolute(request, reverse("shared-chat", args=[token]))
