"""The sidebar: a person's conversations by day, their projects, and their archive and trash.

One list is shown at a time, a page of it after another in both directions; what is pinned and the
projects stand above the list that is no other.
"""

from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth import SESSION_KEY
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from chatapp.access.sessions import is_switched_off
from chatapp.chat.days import Headings
from chatapp.chat.queries import moment_of, number_of, uuid_of
from chatapp.models import User, lists
from chatapp.models.conversation_querysets import ConversationQuerySet
from chatapp.models.lists import PAGE, Page, Place
from chatapp.models.shelves import MOST_PINNED, TRASH_DAYS
from chatapp.zones import zone_of

MOST = 5 * PAGE  # at once: as many as a page holds of a list


@dataclass(frozen=True)
class Shelf:
    """A list that the sidebar can show."""

    name: str
    title: str
    about: str = ""
    empty: str = ""


LIST = Shelf("", "")
SHELVES = {
    shelf.name: shelf
    for shelf in (
        Shelf("archive", "Archive", empty="Nothing is archived."),
        Shelf(
            "trash",
            "Trash",
            f"What is here is deleted for good after {TRASH_DAYS} days.",
            "The trash is empty.",
        ),
    )
}


@require_GET
@never_cache
def conversations(request: HttpRequest) -> HttpResponse:
    """The sidebar's list, or that of a `shelf`, or of a `project` on its own page.

    With `before`, `after` and `id`, the page below or above that row; with `at` and `id` as many
    `rows` from that one on as the page had, else as many from the top.

    A page asks for it, too, to know whether its person is signed in: who was deactivated is refused
    instead of sent to sign in, so that nobody tells them that they signed out.
    """
    claimed = request.session.get(SESSION_KEY, "")
    if not request.user.is_authenticated and is_switched_off(claimed):
        raise PermissionDenied
    return _list(request)


@login_required
def _list(request: HttpRequest) -> HttpResponse:
    assert isinstance(request.user, User)
    if request.GET.keys() & {"before", "after"}:
        page = context_of(request, is_whole=False)
        return render(request, "chat/_conversation_page.html", page)
    if "project" in request.GET:
        in_project = filed(request, uuid_of(request.GET["project"]))
        return render(request, "chat/_project_chats.html", {"filed": in_project})
    return render(request, "chat/_conversation_lists.html", context_of(request))


def context_of(request: HttpRequest, *, is_whole: bool = True) -> dict[str, object]:
    """What the lists are drawn from, by their templates' names."""
    assert isinstance(request.user, User)
    shelf = SHELVES.get(request.GET.get("shelf", ""), LIST)
    project = request.GET.get("project", "")
    is_list = is_whole and shelf is LIST
    return {
        "shelf": shelf,
        "in_project": project,
        "pinned": lists.pinned(request.user) if is_list else [],
        "projects": lists.projects(request.user) if is_whole else [],
        **_by_day(
            request,
            _page(request, shelf, project),
            has_today=shelf is LIST and not project,
        ),
    }


def filed(request: HttpRequest, project: UUID | None) -> dict[str, object]:
    """A project's own list, on its page; empty where it is nobody's or somebody else's."""
    assert isinstance(request.user, User)
    own: ConversationQuerySet = request.user.conversations.all()
    found = own.filed(project) if project else own.none()
    page = _page_from(request, found.filter(is_pinned__in=[False]))
    return {
        "in_project": str(project or ""),
        "shelf": LIST,
        "pinned": lists.page_from_top(found.filter(is_pinned__in=[True]), MOST_PINNED).rows,
        **_by_day(request, page, has_today=True),
    }


def _by_day(request: HttpRequest, page: Page, *, has_today: bool = False) -> dict[str, object]:
    """A page's rows, each with the heading that begins at it."""
    headings = Headings(timezone.now(), zone_of(request.COOKIES.get("utc-offset", "")))
    below, above = _place(request, "before"), _place(request, "after")
    if below or (has_today and not page.has_newer):
        headings.next(below.used if below else timezone.now())  # which is there already
    return {
        "conversations": [(row, headings.next(row.updated_at)) for row in page.rows],
        "newer": page.rows[0] if page.has_newer and page.rows and not below else None,
        "older": page.rows[-1] if page.has_older and page.rows and not above else None,
        "has_today": has_today and not page.has_newer,
    }


def _page(request: HttpRequest, shelf: Shelf, project: str) -> Page:
    assert isinstance(request.user, User)
    user, rows = request.user, _rows(request.GET.get("rows", ""))
    is_list = shelf is LIST and not project
    is_first = is_list and rows == PAGE and not request.GET.keys() & {"before", "after", "at"}
    if is_first:  # as on every page of the chat, for which nothing is built that is not asked
        return lists.first_page(user)
    found = _found(user, shelf, project)
    if place := _place(request, "before"):
        return lists.next_page(user, place) if is_list else lists.page_below(found, place)
    if place := _place(request, "after"):
        return lists.previous_page(user, place) if is_list else lists.page_above(found, place)
    return _page_from(request, found)


def _page_from(request: HttpRequest, found: ConversationQuerySet) -> Page:
    """As many rows as a page had, from its first one on."""
    rows = _rows(request.GET.get("rows", ""))
    if place := _place(request, "at"):
        return lists.page_with(found, place, rows)
    return lists.page_from_top(found, rows)


def _place(request: HttpRequest, name: str) -> Place | None:
    used = moment_of(request.GET.get(name, ""))
    pk = uuid_of(request.GET.get("id", ""))
    return Place(used, pk) if used and pk else None


def _found(user: User, shelf: Shelf, project: str) -> ConversationQuerySet:
    own: ConversationQuerySet = user.conversations.all()
    if shelf.name == "archive":
        return own.archived()
    if shelf.name == "trash":
        return own.trashed()
    own = own.filed(uuid_of(project)) if project else own.loose()
    return own.filter(is_pinned__in=[False])  # said so that an index answers it: it has no NOT


def _rows(asked: str) -> int:
    """How many rows a list has: as many as there were, between one page and five."""
    return max(PAGE, min(number_of(asked), MOST))
