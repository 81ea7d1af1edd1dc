"""The sidebar: a person's conversations by day, their projects, archive and trash.

It shows one list at a time, paginated in both directions. Pinned conversations and projects appear
only above the main list.
"""

from dataclasses import dataclass

from django.contrib.auth import SESSION_KEY
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.safestring import SafeString
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from chatapp.chat.days import Headings
from chatapp.chat.project_members import page_of_others
from chatapp.chat.queries import parse_moment, parse_number, parse_uuid
from chatapp.models import Project, User
from chatapp.models.conversations.chats import lists
from chatapp.models.conversations.chats.conversation import ConversationQuerySet
from chatapp.models.conversations.chats.folders import MAX_PINNED, TRASH_DAYS
from chatapp.models.conversations.chats.lists import PAGE, ListPosition, Page, Row
from chatapp.rendering import fragments
from chatapp.sessions.time_zones import parse_time_zone
from chatapp.sessions.validity import is_deactivated

MAX_ROWS = 5 * PAGE  # rows in one response: as many as a browser page keeps


@dataclass(frozen=True)
class Folder:
    """A list that the sidebar can show: the main one, the archive or the trash."""

    name: str
    title: str
    about: str = ""
    empty: str = ""


LIST = Folder("", "")
FOLDERS = {
    folder.name: folder
    for folder in (
        Folder("archive", "Archive", empty="Nothing is archived."),
        Folder(
            "trash",
            "Trash",
            f"Chats in the trash are deleted permanently after {TRASH_DAYS} days.",
            "The trash is empty.",
        ),
    )
}


@require_GET
@never_cache
def conversations(request: HttpRequest) -> HttpResponse:
    """The sidebar's main list, the list of a `folder`, or that of a `project` on its own page.

    `before` or `after` with `id` selects the page below or above that row; `at` with `id` selects
    as many `rows` from that row on as the browser showed, otherwise as many from the top.

    Pages also request it to learn whether their user is still signed in. A deactivated user gets a
    403 instead of a redirect to sign in, so that the page does not say they signed out.
    """
    claimed = request.session.get(SESSION_KEY, "")
    if not request.user.is_authenticated and is_deactivated(claimed):
        raise PermissionDenied
    return _list(request)


@login_required
def _list(request: HttpRequest) -> HttpResponse:
    assert isinstance(request.user, User)
    if request.GET.keys() & {"before", "after"}:
        page = build_context(request, is_whole=False)
        return render(request, "chat/_conversation_page.html", page)
    if "project" in request.GET:
        pk = parse_uuid(request.GET["project"])
        project = Project.objects.open_to(request.user).filter(pk=pk).first() if pk else None
        in_project = build_project_context(request, project)
        return render(request, "chat/_project_chats.html", {"filed": in_project})
    return render(request, "chat/_conversation_lists.html", build_context(request))


def build_context(request: HttpRequest, *, is_whole: bool = True) -> dict[str, object]:
    """Return the template context of the lists."""
    assert isinstance(request.user, User)
    folder = FOLDERS.get(request.GET.get("folder", ""), LIST)
    project = request.GET.get("project", "")
    is_list = is_whole and folder is LIST
    return {
        "folder": folder,
        "in_project": project,
        "pinned": [_render_row(row) for row in lists.load_pinned(request.user)] if is_list else [],
        "projects": lists.projects(request.user) if is_whole else [],
        **_by_day(
            request,
            _page(request, folder, project),
            has_today=folder is LIST and not project,
        ),
    }


def build_project_context(request: HttpRequest, project: Project | None) -> dict[str, object]:
    """Return the context of a project's lists: the user's own chats, and those of others.

    They are empty without a project.
    """
    assert isinstance(request.user, User)
    own: ConversationQuerySet = request.user.conversations.all()
    own_chats = own.in_project(project.pk) if project else own.none()
    page = _page_from(request, own_chats.filter(is_pinned__in=[False]))
    pinned = lists.page_from_top(own_chats.filter(is_pinned__in=[True]), MAX_PINNED)
    return {
        "in_project": str(project.pk) if project else "",
        "folder": LIST,
        "pinned": [_render_row(row) for row in pinned.rows],
        **_by_day(request, page, has_today=True),
        "project": project,
        **(page_of_others(request, project) if project else {"others": [], "last": None}),
    }


def _by_day(request: HttpRequest, page: Page, *, has_today: bool = False) -> dict[str, object]:
    """Return a page's rows as HTML, each with the heading above it, if any."""
    headings = Headings(timezone.now(), parse_time_zone(request.COOKIES.get("utc-offset", "")))
    below, above = _position(request, "before"), _position(request, "after")
    if below or (has_today and not page.has_newer):
        headings.next(below.used if below else timezone.now())  # this heading is already there
    return {
        "conversations": [(_render_row(row), headings.next(row.updated_at)) for row in page.rows],
        "newer": page.rows[0] if page.has_newer and page.rows and not below else None,
        "older": page.rows[-1] if page.has_older and page.rows and not above else None,
        "has_today": has_today and not page.has_newer,
    }


def _render_row(row: Row) -> SafeString:
    return fragments.conversation_row(row, is_running=row.is_running)


def _page(request: HttpRequest, folder: Folder, project: str) -> Page:
    assert isinstance(request.user, User)
    user, rows = request.user, _rows(request.GET.get("rows", ""))
    is_list = folder is LIST and not project
    is_first = is_list and rows == PAGE and not request.GET.keys() & {"before", "after", "at"}
    if is_first:  # needed by every page of the chat, so build no querysets for it
        return lists.first_page(user)
    listed_chats = _select_conversations(user, folder, project)
    if position := _position(request, "before"):
        return (
            lists.next_page(user, position) if is_list else lists.page_below(listed_chats, position)
        )
    if position := _position(request, "after"):
        return (
            lists.previous_page(user, position)
            if is_list
            else lists.page_above(listed_chats, position)
        )
    return _page_from(request, listed_chats)


def _page_from(request: HttpRequest, chats: ConversationQuerySet) -> Page:
    """Return as many rows as the browser showed, from its first one on."""
    rows = _rows(request.GET.get("rows", ""))
    if position := _position(request, "at"):
        return lists.page_with(chats, position, rows)
    return lists.page_from_top(chats, rows)


def _position(request: HttpRequest, name: str) -> ListPosition | None:
    used = parse_moment(request.GET.get(name, ""))
    pk = parse_uuid(request.GET.get("id", ""))
    return ListPosition(used, pk) if used and pk else None


def _select_conversations(user: User, folder: Folder, project: str) -> ConversationQuerySet:
    own: ConversationQuerySet = user.conversations.all()
    if folder.name == "archive":
        return own.archived()
    if folder.name == "trash":
        return own.trashed()
    own = own.in_project(parse_uuid(project)) if project else own.without_project()
    return own.filter(is_pinned__in=[False])  # not `NOT is_pinned`, which can't use the index


def _rows(requested: str) -> int:
    """Return how many rows to show: the requested number, between one page and five."""
    return max(PAGE, min(parse_number(requested), MAX_ROWS))
