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
from chatapp.chat.queries import parse_uuid
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
from chatapp.models.conversations.turns.turn import tool_servers
from chatapp.realtime.generation import build_request_preview

YOUR_MESSAGE = "(your next message)"
NOT_READABLE = (
    "This can't be shown, because you may use this chat's preset but not read its instructions."
)
SHOWN_CHARACTERS = 200_000


@require_GET
@never_cache
@login_required
def next_request(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show the request that each of the chosen models will get with the next prompt."""
    assert isinstance(request.user, User)
    conversation = thread_views.get_own_conversation(request, pk)
    if not (models := models_in(request)):
        return _render_requests(request, ShownRequest(problem="Choose a model first."))
    return _render_requests(
        request, *(_build_next_request(conversation, model, request) for model in models)
    )


def _build_next_request(
    conversation: Conversation, model: ModelChoice, request: HttpRequest
) -> "ShownRequest":
    assert isinstance(request.user, User)
    try:
        upstream = Upstream.get_for_choice(model, request.user.pk)
        settings = ChatSettings.for_conversation(conversation).for_model(model)
        off_servers = settings.off_servers or ()
        request_settings = RequestSettings.for_chat(settings, request.user)
    except Refused as refused:
        return ShownRequest(model, problem=str(refused))
    prompt = Message(
        conversation=conversation, role=Message.Role.USER, content=YOUR_MESSAGE, file_count=0
    )
    reply = Message(role=Message.Role.ASSISTANT, upstream=upstream, model=model.name)
    turn = Turn(
        conversation.history_through(parse_uuid(request.GET.get("parent", ""))),
        prompt,
        reply,
        tool_servers(upstream, request.user.pk, request_settings, off_servers),
        request_settings,
    )
    return _build_request(turn, request, model)


@require_GET
@never_cache
@login_required
def show_reply_request(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show the request that the model got for a reply, rebuilt from stored data.

    Tools and an administrator's parameters are those of today.
    """
    assert isinstance(request.user, User)
    replies = Message.objects.for_user(request.user).filter(role=Message.Role.ASSISTANT)
    related_replies = replies.select_related(
        "conversation", "parent", "upstream", "request_settings__preset_version__target"
    )
    reply = get_object_or_404(related_replies.defer("logprobs"), pk=pk)
    if reply.upstream is None or reply.parent is None:
        raise Http404("Its provider is no longer connected.")
    reply.parent.conversation = reply.conversation
    reply.parent.load_files()
    if reply.request_settings:
        reply.request_settings.load_files()
    off_servers = ChatSettings.for_conversation(reply.conversation).off_servers or ()
    turn = Turn(
        reply.conversation.history_until(reply.parent.parent_id),
        reply.parent,
        reply,
        tool_servers(reply.upstream, request.user.pk, reply.request_settings, off_servers),
        reply.request_settings,
    )
    return _render_requests(request, _build_request(turn, request))


@dataclass(frozen=True)
class ShownRequest:
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


def _build_request(
    turn: Turn, request: HttpRequest, model: ModelChoice | None = None
) -> ShownRequest:
    assert isinstance(request.user, User)
    if turn.request_settings and not turn.request_settings.is_readable(request.user):
        return ShownRequest(model, problem=NOT_READABLE)
    body = async_to_sync(build_request_preview)(turn)
    return ShownRequest(model, json.dumps(body, ensure_ascii=False, indent=2))


def _render_requests(
    request: HttpRequest, first: ShownRequest, *others: ShownRequest
) -> HttpResponse:
    if "download" in request.GET and first.text:
        headers = {"Content-Disposition": 'attachment; filename="request.json"'}
        return HttpResponse(first.text, content_type="application/json", headers=headers)
    requests_and_links = [
        (model_request, model_request.download(request)) for model_request in (first, *others)
    ]
    return render(request, "chat/_request.html", {"shown": requests_and_links})
