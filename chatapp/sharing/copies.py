"""A reader continues a shared chat in a chat of their own."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods
from django.views.defaults import page_not_found

from chatapp.models import ChatNotFound, Conversation, Refused, SharedChat, User
from chatapp.models.sharing.copies import begin_copy
from chatapp.realtime.worker import worker
from chatapp.sharing.access import HEADERS
from chatapp.sharing.views import hidden_parts

# With "no-referrer", the browser would send no origin with the form, which would then be refused.
ORIGIN_ONLY = {"Referrer-Policy": "strict-origin"}


@require_http_methods(["GET", "POST"])
def copy(request: HttpRequest, token: str) -> HttpResponseBase:
    """Say what is copied; then copy what the person sees of the chat, and open the copy."""
    response = _copy(request, token)
    for name, value in (HEADERS | ORIGIN_ONLY).items():
        response.headers[name] = value
    return response


@login_required
def _copy(request: HttpRequest, token: str) -> HttpResponse:
    assert isinstance(request.user, User)
    link = SharedChat.find(token, request.user)
    if link is None:
        return page_not_found(request, Http404())
    if request.method == "POST":
        try:
            conversation = _copy_in_steps(link, request.user)
        except ChatNotFound:
            return page_not_found(request, Http404())
        except Refused as refused:
            messages.error(request, str(refused))
        else:
            worker().list_changed(request.user.pk)
            return redirect(conversation)
    context = {"link": link, "hidden": hidden_parts(link)}
    return render(request, "sharing/copy.html", context)


def _copy_in_steps(link: SharedChat, user: User) -> Conversation:
    """Copy it in short transactions, between which others can write."""
    copying = begin_copy(link, user, worker().stored_bytes[user.pk])
    while not copying.step(user):
        pass
    return copying.conversation
