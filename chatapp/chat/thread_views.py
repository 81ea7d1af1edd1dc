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

from chatapp.chat.queries import parse_number, parse_uuid
from chatapp.models import ChatNotFound, Conversation, Message, ThreadPage, User
from chatapp.realtime.worker import worker
from chatapp.rendering import fragments, pool

PAGE = 100  # prompts per page of an outline
BEGINNING = 200  # characters of a prompt shown there


@require_GET
@never_cache
@login_required
def earlier(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The messages before the one in the query, to replace the link to them."""
    return _render_part(request, pk, "before", Conversation.earlier)


@require_GET
@never_cache
@login_required
def later(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The messages after the one in the query, with the text so far of replies that run here."""
    live = async_to_sync(live_in)(pk)
    return _render_part(request, pk, "after", Conversation.later, live)


@require_GET
@never_cache
@login_required
def outline(request: HttpRequest, pk: UUID) -> HttpResponse:
    """A page of links to a branch's prompts; the last page by default.

    The branch is that of the message `parent`, by default the one last read.
    """
    conversation = get_own_conversation(request, pk)
    prompts = conversation.prompts(parse_uuid(request.GET.get("parent", "")))
    last = max(1, -(-len(prompts) // PAGE))
    page = min(parse_number(request.GET.get("page", "")) or last, last)
    page_prompts = prompts[(page - 1) * PAGE : page * PAGE]
    beginnings = Message.objects.annotate(beginning=Left("content", BEGINNING))
    texts = dict(beginnings.filter(pk__in=page_prompts).values_list("pk", "beginning"))
    context = {
        "conversation": conversation,
        "prompts": [(prompt, texts[prompt]) for prompt in page_prompts if prompt in texts],
        "first": (page - 1) * PAGE + 1,
        "total": len(prompts),
        "page": page,
        "last": last,
    }
    return render(request, "chat/_outline.html", context)


def get_own_conversation(request: HttpRequest, pk: UUID) -> Conversation:
    """Return the user's conversation; raises `Http404`, also if it is in the trash."""
    assert isinstance(request.user, User)
    try:
        return Conversation.get_own(request.user, pk)
    except ChatNotFound:
        raise Http404 from None


async def live_in(conversation: UUID) -> list[fragments.ReplyView]:
    """Return the replies running in the conversation in this process. Only for the event loop."""
    return [running.live.view() for running in worker().replies.for_conversation(conversation)]


def render_thread_page(view: ThreadPage, live: Sequence[fragments.ReplyView] = ()) -> SafeString:
    """Draw the view's messages; running ones come from `live`, unless they have ended meanwhile."""
    live_replies = [reply for reply in live if view.runs(reply.message.pk)]
    streaming = {reply.message.pk for reply in live_replies}
    others = [message for message in view.visible_messages if message.pk not in streaming]
    return fragments.thread_html(
        view, pool.render_texts(fragments.collect_texts(others)), live_replies
    )


def _render_part(
    request: HttpRequest,
    pk: UUID,
    side: str,
    select: Callable[[Conversation, UUID], ThreadPage],
    live: Sequence[fragments.ReplyView] = (),
) -> HttpResponse:
    """Return the messages on one side (`before` or `after`) of the message the query names."""
    message = parse_uuid(request.GET.get(side, ""))
    if message is None:
        raise Http404
    try:
        view = select(get_own_conversation(request, pk), message)
    except ChatNotFound:
        raise Http404 from None
    return HttpResponse(render_thread_page(view, live))
