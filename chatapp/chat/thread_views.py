"""Views of parts of a conversation: earlier and later messages, and the outline of its prompts.

htmx inserts the responses into the page, which loads only what is scrolled into view.
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

from chatapp.chat.queries import number_of, uuid_of
from chatapp.models import Conversation, Message, NotHere, ThreadPage, User
from chatapp.realtime.worker import worker
from chatapp.rendering import fragments, pool

PAGE = 100  # prompts per page of an outline
BEGINNING = 200  # characters of a prompt shown there


@require_GET
@never_cache
@login_required
def earlier(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The messages before the one in the query, to replace the link to them."""
    return _part(request, pk, "before", Conversation.earlier)


@require_GET
@never_cache
@login_required
def later(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The messages after the one in the query, with the text so far of replies that run here."""
    live = async_to_sync(live_in)(pk)
    return _part(request, pk, "after", Conversation.later, live)


@require_GET
@never_cache
@login_required
def outline(request: HttpRequest, pk: UUID) -> HttpResponse:
    """A page of links to a branch's prompts; the last page by default.

    The branch is that of the message `parent`, by default the one last read.
    """
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
    """Return the user's conversation; raises `Http404`, also if it is in the trash."""
    assert isinstance(request.user, User)
    try:
        return Conversation.own(request.user, pk)
    except NotHere:
        raise Http404 from None


async def live_in(conversation: UUID) -> list[fragments.ReplyView]:
    """Return the replies running in the conversation in this process. Only for the event loop."""
    return [running.live.view() for running in worker().replies.of(conversation)]


def html_of(view: ThreadPage, live: Sequence[fragments.ReplyView] = ()) -> SafeString:
    """Draw the view's messages; running ones come from `live`, unless they have ended meanwhile."""
    shown = [one for one in live if view.runs(one.message.pk)]
    streaming = {one.message.pk for one in shown}
    others = [message for message in view.shown if message.pk not in streaming]
    return fragments.thread_html(view, pool.rendered(fragments.texts_of(others)), shown)


def _part(
    request: HttpRequest,
    pk: UUID,
    side: str,
    select: Callable[[Conversation, UUID], ThreadPage],
    live: Sequence[fragments.ReplyView] = (),
) -> HttpResponse:
    """Return the messages on one side (`before` or `after`) of the message the query names."""
    message = uuid_of(request.GET.get(side, ""))
    if message is None:
        raise Http404
    try:
        view = select(own(request, pk), message)
    except NotHere:
        raise Http404 from None
    return HttpResponse(html_of(view, live))
