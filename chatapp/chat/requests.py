"""Views that show what a model is sent: for the next prompt of a chat, and for a reply."""

import json
from dataclasses import dataclass
from uuid import UUID

from asgiref.sync import async_to_sync
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from chatapp.chat import thread_views
from chatapp.chat.form_fields import models_in
from chatapp.chat.queries import uuid_of
from chatapp.models import (
    ChatSettings,
    Conversation,
    Message,
    ModelChoice,
    Refused,
    RequestSettings,
    Turn,
    Upstream,
    User,
)
from chatapp.models.conversations.turns import tool_servers
from chatapp.realtime.generation import shown_request

YOUR_MESSAGE = "(your next message)"
NOT_READABLE = (
    "This can't be shown, because you may use this chat's preset but not read its instructions."
)
SHOWN_CHARACTERS = 200_000


@require_GET
@never_cache
@login_required
def next_request(request: HttpRequest, pk: UUID) -> HttpResponse:
    """What each of the chosen models will be sent with the next prompt."""
    assert isinstance(request.user, User)
    conversation = thread_views.own(request, pk)
    if not (models := models_in(request)):
        return _shown(request, Shown(problem="Choose a model first."))
    return _shown(request, *(_next(conversation, model, request) for model in models))


def _next(conversation: Conversation, model: ModelChoice, request: HttpRequest) -> "Shown":
    assert isinstance(request.user, User)
    try:
        upstream = Upstream.offering(model, request.user.pk)
        settings = ChatSettings.of(conversation).for_model(model)
        off_servers = settings.off_servers or ()
        asked_with = RequestSettings.now(settings, request.user)
    except Refused as refused:
        return Shown(model, problem=str(refused))
    prompt = Message(
        conversation=conversation, role=Message.Role.USER, content=YOUR_MESSAGE, file_count=0
    )
    reply = Message(role=Message.Role.ASSISTANT, upstream=upstream, model=model.name)
    turn = Turn(
        conversation.history_through(uuid_of(request.GET.get("parent", ""))),
        prompt,
        reply,
        tool_servers(upstream, request.user.pk, asked_with, off_servers),
        asked_with,
    )
    return _request_of(turn, request, model)


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
    off_servers = ChatSettings.of(reply.conversation).off_servers or ()
    turn = Turn(
        reply.conversation.history_until(reply.parent.parent_id),
        reply.parent,
        reply,
        tool_servers(reply.upstream, request.user.pk, reply.request_settings, off_servers),
        reply.request_settings,
    )
    return _shown(request, _request_of(turn, request))


@dataclass(frozen=True)
class Shown:
    """A request as JSON, or why it can't be shown."""

    model: ModelChoice | None = None
    text: str = ""
    problem: str = ""

    @property
    def beginning(self) -> str:
        return self.text[:SHOWN_CHARACTERS]

    @property
    def left_out(self) -> int:
        return len(self.text) - SHOWN_CHARACTERS

    def download(self, request: HttpRequest) -> str:
        """Return the address that downloads this request."""
        query = request.GET.copy()
        query.pop("others", None)
        if self.model:
            query["model"] = str(self.model)
        query["download"] = "1"
        return f"{request.path}?{query.urlencode()}"


def _request_of(turn: Turn, request: HttpRequest, model: ModelChoice | None = None) -> Shown:
    assert isinstance(request.user, User)
    if turn.asked_with and not turn.asked_with.is_readable(request.user):
        return Shown(model, problem=NOT_READABLE)
    body = async_to_sync(shown_request)(turn)
    return Shown(model, json.dumps(body, ensure_ascii=False, indent=2))


def _shown(request: HttpRequest, first: Shown, *others: Shown) -> HttpResponse:
    if "download" in request.GET and first.text:
        headers = {"Content-Disposition": 'attachment; filename="request.json"'}
        return HttpResponse(first.text, content_type="application/json", headers=headers)
    shown = [(one, one.download(request)) for one in (first, *others)]
    return render(request, "chat/_request.html", {"shown": shown})
