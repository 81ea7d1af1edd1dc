"""Pages: the chat, its conversations, the help, the setup of the first account.

And what machines ask for: the probes and the metrics.
"""

from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlencode
from uuid import UUID, uuid4

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import aget_object_or_404, get_object_or_404, redirect, render
from django.utils.crypto import constant_time_compare
from django.utils.dateparse import parse_datetime
from django.utils.timezone import is_aware
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods
from prometheus_client import REGISTRY
from prometheus_client.exposition import choose_encoder

from chatapp import frames, readiness, rendering
from chatapp.accounts import confirm, is_setup_token, setup_token
from chatapp.catalogue import Offer
from chatapp.forms import SetupForm
from chatapp.generation import generations
from chatapp.metrics import database_up, layer_up
from chatapp.models import Conversation, Message, ReplyImage, User
from chatapp.models.locks import one_at_a_time

HELP = Path(__file__).parent / "demo" / "help.md"
SIDEBAR_PAGE = 60
SUGGESTIONS = [
    "What can you do?",
    "Show me a table of the planets",
    "Write a short code example in Python",
    "Explain a theorem, with the math",
]


@require_GET
@never_cache
@login_required
async def chat(request: HttpRequest) -> HttpResponse:
    offers = await generations().catalogue.offers()
    return await sync_to_async(_chat_page)(request, offers)


@require_GET
@never_cache
@login_required
async def conversation(request: HttpRequest, pk: UUID) -> HttpResponse:
    user = await request.auser()
    found = await aget_object_or_404(Conversation, pk=pk, user=user)
    offers = await generations().catalogue.offers()
    running = generations().running(found.pk)
    live = running.live.view() if running else None
    return await sync_to_async(_chat_page)(request, offers, found, live)


def _chat_page(
    request: HttpRequest,
    offers: list[Offer],
    conversation: Conversation | None = None,
    live: frames.ReplyView | None = None,
) -> HttpResponse:
    thread = conversation.thread(_uuid(request.GET.get("reply", ""))) if conversation else []
    head = thread[-1] if thread else None
    context: dict[str, object] = {
        "conversation": conversation,
        "head": head,
        "thread": frames.thread_html(thread, _html_of(thread, live), live),
        **_models(offers, _chosen_model(offers, thread)),
        "prompt_id": uuid4(),
        "suggestions": SUGGESTIONS,
    }
    if request.headers.get("HX-Request") and not request.headers.get("HX-History-Restore-Request"):
        return render(request, "chat/_main.html", context)
    context |= _sidebar(request)
    context["socket_url"] = _socket_url(conversation, head)
    return render(request, "chat/page.html", context)


@require_GET
@never_cache
@login_required
async def models(request: HttpRequest) -> HttpResponse:
    """The picker and what there is to say of it, for a page that waited for no slow upstream."""
    user = await request.auser()
    assert isinstance(user, User)
    pk = _uuid(request.GET.get("conversation", ""))
    found = await user.conversations.filter(pk=pk).afirst() if pk else None
    offers = await generations().catalogue.offers(wait_for_all=True)
    return await sync_to_async(_models_part)(request, offers, found)


def _models_part(
    request: HttpRequest, offers: list[Offer], conversation: Conversation | None
) -> HttpResponse:
    thread = conversation.thread() if conversation else []
    chosen = _chosen_model(offers, thread, request.GET.get("model", ""))
    context = {"conversation": conversation, **_models(offers, chosen)}
    return render(request, "chat/_models.html", context)


def _models(offers: list[Offer], chosen: str) -> dict[str, object]:
    awaits = any(offer.is_awaited for offer in offers)
    return {"offers": offers, "chosen_model": chosen, "awaits_models": awaits}


def _html_of(thread: list[Message], live: frames.ReplyView | None) -> rendering.HtmlOf:
    streaming = live.message.pk if live else None
    others = [message for message in thread if message.pk != streaming]
    return rendering.rendered(frames.texts_of(others))


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _chosen_model(offers: list[Offer], thread: list[Message], shown: str = "") -> str:
    """The model of the thread's last reply where it is still offered; or else what the page shows
    already, or the first one."""
    offered = [value for offer in offers for value, _ in offer.choices]
    used = [f"{message.upstream_id}/{message.model}" for message in reversed(thread)]
    return next((value for value in (*used, shown, *offered) if value in offered), "")


