"""Views that show what a model is sent: for the next prompt of a chat, and for a reply."""

import json
from collections.abc import Mapping
from uuid import UUID

from asgiref.sync import async_to_sync
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from chatapp.chat import thread_views
from chatapp.chat.form_fields import ModelField
from chatapp.chat.queries import uuid_of
from chatapp.models import (
    ChatSettings,
    Message,
    Refused,
    RequestSettings,
    Turn,
    Upstream,
    User,
)
from chatapp.models.conversations.turns import tool_servers
from chatapp.realtime.generation import shown_request
from chatapp.realtime.worker import worker

YOUR_MESSAGE = "(your next message)"
NOT_READABLE = (
    "This can't be shown, because you may use this chat's preset but not read its instructions."
)
SHOWN_CHARACTERS = 200_000


@require_GET
@never_cache
@login_required
def next_request(request: HttpRequest, pk: UUID) -> HttpResponse:
    """What the chosen model will be sent with the next prompt."""
    assert isinstance(request.user, User)
    conversation = thread_views.own(request, pk)
    model = ModelField(required=False).to_python(request.GET.get("model"))
    if model is None:
        return _shown(request, None, "Choose a model first.")
    try:
        upstream = Upstream.offering(model, request.user.pk)
        asked_with = RequestSettings.now(ChatSettings.of(conversation), request.user)
    except Refused as refused:
        return _shown(request, None, str(refused))
    prompt = Message(
        conversation=conversation, role=Message.Role.USER, content=YOUR_MESSAGE, file_count=0
    )
    reply = Message(role=Message.Role.ASSISTANT, upstream=upstream, model=model.name)
    turn = Turn(
        conversation.history_through(uuid_of(request.GET.get("parent", ""))),
        prompt,
        reply,
        tool_servers(upstream, request.user.pk, asked_with),
        asked_with,
    )
    return _request_of(turn, request)


@require_GET
@never_cache
@login_required
def request_of_reply(request: HttpRequest, pk: UUID) -> HttpResponse:
    """What the model was sent for a reply, from what is stored.

    Tools and an administrator's parameters are those of today.
    """
    assert isinstance(request.user, User)
    replies = Message.objects.of(request.user).filter(role=Message.Role.ASSISTANT)
    found = replies.select_related(
        "conversation", "parent", "upstream", "request_settings__preset_version__target"
    )
    reply = get_object_or_404(found.defer("logprobs"), pk=pk)
    if reply.upstream is None or reply.parent is None:
        raise Http404("Its provider is no longer connected.")
    reply.parent.conversation = reply.conversation
    reply.parent.load_files()
    if reply.request_settings:
        reply.request_settings.load_files()
    turn = Turn(
        reply.conversation.history_until(reply.parent.parent_id),
        reply.parent,
        reply,
        tool_servers(reply.upstream, request.user.pk, reply.request_settings),
        reply.request_settings,
    )
    return _request_of(turn, request)


def _request_of(turn: Turn, request: HttpRequest) -> HttpResponse:
    assert isinstance(request.user, User)
    if turn.asked_with and not turn.asked_with.is_readable(request.user):
        return _shown(request, None, NOT_READABLE)
    return _shown(request, async_to_sync(shown_request)(turn, worker().unsupported))


def _shown(
    request: HttpRequest, body: Mapping[str, object] | None, problem: str = ""
) -> HttpResponse:
    text = json.dumps(body, ensure_ascii=False, indent=2) if body else ""
    if "download" in request.GET and body:
        headers = {"Content-Disposition": 'attachment; filename="request.json"'}
        return HttpResponse(text, content_type="application/json", headers=headers)
    context = {
        "text": text[:SHOWN_CHARACTERS],
        "left_out": len(text) - SHOWN_CHARACTERS,
        "download": f"{request.get_full_path()}{'&' if request.GET else '?'}download=1",
        "problem": problem,
    }
    return render(request, "chat/_request.html", context)
