"""Pages: the chat, what a reply brought besides its text, and the help."""

from collections.abc import Sequence
from urllib.parse import urlencode
from uuid import UUID, uuid4

from asgiref.sync import async_to_sync
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from chatapp import frames, rendering
from chatapp.catalogue import Offer
from chatapp.chat import sidebar
from chatapp.chat.first_steps import first_steps
from chatapp.chat.queries import uuid_of
from chatapp.demo.help_text import help_for
from chatapp.demo.suggestions import SUGGESTIONS
from chatapp.models import Conversation, Message, ReplyImage, Suggestion, Upstream, User
from chatapp.worker import worker


@require_GET
@never_cache
@login_required
def chat(request: HttpRequest) -> HttpResponse:
    return _chat_page(request)


@require_GET
@never_cache
@login_required
def conversation(request: HttpRequest, pk: UUID) -> HttpResponse:
    assert isinstance(request.user, User)
    return _chat_page(request, get_object_or_404(request.user.conversations, pk=pk))


def _chat_page(request: HttpRequest, conversation: Conversation | None = None) -> HttpResponse:
    assert isinstance(request.user, User)
    upstreams = list(Upstream.objects.filter(enabled=True))
    offers, live = async_to_sync(_known_to_worker)(upstreams, conversation)
    thread = conversation.thread(uuid_of(request.GET.get("reply", ""))) if conversation else []
    head = thread[-1] if thread else None
    used = _models_of(thread) if conversation else _models_used_last(request)
    context: dict[str, object] = {
        "conversation": conversation,
        "head": head,
        "thread": frames.thread_html(thread, _html_of(thread, live), live),
        **_models(offers, _chosen_model(offers, used)),
        "prompt_id": uuid4(),
        "suggestions": [] if thread else _suggestions(offers),
        "first_steps": [] if conversation else first_steps(request.user),
    }
    if request.headers.get("HX-Request") and not request.headers.get("HX-History-Restore-Request"):
        return render(request, "chat/_main.html", context)
    context |= sidebar.context_of(request)
    context["socket_url"] = _socket_url(conversation, head)
    return render(request, "chat/page.html", context)


async def _known_to_worker(
    upstreams: list[Upstream], conversation: Conversation | None
) -> tuple[list[Offer], frames.ReplyView | None]:
    """What is offered, and the reply that runs there as far as it has come, which only the event
    loop may tell."""
    offers = await worker().catalogue.offers(upstreams=upstreams)
    running = worker().replies.get(conversation.pk) if conversation else None
    return offers, running.live.view() if running else None


@require_GET
@never_cache
@login_required
def models(request: HttpRequest) -> HttpResponse:
    """The picker and what there is to say of it, for a page that waited for no slow upstream."""
    assert isinstance(request.user, User)
    pk = uuid_of(request.GET.get("conversation", ""))
    conversation = request.user.conversations.filter(pk=pk).first() if pk else None
    offers = async_to_sync(_all_offers)()
    shown = request.GET.get("model", "")
    used = _models_of(conversation.thread()) if conversation else []
    chosen = _chosen_model(
        offers, [*used, shown] if shown else [*used, *_models_used_last(request)]
    )
    context = {"conversation": conversation, **_models(offers, chosen)}
    return render(request, "chat/_models.html", context)


async def _all_offers() -> list[Offer]:
    return await worker().catalogue.offers(wait_for_all=True)


def _models(offers: list[Offer], chosen: str) -> dict[str, object]:
    awaits = any(offer.is_awaited for offer in offers)
    return {"offers": offers, "chosen_model": chosen, "awaits_models": awaits}


def _html_of(thread: list[Message], live: frames.ReplyView | None) -> rendering.HtmlOf:
    streaming = live.message.pk if live else None
    others = [message for message in thread if message.pk != streaming]
    return rendering.rendered(frames.texts_of(others))


def _chosen_model(offers: list[Offer], wanted: list[str]) -> str:
    """The first of those wanted that is offered; or else the first that is offered at all."""
    offered = {value: None for offer in offers for value, _ in offer.choices}
    return next((value for value in (*wanted, *offered) if value in offered), "")


def _models_of(thread: list[Message]) -> list[str]:
    """What a conversation's replies were asked of, the last one first."""
    return [f"{message.upstream_id}/{message.model}" for message in reversed(thread)]


def _models_used_last(request: HttpRequest) -> list[str]:
    """What a new chat begins with in a browser that has kept no choice: what the person asked last,
    wherever that was."""
    assert isinstance(request.user, User)
    last = request.user.conversations.first()
    used = last.model_used_last if last else None
    return [f"{used.upstream}/{used.name}"] if used else []


def _suggestions(offers: list[Offer]) -> Sequence[str]:
    """An administrator's; the demo's own where there are none and nobody else answers."""
    is_demo = all(offer.upstream.is_demo for offer in offers)
    return Suggestion.shown() or (SUGGESTIONS if offers and is_demo else ())


def _socket_url(conversation: Conversation | None, head: Message | None) -> str:
    """The socket of a tab that shows this conversation, up to and with this message."""
    if conversation is None:
        return "/ws/"
    seen = {"conversation": str(conversation.pk)}
    if head:
        seen |= {"head": str(head.pk), "ending": head.ending}
    return f"/ws/?{urlencode(seen)}"


@require_GET
@login_required
def confidence(request: HttpRequest, pk: UUID) -> HttpResponse:
    """A reply's tokens, each with the probability that the model gave it."""
    reply = get_object_or_404(Message, pk=pk, conversation__user=request.user)
    tokens = [_confidence_of(*token) for token in reply.logprobs or ()]
    return render(request, "chat/_confidence.html", {"tokens": tokens})


@require_GET
@never_cache
@login_required
def reply_markdown(request: HttpRequest, pk: UUID) -> HttpResponse:
    """A reply as the model wrote it, as far as it is stored."""
    replies = Message.objects.filter(role=Message.Role.ASSISTANT).defer("logprobs")
    reply = get_object_or_404(replies, pk=pk, conversation__user=request.user)
    return HttpResponse(reply.said, content_type="text/markdown; charset=utf-8")


@require_GET
@login_required
def reply_image(request: HttpRequest, pk: UUID, position: int) -> HttpResponse:
    """An image that came with a reply."""
    assert isinstance(request.user, User)
    images = ReplyImage.objects.readable_by(request.user)
    image = get_object_or_404(images, message=pk, position=position)
    headers = {
        "Cache-Control": "no-store",  # or whoever has the browser next would find it there
        "Content-Disposition": "inline",
        "X-Content-Type-Options": "nosniff",
        "Cross-Origin-Resource-Policy": "same-origin",
    }
    return HttpResponse(bytes(image.data), content_type=image.media_type, headers=headers)


def _confidence_of(
    text: str, probability: float, top: list[tuple[str, float]]
) -> dict[str, object]:
    others = ", ".join(f"{other!r} {share:.1%}" for other, share in top)
    title = f"{probability:.1%}" + (f"; likeliest: {others}" if others else "")
    return {"text": text, "title": title, "band": min(9, int(probability * 10))}


@require_GET
@login_required
def help_page(request: HttpRequest) -> HttpResponse:
    assert isinstance(request.user, User)
    text = help_for(request.user.is_staff)
    return render(request, "help.html", {"text": rendering.rendered([text])(text)})