def _socket_url(conversation: Conversation | None, head: Message | None) -> str:
    """The socket of a tab that shows this conversation, up to and with this message."""
    if conversation is None:
        return "/ws/"
    seen = {"conversation": str(conversation.pk)}
    if head:
        seen |= {"head": str(head.pk), "ending": head.ending}
    return f"/ws/?{urlencode(seen)}"


@require_GET
@never_cache
@login_required
def conversations(request: HttpRequest) -> HttpResponse:
    """The sidebar's list; with `before` and `id`, the page of it that follows that conversation."""
    context = _sidebar(request)
    page = "_conversation_page" if "before" in request.GET else "_conversation_list"
    return render(request, f"chat/{page}.html", context)


def _sidebar(request: HttpRequest) -> dict[str, object]:
    assert isinstance(request.user, User)
    found = request.user.conversations.all()
    if before := _moment(request.GET.get("before", "")):
        found = found.after(before, _uuid(request.GET.get("id", "")))
    page = list(found[: SIDEBAR_PAGE + 1])
    return {
        "conversations": page[:SIDEBAR_PAGE],
        "last": page[SIDEBAR_PAGE - 1] if len(page) > SIDEBAR_PAGE else None,
        "running": set(
            Message.objects.streaming()
            .filter(conversation__in=page)
            .values_list("conversation_id", flat=True)
        ),
    }


@require_GET
@login_required
def confidence(request: HttpRequest, pk: UUID) -> HttpResponse:
    """A reply's tokens, each with the probability that the model gave it."""
    reply = get_object_or_404(Message, pk=pk, conversation__user=request.user)
    tokens = [_confidence_of(*token) for token in reply.logprobs or ()]
    return render(request, "chat/_confidence.html", {"tokens": tokens})


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


def _moment(text: str) -> datetime | None:
    try:
        moment = parse_datetime(text)
        return moment.astimezone(UTC) if moment and is_aware(moment) else None
    except (ValueError, OverflowError):  # a day that no calendar has, or that is none in UTC
        return None


@require_GET
@login_required
def help_page(request: HttpRequest) -> HttpResponse:
    text = HELP.read_text()
    return render(request, "help.html", {"text": rendering.rendered([text])(text)})


@require_GET
def forgotten_password(request: HttpRequest) -> HttpResponse:
    """Whom to ask: without mail there is nothing that this could send, and it asks nothing."""
    return render(request, "account/password_reset.html")


@require_http_methods(["GET", "POST"])
@never_cache
def setup(request: HttpRequest, token: str) -> HttpResponse:
    """The one-time link that the terminal prints: makes the first account, an administrator."""
    if setup_token() is None:
        return redirect("chat")
    if not is_setup_token(token):
        raise Http404("This is not the setup link that the server printed.")
    form = SetupForm(request.POST or None)
    if form.is_valid():
        with transaction.atomic(), one_at_a_time("setup"):
            is_first = is_setup_token(token)
            user = form.save() if is_first else None
        if user:
            login(request, user)
            confirm(request)
        return redirect("chat")
    response = render(request, "account/setup.html", {"form": form})
    # Or the proxy's log would have the address as what refers to each style sheet.
    response["Referrer-Policy"] = "strict-origin"
    return response


def nothing(request: HttpRequest, **_arguments: object) -> HttpResponse:
    raise Http404("There is nothing here.")


@require_GET
def healthz(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok", content_type="text/plain")


@require_GET
@never_cache
async def readyz(request: HttpRequest) -> HttpResponse:
    """Whether this process can work; a part that `exclude` names is told and not minded."""
    parts = await readiness.parts()
    is_ready = readiness.failing(parts) <= set(request.GET.getlist("exclude"))
    return JsonResponse(parts, status=200 if is_ready else 503)


@require_GET
@never_cache
async def metrics(request: HttpRequest) -> HttpResponse:
    """For Prometheus, and whoever else says the token."""
    token = settings.CHATAPP_METRICS_TOKEN
    if not token:
        raise Http404("CHATAPP_METRICS_TOKEN is not set.")
    if not constant_time_compare(request.headers.get("Authorization", ""), f"Bearer {token}"):
        return HttpResponse(status=401, headers={"WWW-Authenticate": 'Bearer realm="metrics"'})
    parts = await readiness.parts()
    database_up.set(bool(parts["database"]))
    layer_up.set(parts["redis"] is not False)
    encode, content_type = choose_encoder(request.headers.get("Accept", ""))
    return HttpResponse(encode(REGISTRY), content_type=content_type)
