"""The sidebar: a person's conversations, those used last first, a page of them at a time."""

from django.contrib.auth import SESSION_KEY
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from chatapp.access.sessions import is_switched_off
from chatapp.chat.days import Headings, zone_of
from chatapp.chat.queries import moment_of, uuid_of
from chatapp.models import Message, User

PAGE = 60
MOST = 10 * PAGE  # at once, for a list that has been scrolled and is drawn anew


@require_GET
@never_cache
def conversations(request: HttpRequest) -> HttpResponse:
    """The sidebar's list, of as many `rows` as the page has already; with `before` and `id`, the
    page of it that follows that conversation.

    A page asks for it, too, to know whether its person is signed in: who was deactivated is refused
    instead of sent to sign in, so that nobody tells them that they signed out.
    """
    claimed = request.session.get(SESSION_KEY, "")
    if not request.user.is_authenticated and is_switched_off(claimed):
        raise PermissionDenied
    return _list(request)


@login_required
def _list(request: HttpRequest) -> HttpResponse:
    context = context_of(request)
    page = "_conversation_page" if "before" in request.GET else "_conversation_list"
    return render(request, f"chat/{page}.html", context)


def context_of(request: HttpRequest) -> dict[str, object]:
    """What the list is drawn from, by its templates' names."""
    assert isinstance(request.user, User)
    found = request.user.conversations.all()
    headings = Headings(timezone.now(), zone_of(request.COOKIES.get("utc-offset", "")))
    if before := moment_of(request.GET.get("before", "")):
        found = found.after(before, uuid_of(request.GET.get("id", "")))
        headings.next(before)  # which the page has
    else:
        headings.next(timezone.now())  # Today, which the list always has
    rows = _rows(request.GET.get("rows", ""))
    page = list(found[: rows + 1])
    return {
        "conversations": [(one, headings.next(one.updated_at)) for one in page[:rows]],
        "last": page[rows - 1] if len(page) > rows else None,
        "running": set(
            Message.objects.streaming()
            .filter(conversation__in=page)
            .values_list("conversation_id", flat=True)
        ),
    }


def _rows(asked: str) -> int:
    """How many rows a page of the list has: as many as there were, between one page and ten."""
    rows = int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 6 else 0
    return max(PAGE, min(rows, MOST))
