"""What is read of a conversation: earlier and later messages than the page has, and the outline of
what its owner asked in it.

htmx puts what these addresses answer with into the page, which asks for no more than is looked at.
"""

from collections.abc import Callable, Sequence
from uuid import UUID

from asgiref.sync import async_to_sync
from django.contrib.auth.decorators import login_required
from django.db.models.functions import Left
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.safestring import SafeString
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from chatapp import frames, rendering
from chatapp.chat.queries import number_of, uuid_of
from chatapp.models import Conversation, Message, NotHere, User, View
from chatapp.worker import worker

PAGE = 100  # prompts of an outline
BEGINNING = 200  # characters of a prompt


@require_GET
@never_cache
@login_required
def earlier(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The messages before the one that is named, in place of the link to them."""
    return _part(request, pk, "before", Conversation.earlier)


@require_GET
@never_cache
@login_required
def later(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Those after it; replies that run here as far as they have come, as a page has them."""
    live = async_to_sync(live_in)(pk)
    return _part(request, pk, "after", Conversation.later, live)


@require_GET
@never_cache
@login_required
def outline(request: HttpRequest, pk: UUID) -> HttpResponse:
    """A page of the prompts of a branch, each a way to it; the last page where none is named. The
    branch is that of `parent`, as a page says what the next prompt follows, or the standing one."""
    conversation = own(request, pk)
    prompts = conversation.prompts(uuid_of(request.GET.get("parent", "")))
    last = max(1, -(-len(prompts) // PAGE))
    page = min(number_of(request.GET.get("page", "")) or last, last)
    shown = prompts[(page - 1) * PAGE : page * PAGE]
    beginnings = Message.objects.annotate(beginning=Left("content", BEGINNING))
    texts = dict(beginnings.filter(pk__in=shown).values_list("pk", "beginning"))
    context = {
        "conversation": conversation,
        "prompts": [(prompt, texts[prompt]) for prompt in shown if prompt in texts],
        "first": (page - 1) * PAGE + 1,
        "total": len(prompts),
        "page": page,
        "last": last,
    }
    return render(request, "chat/_outline.html", context)


def own(request: HttpRequest, pk: UUID) -> Conversation:
    """The person's, where it is not in the trash."""
    assert isinstance(request.user, User)
    try:
        return Conversation.own(request.user, pk)
    except NotHere:
        raise Http404 from None


async def live_in(conversation: UUID) -> list[frames.ReplyView]:
    """The replies that run there in this process, as far as they have come; the event loop may
    tell."""
    return [running.live.view() for running in worker().replies.of(conversation)]


def html_of(view: View, live: Sequence[frames.ReplyView] = ()) -> SafeString:
    """Its messages, of which those `live` may be some; but not where one has ended since."""
    shown = [one for one in live if view.runs(one.message.pk)]
    streaming = {one.message.pk for one in shown}
    others = [message for message in view.shown if message.pk not in streaming]
    return frames.thread_html(view, rendering.rendered(frames.texts_of(others)), shown)


def _part(
    request: HttpRequest,
    pk: UUID,
    side: str,
    look: Callable[[Conversation, UUID], View],
    live: Sequence[frames.ReplyView] = (),
) -> HttpResponse:
    """What stands on a side of the message that is named there."""
    message = uuid_of(request.GET.get(side, ""))
    if message is None:
        raise Http404
    try:
        view = look(own(request, pk), message)
    except NotHere:
        raise Http404 from None
    return HttpResponse(html_of(view, live))
